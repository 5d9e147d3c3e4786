"""How the baseline agent reads questions, as tables of questions and readings."""

from __future__ import annotations

import random
import sqlite3
from itertools import product

import pytest

from medagentgym.agent.baseline_rules.asked import queries
from medagentgym.agent.baseline_rules.phrases import Comparison, Order, Range, orders
from medagentgym.agent.baseline_rules.query_parts import Reading
from medagentgym.agent.baseline_rules.question import Closeness, Question, read_question
from medagentgym.agent.baseline_rules.schema import EVENT_KINDS
from medagentgym.agent.baseline_rules.terms import Lookup, Name, Term, lookups, names_in
from medagentgym.agent.baseline_rules.time_expressions import TimeWindow, VisitReference
from medagentgym.ehr.schema import MIMIC_III

NOW = "2105-12-31 23:59:00"


def read(text: str) -> Question:
    return read_question(text, NOW)


# --- times ------------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "window"),
    [
        ("in 2103", TimeWindow(start="'2103-01-01 00:00:00'", end="'2104-01-01 00:00:00'")),
        ("since 2103", TimeWindow(start="'2103-01-01 00:00:00'")),
        ("until 2103", TimeWindow(end="'2104-01-01 00:00:00'")),
        ("this year", TimeWindow(start="'2105-01-01 00:00:00'", end="'2106-01-01 00:00:00'")),
        ("during last year", TimeWindow(start="'2104-01-01 00:00:00'", end="'2105-01-01 00:00:00'")),
        ("in 12/2104", TimeWindow(start="'2104-12-01 00:00:00'", end="'2105-01-01 00:00:00'")),
        ("until 02/last year", TimeWindow(end="'2104-03-01 00:00:00'")),
        ("in february of last year", TimeWindow(start="'2104-02-01 00:00:00'", end="'2104-03-01 00:00:00'")),
        ("last month", TimeWindow(start="'2105-11-01 00:00:00'", end="'2105-12-01 00:00:00'")),
        ("on last month/30", TimeWindow(start="'2105-11-30 00:00:00'", end="'2105-12-01 00:00:00'")),
        ("on 02/29/2104", TimeWindow(start="'2104-02-29 00:00:00'", end="'2104-03-01 00:00:00'")),
        ("on april 3rd, this year", TimeWindow(start="'2105-04-03 00:00:00'", end="'2105-04-04 00:00:00'")),
        ("today", TimeWindow(start="'2105-12-31 00:00:00'", end="'2106-01-01 00:00:00'")),
        ("yesterday", TimeWindow(start="'2105-12-30 00:00:00'", end="'2105-12-31 00:00:00'")),
        ("since 3 months ago", TimeWindow(start="datetime('2105-12-31 23:59:00', '-3 month')")),
        ("until two weeks ago", TimeWindow(until="datetime('2105-12-31 23:59:00', '-14 day')")),
    ],
)
def test_a_time_is_read_and_leaves_the_rest_of_the_question(words: str, window: TimeWindow) -> None:
    question = read(f"Was patient 12 admitted to the hospital {words}?")
    assert question.windows == (window,)
    assert question.skeleton == "was patient admitted to the hospital |t0|"


@pytest.mark.parametrize("words", ["in ward 2103", "on 02/30/2104", "more than 2 years ago", "13/2104"])
def test_what_is_no_time_is_left_alone(words: str) -> None:
    assert read(f"Did patient 12 stay {words}?").windows == ()


@pytest.mark.parametrize(
    ("words", "visit"),
    [
        ("on the first hospital visit", VisitReference("hospital", "first")),
        ("during her current icu stay", VisitReference("icu", "current")),
        ("on the last intensive care unit visit", VisitReference("icu", "last")),
    ],
)
def test_a_visit_is_read(words: str, visit: VisitReference) -> None:
    assert read(f"What weight was measured in patient 12 {words}?").visit == visit


# --- fixed words ------------------------------------------------------------------------------------------------------------------------------------


def test_patient_sex_age_route_and_comparison_are_read() -> None:
    question = read("When was the glucose value of patient 4711 above than 140.5 last year?")
    assert (question.patient, question.comparison) == (4711, Comparison(">", "140.5"))
    question = read("How many women aged 60 or above were prescribed something via po route at least three times?")
    assert (question.gender, question.ages, question.route, question.repeats) == ("f", Range(60, None), "po", (">=", 3))
    assert read("How many male patients aged 40s came in 2101?").ages == Range(40, 49)
    assert read("Which procedures did patient 5 undergo exactly twice?").repeats == ("=", 2)


def test_orders_are_read_from_left_to_right() -> None:
    assert orders("from the second to last to the last measurement, then the first") == [Order(True, 1), Order(True), Order(False)]
    assert Order(False, 1).clause("event.CHARTTIME") == "ORDER BY event.CHARTTIME ASC LIMIT 1 OFFSET 1"


# --- terms ------------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Has patient 5 been diagnosed with heart attack, old until 2102?", [Term("heart attack, old", ("diagnosis",))]),
        ("Did patient 5 undergo repair of knee joint?", [Term("repair of knee joint", ("procedure",))]),
        ("How often did patient 5 have a sodium, urine lab test?", [Term("sodium, urine", ("lab",))]),
        ("What was the lowest pulse value of patient 5?", [Term("pulse", ("lab", "vital"))]),
        ("What was the average pulse of patient 5 yesterday?", [Term("pulse", ("lab", "vital"))]),
        ("Sum up the drain #2 output of patient 5.", [Term("drain #2", ("output",))]),
        ("Was patient 5 prescribed aspirin, zinc, or iron this month?", [Term(drug, ("drug",)) for drug in ("aspirin", "zinc", "iron")]),
        ("When did patient 5 stay in ward 12?", [Term("12", ("ward",))]),
        ("Was any lab test done on patient 5?", []),
        ("Which were the three most frequent procedures in 2104?", []),
        ("What is the gender of patient 5?", []),
    ],
)
def test_the_words_that_name_something_are_found(text: str, terms: list[Term]) -> None:
    assert list(read(text).terms) == terms


def test_a_second_event_makes_a_clause_of_its_own() -> None:
    question = read("How many patients were prescribed iron within 2 months after having been diagnosed with anemia since 2101?")
    assert (question.main.terms, question.relation, question.closeness) == ((0,), "after", Closeness("span", "+2 month"))
    assert question.condition is not None
    assert question.condition.terms == (1,)
    question = read("Which drugs were given in 2104 during a hospital visit on which anemia was diagnosed in 2103?")
    assert question.relation == "together"
    assert (question.main.windows, question.condition and question.condition.windows) == (question.windows[:1], question.windows[1:])


def test_a_term_is_looked_up_where_it_belongs_then_everywhere() -> None:
    assert lookups(Term("weight", ("lab", "vital"))) == [
        Lookup("weight", ("D_LABITEMS", "D_ITEMS")),
        Lookup("wt", ("D_LABITEMS", "D_ITEMS")),
        Lookup("weight"),
    ]
    assert Lookup("iron", ("PRESCRIPTIONS",)).params() == {"data_path": "PRESCRIPTIONS.csv", "info_type": "term", "keyterm": "iron"}


def test_equal_names_rule_out_similar_ones_and_wanted_kinds_stand_first() -> None:
    answer = (
        'Equal to "iron":\nD_LABITEMS.csv, column LABEL: iron (1 row)\nPRESCRIPTIONS.csv, column DRUG: iron (1,204 rows)\n'
        'Containing "iron":\nPRESCRIPTIONS.csv, column DRUG: iron sucrose (3 rows)'
    )
    assert [(name.kind.name, name.value) for name in names_in(answer, Term("iron", ("drug",)))] == [("drug", "iron"), ("lab", "iron")]
    assert names_in('Nothing like "x" was found.\nNearest:\nPRESCRIPTIONS.csv, column DRUG: iron (3 rows)', Term("x", ("drug",))) == []


# --- what is asked ------------------------------------------------------------------------------------------------------------------------------


def first_query(text: str) -> tuple[str, str, str]:
    """The rule that answers a question, the shape of its answer, and its SQL, every term taken for what its words say."""
    question = read(text)
    names = tuple(Name(EVENT_KINDS[term.kinds[0]], term.text, EVENT_KINDS[term.kinds[0]].name_columns[0][1]) for term in question.terms)
    query = next(queries(Reading(question, names)))
    return query.rule, query.shape, query.sql


ASKED = [
    ("What does acute mi stand for?", "long title", "value"),
    ("What is the intake method of zinc?", "route of a drug", "list"),
    ("What is the price of a ferritin lab test?", "cost of an event", "list"),
    ("What did all care of patient 5 cost this year?", "cost of a patient", "value"),
    ("What was the highest total hospital cost that involves a procedure named knee repair?", "cost of visits", "value"),
    ("What is the two year survival rate of patients diagnosed with gout?", "survival", "value"),
    ("Which are the top two diagnoses with the highest one year mortality rate?", "deadliest", "list"),
    ("What were the top five frequent specimens tested since 2103?", "most frequent", "list"),
    ("What percentile is the value of 7.5 in a ferritin lab test among patients of the same age as patient 5?", "percentile", "value"),
    ("By how much did the ferritin value of patient 5 change from the first to the last measurement?", "change", "value"),
    ("Was the last ferritin value of patient 5 greater than the first value?", "comparison", "truth"),
    ("What is the difference between the total volume of intake and output of patient 5 today?", "balance", "value"),
    ("What is the new prescription of patient 5 today compared to the prescription yesterday?", "new drugs", "list"),
    ("How many hours have passed since patient 5 was admitted to the icu currently?", "time since", "value"),
    ("What was the first length of icu stay of patient 5?", "length of a stay", "value"),
    ("What was the average age on hospital visits on which gout was diagnosed?", "average age", "value"),
    ("List the monthly minimum ferritin value of patient 5.", "values by period", "list"),
    ("What is the maximum monthly number of patient records diagnosed with gout?", "number by period", "value"),
    ("Count the current patients.", "current patients", "value"),
    ("How many patients did not return to the hospital within 2 months after being diagnosed with gout?", "never came back", "value"),
    ("How many patients diagnosed with gout have died?", "patients who died", "value"),
    ("How many patients were prescribed zinc two or more times?", "patients so many times", "value"),
    ("How many people were prescribed zinc last year?", "patients", "value"),
    ("How many times was patient 5 prescribed zinc?", "times", "value"),
    ("How many icu visits did patient 5 have?", "visits", "value"),
    ("How many different drugs was patient 5 prescribed?", "different things", "value"),
    ("Has patient 5 received any procedure?", "happened", "truth"),
    ("Was an organism found in the last sputum microbiology test of patient 5?", "organism found", "truth"),
    ("When was the ferritin value of patient 5 highest?", "time of extreme", "value"),
    ("When was the last time that patient 5 was prescribed zinc and iron at the same time?", "time of both", "value"),
    ("When did patient 5 first have a ferritin lab test?", "time", "value"),
    ("List the ids of patients diagnosed with gout.", "patient numbers", "list"),
    ("What was the name of the procedure that patient 5 received two times?", "names so many times", "list"),
    ("What was the name of the drug that patient 5 was last prescribed?", "name in order", "list"),
    ("List the drugs that patient 5 was prescribed in 2104.", "names", "list"),
    ("What was the total amount of dose of zinc that patient 5 was prescribed?", "total", "value"),
    ("What was the average ferritin value of patient 5?", "function of values", "value"),
    ("What was the marital status of patient 5 on the first hospital visit?", "attribute", "value"),
    ("What was the second measured ferritin value of patient 5?", "value", "value"),
]


@pytest.fixture(scope="module")
def empty_database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for table in MIMIC_III.tables:
        connection.execute(f"CREATE TABLE {table.name} ({', '.join(table.column_names)})")
    return connection


@pytest.mark.parametrize(("text", "rule", "shape"), ASKED)
def test_what_is_asked_is_recognised_and_asked_in_sql_that_runs(text: str, rule: str, shape: str, empty_database: sqlite3.Connection) -> None:
    found_rule, found_shape, sql = first_query(text)
    assert (found_rule, found_shape) == (rule, shape)
    empty_database.execute(sql).fetchall()


def test_every_rule_writes_sql_that_runs_whatever_the_terms_turn_out_to_be(empty_database: sqlite3.Connection) -> None:
    """The lookup may say that a term is of another kind than its words; the readings that follow must still be queries."""
    for text, _, _ in ASKED:
        question = read(text)
        for kinds in product(EVENT_KINDS.values(), repeat=min(len(question.terms), 1)):
            names = tuple(Name(kinds[0], "1", kinds[0].name_columns[0][1]) for _ in question.terms)
            for query in queries(Reading(question, names)):
                empty_database.execute(query.sql).fetchall()


def test_no_string_of_words_breaks_the_reading(empty_database: sqlite3.Connection) -> None:
    words = " ".join(text for text, _, _ in ASKED).replace("?", " ?").split()
    words += [
        "|t0|",
        "<3>",
        "'",
        '"',
        "13/2104",
        "99/99/2103",
        "until",
        "since",
        "0 month ago",
        "after",
        "(",
        "%",
        "\\",
        "ß",
        "on the first icu visit",
    ]
    chance = random.Random(0)
    for _ in range(2000):
        question = read(" ".join(chance.choices(words, k=chance.randint(1, 20))))
        kinds = chance.choices(list(EVENT_KINDS.values()), k=len(question.terms))
        names = tuple(
            Name(kind, "1" if kind.is_number else term.text, kind.name_columns[0][1]) for kind, term in zip(kinds, question.terms, strict=True)
        )
        for query in queries(Reading(question, names)):
            empty_database.execute(query.sql).fetchall()


def test_a_name_cannot_break_out_of_its_query() -> None:
    question = read("How many patients were prescribed o'neill's salt?")
    (sql,) = (query.sql for query in list(queries(Reading(question, (Name(EVENT_KINDS["drug"], "o'neill's salt", "DRUG"),))))[:1])
    assert "'o''neill''s salt'" in sql
