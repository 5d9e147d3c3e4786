"""Which answers are right where SQL orders and cuts rows of equal rank."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from medagentgym.ehr.gold import gold_of_question
from medagentgym.judges.base import Evidence
from medagentgym.judges.row_sets import RowSetJudge

DRUGS = [
    (1, 10, "2105-01-01", "aspirin", 100.0),
    (2, 10, "2105-01-01", "heparin", 5.0),
    (3, 10, "2105-01-02", "insulin", 5.0),
    (4, 20, "2105-02-01", "aspirin", 81.0),
    (5, 20, "2105-02-01", "aspirin", 81.0),
    (6, 30, "2105-03-01", None, 1.0),
    (7, 30, "2105-03-01", "zinc", 1.0),
]
CODES = [("aspirin", "acetylsalicylic acid"), ("heparin", "heparin sodium"), ("insulin", "insulin human"), ("zinc", "zinc sulfate")]


@pytest.fixture(scope="module")
def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, patient INTEGER, start TEXT, drug TEXT, dose REAL)")
    connection.execute("CREATE TABLE names (drug TEXT, long_name TEXT)")
    connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", DRUGS)
    connection.executemany("INSERT INTO names VALUES (?, ?)", CODES)
    return connection


def gold_json(connection: sqlite3.Connection, sql: str, question: str = "") -> dict[str, Any]:
    gold = gold_of_question(connection, sql, question).to_json()
    assert gold["status"] != "error", gold["reason"]
    return gold


def accepts(gold: dict[str, Any], answer: Any) -> bool:
    return RowSetJudge().judge({"gold": gold}, Evidence(True, answer, "", "", 0)).correct


def test_every_row_that_shares_the_first_rank_is_right(database: sqlite3.Connection) -> None:
    gold = gold_json(database, "select drug from orders where patient = 10 order by start asc limit 1")
    assert gold["alternatives"] == [{"rows": [], "among": [["aspirin"], ["heparin"]], "pick": 1}]
    assert accepts(gold, "aspirin") and accepts(gold, "heparin")
    assert not accepts(gold, "insulin") and not accepts(gold, ["aspirin", "heparin"]) and not accepts(gold, None)


def test_a_rank_that_only_one_row_has_leaves_one_answer(database: sqlite3.Connection) -> None:
    gold = gold_json(database, "select drug from orders where patient = 10 order by start desc limit 1")
    assert gold["rows"] == [["insulin"]] and "alternatives" not in gold and "tie" not in gold


def test_tied_rows_of_the_same_values_leave_one_answer(database: sqlite3.Connection) -> None:
    gold = gold_json(database, "select drug, dose from orders where patient = 20 order by start limit 1")
    assert gold["rows"] == [["aspirin", 81.0]] and "alternatives" not in gold


def test_a_tied_row_without_a_value_makes_nothing_a_right_answer(database: sqlite3.Connection) -> None:
    gold = gold_json(database, "select drug from orders where patient = 30 order by start limit 1")
    assert accepts(gold, "zinc") and accepts(gold, None) and accepts(gold, [])
    assert not accepts(gold, "aspirin")
    assert gold["status"] == RowSetJudge().summarise({"gold": gold}).status == "empty"


def test_of_the_rows_at_a_cut_so_many_are_right_as_the_limit_leaves_room_for(database: sqlite3.Connection) -> None:
    gold = gold_json(database, "select distinct drug from orders where drug is not null order by dose limit 2")
    assert gold["alternatives"] == [{"rows": [["zinc"]], "among": [["heparin"], ["insulin"]], "pick": 1}]
    assert accepts(gold, ["zinc", "heparin"]) and accepts(gold, ["insulin", "zinc"])
    for wrong in (["zinc"], ["heparin", "insulin"], ["zinc", "heparin", "insulin"], ["zinc", "aspirin"]):
        assert not accepts(gold, wrong)


def test_an_offset_into_a_tie_leaves_its_rows_open(database: sqlite3.Connection) -> None:
    gold = gold_json(database, "select drug from orders where patient = 10 order by start limit 1 offset 1")
    assert accepts(gold, "aspirin") and accepts(gold, "heparin") and not accepts(gold, "insulin")


def test_groups_of_the_same_size_are_tied(database: sqlite3.Connection) -> None:
    gold = gold_json(database, "select drug, count(*) as n from orders where drug is not null group by drug order by n desc, 1 limit 2")
    assert gold["rows"] == [["aspirin", 3], ["heparin", 1]] and "alternatives" not in gold
    tied = gold_json(database, "select drug, count(*) as n from orders where drug is not null group by drug order by 2 desc limit 2")
    assert tied["alternatives"] == [{"rows": [["aspirin", 3]], "among": [["heparin", 1], ["insulin", 1], ["zinc", 1]], "pick": 1}]


LONG_NAME = "select long_name from names where drug in ( select drug from orders where patient = {} order by start asc limit 1 )"


def test_a_tie_in_a_sub_query_is_followed_to_every_answer(database: sqlite3.Connection) -> None:
    gold = gold_json(database, LONG_NAME.format(10))
    assert accepts(gold, "acetylsalicylic acid") and accepts(gold, "heparin sodium")
    assert not accepts(gold, "insulin human")
    assert "alternatives" not in gold_json(database, LONG_NAME.format(20))


def test_equal_sub_queries_choose_the_same_row(database: sqlite3.Connection) -> None:
    first = "( select {} from orders where patient = 10 order by start limit 1 )"
    gold = gold_json(
        database, f"select dose from orders where drug = {first.format('drug')} and dose >= 0 and drug = {first.format('drug')} and patient = 10"
    )
    assert accepts(gold, 100) and accepts(gold, 5) and not accepts(gold, None)


def test_ties_within_ties_are_followed(database: sqlite3.Connection) -> None:
    inner = "select drug from orders where patient = 10 order by start limit 1"
    gold = gold_json(database, f"select patient from orders where drug = ( {inner} ) order by drug limit 1")
    assert accepts(gold, 10) and accepts(gold, 20) and not accepts(gold, 30)


def test_a_yes_or_no_that_a_tie_leaves_open_cannot_be_judged(database: sqlite3.Connection) -> None:
    first = "( select dose from orders where patient = 10 order by start limit 1 )"
    gold = gold_json(database, f"select {first} > 50")
    assert gold["tie"] == "yes and no are both possible"
    assert "tie" not in gold_json(database, f"select {first} > 1")


def test_a_tie_in_a_sub_query_for_each_row_cannot_be_followed_where_it_decides(database: sqlite3.Connection) -> None:
    first = "( select b.{} from orders b where b.patient = a.patient order by b.start limit 1 )"
    assert (
        gold_json(database, f"select distinct patient, {first.format('drug')} from orders a")["tie"]
        == "rows of equal rank in a sub-query for each row"
    )
    assert "tie" not in gold_json(database, f"select distinct patient, {first.format('start')} from orders a")


def test_rows_taken_without_an_order_are_all_tied(database: sqlite3.Connection) -> None:
    gold = gold_json(database, "select drug from orders where patient = 10 limit 1")
    assert all(accepts(gold, drug) for drug in ("aspirin", "heparin", "insulin"))


def test_a_result_that_depends_on_the_order_of_stored_rows_cannot_be_judged(database: sqlite3.Connection) -> None:
    order = "the result depends on the order in which rows are stored"
    assert gold_json(database, "select group_concat(drug) from orders where patient = 10")["tie"] == order
    assert "tie" not in gold_json(database, "select patient, count(*) from orders group by patient")


def test_too_many_answers_are_no_answer(database: sqlite3.Connection) -> None:
    many = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 500) select * from n"
    database.execute(f"CREATE TEMP TABLE numbers AS {many}")
    try:
        gold = gold_json(database, "select i from numbers where i in ( select i from numbers order by 1 * 0 limit 1 )")
        assert gold["tie"] == "more than 200 possible answers"
    finally:
        database.execute("DROP TABLE numbers")


def test_order_counts_only_where_sql_orders_and_the_question_asks_for_a_ranking(database: sqlite3.Connection) -> None:
    sql = "select distinct drug from orders where drug is not null order by dose desc"
    assert "ordered" not in gold_json(database, sql, "which drugs were ordered?")
    gold = gold_json(database, sql, "list the drugs ranked by dose, from the highest to the lowest")
    assert gold["ordered"] == [0, 2, 2, 3]
    assert accepts(gold, ["aspirin", "heparin", "insulin", "zinc"]) and accepts(gold, ["aspirin", "insulin", "heparin", "zinc"])
    assert not accepts(gold, ["zinc", "heparin", "insulin", "aspirin"]) and not accepts(gold, ["aspirin", "heparin", "zinc", "insulin"])
    assert "ordered" not in gold_json(database, f"{sql} limit 1", "the top drug ranked by dose")


def test_the_top_rows_of_a_ranking_come_in_order_whichever_of_the_tied_is_the_last(database: sqlite3.Connection) -> None:
    gold = gold_json(database, "select distinct drug from orders where drug is not null order by dose desc limit 2", "top two drugs ranked by dose")
    assert accepts(gold, ["aspirin", "heparin"]) and accepts(gold, ["aspirin", "insulin"])
    assert not accepts(gold, ["insulin", "aspirin"])
