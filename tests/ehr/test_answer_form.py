"""What SQL and question say of the form of an answer."""

from __future__ import annotations

import sqlite3

import pytest

from medagentgym.ehr.answer_form import asks_for_order, column_names, share, units
from medagentgym.ehr.gold import executable_sql, gold_of_question
from medagentgym.judges.base import Evidence
from medagentgym.judges.row_sets import RowSetJudge

SURVIVAL = "select sum( case when dod is null then 1 else 0 end ) * 100 / count(*) from patients"
PERCENTILE = "select distinct t1.c1 from ( select pulse, percent_rank() over ( order by pulse ) as c1 from patients ) as t1 where t1.pulse = {}"


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select patients.gender from patients", ("gender",)),
        ('SELECT DEMOGRAPHIC."AGE",PROCEDURES."SHORT_TITLE" FROM DEMOGRAPHIC', ("AGE", "SHORT_TITLE")),
        ("select distinct a, b as c, count( distinct d ) from e", ("a", "c", "count( distinct d )")),
        ("select strftime('%Y, %m', a) from b union select c from d", ("strftime('%Y, %m', a)",)),
        ("select * from a", None),
        ("select a.*, b from a", None),
        ("with x as ( select 1 ) select a, b from x", None),
        ("not sql at all", None),
    ],
)
def test_the_width_of_a_result_follows_from_its_sql(sql: str, names: tuple[str, ...] | None) -> None:
    assert column_names(sql) == names


@pytest.mark.parametrize(
    ("sql", "unit"),
    [
        ("select 1 * ( strftime('%j',current_time) - strftime('%j',a.admittime) ) from a", ("day",)),
        ("select 24 * ( strftime('%j',current_time) - strftime('%j',a.admittime) ) from a", ("hour",)),
        ("select strftime('%j',a.dischtime) - strftime('%j',a.admittime) from a", ("day",)),
        ('select MAX ( DEMOGRAPHIC."DAYS_STAY" ), DEMOGRAPHIC."AGE", DEMOGRAPHIC."NAME" from DEMOGRAPHIC', ("day", "year", None)),
        ("select sum(cost.cost) from cost", ("dollar",)),
        ("select count( distinct admissions.age ) from admissions", None),
        ("select count(*) from patients", None),
        ("select ( select a.age from a ) - ( select b.age from b )", None),
        (SURVIVAL, None),
    ],
)
def test_units_follow_from_the_sql(sql: str, unit: tuple[str | None, ...] | None) -> None:
    assert units(executable_sql(sql)) == unit


@pytest.mark.parametrize(
    ("sql", "question", "form"),
    [
        (SURVIVAL, "what is the one year survival rate of patients diagnosed with morbid obesity?", "percentage"),
        (PERCENTILE.format(97), "what percentile is the value of 97.0 in a mcv lab test?", "fraction"),
        (PERCENTILE.format(97), "how does the value of 97.0 rank?", None),
        ("select 1.0 * sum(a) / count(*) from b", "what percentage of patients died?", "fraction"),
        ("select 1.0 * sum(a) / count(*) from b", "what share of patients died?", None),
        ("select count(*) from labevents", "count the number of patients who received a cd4 cells, percent lab test last year.", None),
        ("select distinct route from prescriptions", "what is the intake method of lidocaine 5% ointment?", None),
    ],
)
def test_a_share_may_be_given_in_two_forms_where_sql_and_question_say_so(sql: str, question: str, form: str | None) -> None:
    assert share(sql, question) == form


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("rank the drugs by cost", True),
        ("list the drugs from the most to the least expensive", True),
        ("list the visits in chronological order", True),
        ("what are the top three drugs?", True),
        ("which drugs were ordered in 2105?", False),
        ("when was the last visit of patient 3?", False),
        ("what was the first careunit of patient 46422 since 2101?", False),
    ],
)
def test_a_question_that_asks_for_a_ranking_says_so(question: str, asks: bool) -> None:
    assert asks_for_order(question) is asks


def test_a_survival_rate_is_right_cut_off_as_in_the_sql_with_its_decimals_and_as_a_fraction() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE patients (dod TEXT, pulse REAL)")
    connection.executemany("INSERT INTO patients VALUES (?, ?)", [(None, 60), (None, 70), ("2105-01-01", 90)])
    gold = gold_of_question(connection, SURVIVAL, "what is the one year survival rate?").to_json()
    assert gold["rows"] == [[66]] and gold["percent"] == "percentage"

    def accepts(answer: object) -> bool:
        return RowSetJudge().judge({"gold": gold}, Evidence(True, answer, "", "", 0)).correct

    assert all(map(accepts, (66, 66.0, 66.67, 66.7, 0.66, 0.667, "66.7%", "66 %")))
    assert not any(map(accepts, (67, 65, 6.6, 0.6, 1, 0, "0.66%", None)))
    percentile = gold_of_question(connection, PERCENTILE.format(70), "what percentile is the value of 70?").to_json()
    gold = percentile
    assert gold["rows"] == [[0.5]] and all(map(accepts, (0.5, 50, 50.0, "50%", "0.5")))
    assert not any(map(accepts, (5, 0.05, 500, "0.5%")))
