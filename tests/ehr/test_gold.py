"""Gold SQL made executable, and what its result counts as."""

from __future__ import annotations

import sqlite3

import pytest

from medagentgym.ehr.gold import executable_sql, execute, is_boolean, status_of, stored_gold, typed_value


@pytest.fixture
def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE visits (name TEXT, start TEXT, pulse REAL)")
    connection.executemany(
        "INSERT INTO visits VALUES (?, ?, ?)", [("a", "2105-12-01 10:30:45", 72.0), ("b", "2104-02-29 00:00:00", 180.0), ("c", None, None)]
    )
    return connection


def values(connection: sqlite3.Connection, query: str) -> list[object]:
    gold = execute(connection, executable_sql(query))
    assert gold.status != "error", gold.reason
    return [value for row in gold.rows for value in row]


def test_a_lower_cased_year_is_the_year(database: sqlite3.Connection) -> None:
    assert values(database, "select name from visits where strftime('%y',start) = '2104'") == ["b"]
    assert values(database, "select strftime('%y-%m',start) from visits where name = 'a'") == ["2105-12"]


def test_a_month_stays_a_month_and_a_minute_after_an_hour_is_a_minute(database: sqlite3.Connection) -> None:
    assert values(database, "select strftime('%m-%d',start) from visits where name = 'b'") == ["02-29"]
    assert values(database, "select strftime('%y-%m-%d %h:%m:%s',start) from visits where name = 'a'") == ["2105-12-01 10:30:45"]


def test_a_lower_cased_day_is_the_julian_day(database: sqlite3.Connection) -> None:
    days = values(database, "select 1 * ( strftime('%j',current_time) - strftime('%j',visits.start) ) from visits where name = 'a'")
    assert days == [pytest.approx(30.5613, abs=1e-3)]


def test_the_day_of_the_year_survives_in_sql_that_is_not_lower_cased(database: sqlite3.Connection) -> None:
    assert values(database, "SELECT strftime('%j', start) FROM visits WHERE name = 'b'") == ["060"]
    assert values(database, "SELECT strftime('%Y', start) FROM visits WHERE name = 'b'") == ["2104"]


def test_now_is_the_databases_own(database: sqlite3.Connection) -> None:
    assert values(database, "select datetime(current_time,'start of year','-1 year')") == ["2104-01-01 00:00:00"]
    assert values(database, "select current_date") == ["2105-12-31"]
    assert values(database, "select datetime('now')") == ["2105-12-31 23:59:00"]
    assert values(database, "select strftime('%y','now')") == ["2105"]
    assert values(database, "select CURRENT_TIMESTAMP") == ["2105-12-31 23:59:00"]


def test_normal_ranges_are_numbers(database: sqlite3.Connection) -> None:
    assert values(database, "select name from visits where pulse between heart_rate_lower and heart_rate_upper") == ["a"]
    assert values(database, "select temperature_lower, temperature_upper, mean_bp_upper") == [35.5, 38.1, 110.0]


def test_torn_operators_are_joined(database: sqlite3.Connection) -> None:
    assert values(database, "select name from visits where pulse > = 180 or pulse < = 10") == ["b"]
    assert values(database, "select name from visits where name ! = 'a' and name < > 'c'") == ["b"]


def test_string_constants_are_left_alone(database: sqlite3.Connection) -> None:
    constants = ["current_time", "heart_rate_lower", "> =", "strftime(''%y'')", "now", "it''s %j", "-- no comment"]
    for constant in constants:
        query = f"select '{constant}'"
        assert executable_sql(query) == query
        assert values(database, query) == [constant.replace("''", "'")]


def test_names_that_only_look_like_a_range_are_left_alone() -> None:
    assert executable_sql("select visits.current_time_zone, body_lower, strftime_y from visits") == (
        "select visits.current_time_zone, body_lower, strftime_y from visits"
    )


@pytest.mark.parametrize(
    ("query", "boolean"),
    [
        ("select count(*)>0 from visits where a = 1", True),
        ("select count(*) > 0 from visits", True),
        ("select ( select a from b ) > ( select c from d )", True),
        ("select ( count(*) > 0 ) from visits", True),
        ("select exists ( select 1 from visits )", True),
        ("select a between 1 and 2 from visits", True),
        ("select count(*) from visits where a > 0", False),
        ("select ( select count(*) from visits where a > 0 )", False),
        ("select a, b > 0 from visits", False),
        ("select ( select a from b where c > 0 ) - ( select a from b )", False),
        ("select case when a > 0 then 'yes' end from visits", False),
        ("select max(a > 0) from visits", False),
        ("select 'a > b'", False),
        ("", False),
    ],
)
def test_a_query_is_boolean_where_its_one_result_is_a_comparison(query: str, boolean: bool) -> None:
    assert is_boolean(query) is boolean


def test_a_result_keeps_its_columns_and_types(database: sqlite3.Connection) -> None:
    gold = execute(database, "select name, pulse from visits where name = 'a'")
    assert (gold.columns, gold.rows, gold.status, gold.boolean) == (("name", "pulse"), (("a", 72.0),), "usable", False)
    assert gold.published_answer() == ["a", "72.0"]


def test_a_bad_query_is_an_error_with_its_reason(database: sqlite3.Connection) -> None:
    gold = execute(database, "select name from nowhere")
    assert gold.status == "error"
    assert "nowhere" in gold.reason


def test_a_runaway_query_is_stopped_and_the_connection_still_works(database: sqlite3.Connection) -> None:
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    gold = execute(database, endless, step_limit=2_000_000)
    assert gold.status == "error"
    assert "2,000,000 steps" in gold.reason
    assert execute(database, "select count(*) from visits").rows == ((3,),)


def test_a_statement_that_would_write_is_an_error_on_a_read_only_database(tmp_path) -> None:
    from medagentgym.ehr.database import open_read_only

    path = tmp_path / "a b%c.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE visits (name TEXT)")
    connection.commit()
    connection.close()
    gold = execute(open_read_only(path), "delete from visits")
    assert gold.status == "error"


def test_nulls_are_empty_and_zeros_are_zero() -> None:
    assert status_of([]) == "empty"
    assert status_of([[None], [None]]) == "empty"
    assert status_of([[0], [0.0], [None]]) == "zero"
    assert status_of([["0"]]) == "usable"
    assert status_of([[0, 3]]) == "usable"


def test_stored_strings_become_values_only_where_they_are_their_own_text() -> None:
    given = ["12", "27.400001525878878", "0389", "None", "m", "nan", "1e5", "2105-01-01 00:00:00", "007.1", "-3"]
    assert [typed_value(text) for text in given] == [12, 27.400001525878878, "0389", None, "m", "nan", "1e5", "2105-01-01 00:00:00", "007.1", -3]


def test_a_stored_answer_is_as_wide_as_its_sql_says() -> None:
    gold = stored_gold(["1", "married", "2", "single"], "select a, x.b from c union select d, e from f")
    assert (gold.columns, gold.rows) == (("a", "b"), ((1, "married"), (2, "single")))
    assert stored_gold(["None"], "select a from b").status == "empty"
    assert stored_gold(["1"], "select count(*)>0 from b").boolean


@pytest.mark.parametrize("sql", ["select * from c", "", "select a, b, d from c", "update c set a = 1"])
def test_a_stored_answer_of_unknown_width_is_a_flat_list(sql: str) -> None:
    gold = stored_gold(["1", "married"], sql)
    assert gold.columns is None
    assert gold.rows == ((1,), ("married",))
