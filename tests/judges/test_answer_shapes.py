"""Answers in every shape that programs leave them in, against golds of every shape: what a careful person would say, and why.

Each answer is the Python that makes it. It is encoded here as in a box, and once more in a real box.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from medagentgym.judges.base import Evidence
from medagentgym.judges.row_sets import RowSetJudge
from medagentgym.sandbox import Box, BoxSpec, Limits, choose_backend
from medagentgym.sandbox.answers import decode, encode


def gold(*rows: list[Any], columns: str | None = None, **further: Any) -> dict[str, Any]:
    names = columns.split() if columns else [f"column {position}" for position in range(len(rows[0]) if rows else 1)]
    return {"columns": names, "rows": [list(row) for row in rows], "boolean": False, "status": "usable", **further}


GOLDS: dict[str, dict[str, Any]] = {
    "count": gold([12], columns="count(*)"),
    "one": gold([1], columns="count(*)"),
    "zero": gold([0], columns="count(*)"),
    "id": gold([145834], columns="hadm_id"),
    "code": gold(["0389"], columns="icd9_code"),
    "measurement": gold([27.400001525878878], columns="valuenum"),
    "mean": gold([71.56666666666666], columns="avg(age)"),
    "small number": gold([0.0031], columns="valuenum"),
    "whole measurement": gold([98.0], columns="valuenum"),
    "days": gold([12.0], columns="days", units=["day"]),
    "hours": gold([37.483333319425586], columns="hours", units=["hour"]),
    "age": gold([67], columns="age", units=["year"]),
    "cost": gold([7.72], columns="cost", units=["dollar"]),
    "percentile": gold([0.452], columns="c1", percent="fraction"),
    "survival rate": gold([66], columns="rate", percent="percentage", alternatives=[{"rows": [[66.66666666666667]]}]),
    "yes": gold([1], columns="count(*)>0", boolean=True),
    "no": gold([0], columns="count(*)>0", boolean=True),
    "gender": gold(["f"], columns="gender"),
    "gender in words": gold(["female"], columns="gender"),
    "route": gold(["po"], columns="route"),
    "drug": gold(["sodium chloride 0.9%  flush"], columns="drug"),
    "dose": gold(["12.5mg"], columns="drug_dose"),
    "name": gold(["café \u2013 'au lait'"], columns="name"),
    "time": gold(["2105-03-04 08:30:00"], columns="charttime"),
    "midnight": gold(["2105-03-04 00:00:00"], columns="startdate"),
    "date": gold(["2105-03-04"], columns="date"),
    "minute": gold(["2105-03-04 08:30"], columns="minute"),
    "nothing": gold(columns="drug"),
    "null": gold([None], columns="drug"),
    "routes": gold(["iv"], ["po"], ["iv"], columns="route"),
    "measurements": gold([36.6], [37.25], [38.0], columns="valuenum"),
    "routes and null": gold(["iv"], [None], columns="route"),
    "counts": gold(["aspirin", 3], ["heparin", 2], columns="drug count(*)"),
    "pressure": gold([120, 80], columns="systolic diastolic"),
    "person": gold(["married", "2045-03-03 00:00:00"], columns="marital_status dob"),
    "ranking": gold(["aspirin"], ["heparin"], ["zinc"], columns="drug", ordered=[0, 1, 1]),
    "tied drugs": gold(["aspirin"], columns="drug", alternatives=[{"rows": [], "among": [["aspirin"], ["heparin"], ["zinc"]], "pick": 1}]),
    "flat": {"columns": None, "rows": [["married"], ["2045-03-03 00:00:00"]], "boolean": False, "status": "usable"},
    "impossible": {"columns": [], "rows": [], "boolean": False, "status": "empty", "impossible": True},
}

Verdict = Literal["right", "wrong"]

SHAPES: list[tuple[str, str, Verdict, str]] = [
    # one number
    ("12", "count", "right", "the number"),
    ("12.0", "count", "right", "the same number"),
    ("'12'", "count", "right", "the number as text"),
    ("'12.0'", "count", "right", "the same number as text"),
    ("' 12\\n'", "count", "right", "white space says nothing"),
    ("np.int64(12)", "count", "right", "a NumPy number"),
    ("np.array(12)", "count", "right", "an array of no dimension"),
    ("np.array([12])", "count", "right", "an array of one"),
    ("Decimal('12')", "count", "right", "a decimal number"),
    ("[(12,)]", "count", "right", "what a database cursor gives"),
    ("'[(12,)]'", "count", "right", "the same as text"),
    ("[[(12,)]]", "count", "right", "wrapped once more, nothing else in it"),
    ("{'count': 12}", "count", "right", "the number under a label"),
    ("\"{'count': 12}\"", "count", "right", "the same as text"),
    ("'{\"count\": 12}'", "count", "right", "the same as JSON"),
    ("{12}", "count", "right", "a set of one"),
    ("pd.DataFrame({'n': [12]})", "count", "right", "a table of one cell"),
    ("pd.Series([12], name='n')", "count", "right", "a column of one cell"),
    ("pd.Series({'n': 12})", "count", "right", "a labelled value"),
    ("pd.DataFrame({'n': [12]}).to_dict()", "count", "right", "a table as a dictionary"),
    ("pd.DataFrame({'n': [12]}).to_dict('records')", "count", "right", "a table as records"),
    ("pd.DataFrame({'n': [12]}).to_dict('list')", "count", "right", "a table as lists"),
    ("[12, 12]", "count", "right", "a repeated row says nothing"),
    ("'12 days'", "count", "wrong", "a count of something has no days"),
    ("'12 patients'", "count", "wrong", "words beside the number, of whose truth the gold says nothing"),
    ("'about 12'", "count", "wrong", "no number"),
    ("'count: 12'", "count", "wrong", "a sentence, no value"),
    ("13", "count", "wrong", "another number"),
    ("12.04", "count", "wrong", "a count is whole"),
    ("120", "count", "wrong", "contains the digits, is another number"),
    ("'112'", "count", "wrong", "contains the digits, is another number"),
    ("[12, 13]", "count", "wrong", "one number too many"),
    ("list(range(100))", "count", "wrong", "every number is no answer"),
    ("[('aspirin', 12)]", "count", "wrong", "a column too many"),
    ("pd.DataFrame({'drug': ['x'], 'n': [12]})", "count", "wrong", "a column too many"),
    ("[[12, 12]]", "count", "wrong", "a column too many"),
    ("None", "count", "wrong", "nothing is no number"),
    ("lambda: 12", "count", "wrong", "no data"),
    ("type('Equal', (), {'__eq__': lambda self, other: True})()", "count", "wrong", "no data, whatever it says of itself"),
    ("True", "one", "wrong", "a yes is no count"),
    ("'yes'", "one", "wrong", "a yes is no count"),
    ("np.True_", "one", "wrong", "a yes is no count"),
    ("1", "one", "right", "the count"),
    ("False", "zero", "wrong", "a no is no count"),
    ("None", "zero", "wrong", "none counted is not nothing known"),
    ("[]", "zero", "wrong", "none counted is not nothing known"),
    ("0.0", "zero", "right", "the same number"),
    ("145834.0", "id", "right", "the same number"),
    ("145834.4", "id", "wrong", "identifiers do not blur"),
    ("145835", "id", "wrong", "the next identifier is another one"),
    ("'145,834'", "id", "right", "grouped digits"),
    ("'0389'", "code", "right", "the code"),
    ("389", "code", "wrong", "a code's leading zero is part of it"),
    # numbers that are not whole
    ("27.4", "measurement", "right", "the gold at the answer's decimals"),
    ("27.40", "measurement", "right", "the gold at the answer's decimals"),
    ("'27.40'", "measurement", "right", "the gold at the answer's decimals"),
    ("np.float32(27.4)", "measurement", "right", "the gold but for the precision of the machine"),
    ("27", "measurement", "wrong", "shows no decimals"),
    ("27.5", "measurement", "wrong", "another number"),
    ("71.6", "mean", "right", "rounded to one decimal"),
    ("71.57", "mean", "right", "rounded to two decimals"),
    ("71.56", "mean", "wrong", "cut off, not rounded"),
    ("72", "mean", "wrong", "rounded to a whole number"),
    ("0.0", "small number", "wrong", "zero is not the rounded form of every small number"),
    ("0.003", "small number", "right", "rounded at little cost"),
    ("98", "whole measurement", "right", "the same number"),
    ("'98.0'", "whole measurement", "right", "the same number"),
    ("98.04", "whole measurement", "wrong", "a whole gold is exact"),
    # units
    ("'12 days'", "days", "right", "in the unit that was asked for"),
    ("'12.0 Days'", "days", "right", "in the unit that was asked for"),
    ("datetime.timedelta(days=12)", "days", "right", "a duration of so many days"),
    ("pd.Timedelta(days=12)", "days", "right", "a duration of so many days"),
    ("'288 hours'", "days", "right", "the same time in another unit"),
    ("str(datetime.timedelta(days=12))", "days", "right", "a duration as Python prints it"),
    ("str(pd.Timedelta(days=12))", "days", "right", "a duration as pandas prints it"),
    ("str(datetime.timedelta(days=13))", "days", "wrong", "a day longer"),
    ("'12 hours'", "days", "wrong", "another time"),
    ("'12 mg'", "days", "wrong", "no unit of time"),
    ("12", "days", "right", "the number of days"),
    ("datetime.timedelta(hours=37, minutes=29)", "hours", "right", "the duration"),
    ("37.48", "hours", "right", "rounded"),
    ("1.56", "hours", "wrong", "days where hours were asked for"),
    ("'67 years old'", "age", "right", "an age in years"),
    ("'$7.72'", "cost", "right", "an amount of dollars"),
    ("'7.72 EUR'", "cost", "wrong", "another currency"),
    ("'12.5 mg'", "dose", "right", "a space before the unit says nothing"),
    ("12.5", "dose", "wrong", "the unit is part of the text"),
    # shares
    ("0.452", "percentile", "right", "as a fraction"),
    ("45.2", "percentile", "right", "as a percentage, since the question says percentile"),
    ("'45.2%'", "percentile", "right", "as a percentage"),
    ("'0.452%'", "percentile", "wrong", "a hundredth of it"),
    ("4.52", "percentile", "wrong", "neither fraction nor percentage"),
    ("66", "survival rate", "right", "as the SQL gives it, cut off"),
    ("66.67", "survival rate", "right", "with its decimals"),
    ("2 / 3", "survival rate", "right", "as a fraction"),
    ("67", "survival rate", "wrong", "rounded to a whole number, which the gold is not"),
    # yes and no
    ("True", "yes", "right", "yes"),
    ("'Yes'", "yes", "right", "yes"),
    ("'yes.'", "yes", "right", "yes"),
    ("1", "yes", "right", "as the SQL gives it"),
    ("[(1,)]", "yes", "right", "as a cursor gives it"),
    ("np.bool_(True)", "yes", "right", "yes"),
    ("pd.Series([5]).gt(0)", "yes", "right", "yes in a column"),
    ("5", "yes", "wrong", "a count, no yes"),
    ("'Yes, twice'", "yes", "wrong", "more than was asked for"),
    ("[True, False]", "yes", "wrong", "both answers"),
    ("'True or False'", "yes", "wrong", "both answers"),
    ("False", "yes", "wrong", "no"),
    ("'No'", "no", "right", "no"),
    ("0", "no", "right", "as the SQL gives it"),
    ("None", "no", "wrong", "nothing known is no no"),
    ("[]", "no", "wrong", "nothing known is no no"),
    # text
    ("'Female'", "gender", "right", "the plain word of the code"),
    ("'F'", "gender", "right", "the code"),
    ("'f'", "gender in words", "right", "the code of the word"),
    ("'male'", "gender", "wrong", "the other one"),
    ("'m or f'", "gender", "wrong", "both"),
    ("'oral'", "route", "wrong", "a value of its own in the tables"),
    ("'Sodium Chloride 0.9% Flush'", "drug", "right", "case and white space say nothing"),
    ("'sodium chloride'", "drug", "wrong", "a part of the name"),
    ("'sodium chloride 0.9% flush syringe'", "drug", "wrong", "more than the name"),
    ("'cafe\\u0301 - \\u2018au lait\\u2019'", "name", "right", "the same characters written another way"),
    ("'CAF\\u00c9 \\u2014 \\u201cau lait\\u201d'", "name", "wrong", "other quotation marks are another text"),
    ("'cafe - au lait'", "name", "wrong", "other characters"),
    # times
    ("'2105-03-04 08:30:00'", "time", "right", "the time"),
    ("'2105-03-04 08:30'", "time", "right", "without the seconds, which are none"),
    ("'2105-03-04T08:30:00Z'", "time", "right", "another form of the same"),
    ("datetime.datetime(2105, 3, 4, 8, 30)", "time", "right", "the time"),
    ("pd.Timestamp('2105-03-04 08:30')", "time", "right", "the time"),
    ("np.datetime64('2105-03-04T08:30')", "time", "right", "the time"),
    ("pd.to_datetime(pd.Series(['2105-03-04 08:30:00']))", "time", "right", "a column of one time"),
    ("'03/04/2105 08:30'", "time", "right", "as the questions write dates"),
    ("datetime.date(2105, 3, 4)", "time", "wrong", "the day alone, where the time is known"),
    ("'2105-03-04 08:30:01'", "time", "wrong", "a second later"),
    ("'08:30'", "time", "wrong", "the day is missing"),
    ("datetime.date(2105, 3, 4)", "midnight", "right", "midnight stands for the day"),
    ("'2105-03-04'", "midnight", "right", "midnight stands for the day"),
    ("'2105-03-04 08:30:00'", "midnight", "wrong", "another time"),
    ("pd.Timestamp('2105-03-04')", "date", "right", "the day's midnight"),
    ("'2105-03-04 08:30:00'", "date", "right", "a time of that day, where only the day was asked for"),
    ("'March 4, 2105'", "date", "right", "the day in words"),
    ("'4 Mar 2105'", "date", "right", "the day in words"),
    ("'2105-03-05'", "date", "wrong", "a day later"),
    ("'2105-04-03'", "date", "wrong", "day and month swapped"),
    ("'2105-03-04 08:30:59'", "minute", "right", "within the minute that was asked for"),
    ("'2105-03-04 08:31:00'", "minute", "wrong", "a minute later"),
    # nothing
    ("None", "nothing", "right", "nothing"),
    ("float('nan')", "nothing", "right", "nothing"),
    ("pd.NaT", "nothing", "right", "nothing"),
    ("[]", "nothing", "right", "nothing"),
    ("{}", "nothing", "right", "nothing"),
    ("''", "nothing", "right", "nothing"),
    ("'[]'", "nothing", "right", "nothing"),
    ("'None'", "nothing", "right", "nothing"),
    ("'No record found.'", "nothing", "right", "nothing, in words"),
    ("pd.DataFrame({'drug': []})", "nothing", "right", "a table without rows"),
    ("pd.Series([], dtype=object)", "nothing", "right", "a column without rows"),
    ("[(None,)]", "nothing", "right", "nulls are nothing"),
    ("{'drug': None}", "nothing", "right", "nothing under a label"),
    ("[]", "null", "right", "nothing"),
    ("np.nan", "null", "right", "nothing"),
    ("0", "nothing", "wrong", "zero is a number"),
    ("False", "nothing", "wrong", "no is an answer"),
    ("'aspirin'", "nothing", "wrong", "something"),
    ("'no idea'", "nothing", "wrong", "says something else"),
    ("'no record'", "route", "wrong", "nothing where there is something"),
    # several rows
    ("['po', 'iv']", "routes", "right", "in another order, repeated rows once"),
    ("('iv', 'po', 'iv')", "routes", "right", "as the SQL gives them"),
    (
        "(lambda c: (setattr(c, 'row_factory', sqlite3.Row), c.execute(\"select 'iv' union select 'po'\").fetchall())[1])(sqlite3.connect(''))",
        "routes",
        "right",
        "rows that know their columns",
    ),
    ("[row for _, row in pd.DataFrame({'drug': ['aspirin', 'heparin'], 'n': [3, 2]}).iterrows()]", "counts", "right", "rows taken out of a table"),
    ("'iv \\n po'", "routes", "right", "one a line"),
    ("'1.2e1'", "count", "right", "the same number"),
    ("'Y'", "yes", "right", "short for yes"),
    ("'N'", "yes", "wrong", "short for no"),
    ("{'iv', 'po'}", "routes", "right", "a set"),
    ("[('iv',), ('po',)]", "routes", "right", "what a cursor gives"),
    ("'iv, po'", "routes", "right", "a list in words"),
    ("str(['iv', 'po'])", "routes", "right", "a list as text"),
    ("str(np.array(['iv', 'po']))", "routes", "right", "an array as text"),
    ("np.array([['iv'], ['po']])", "routes", "right", "an array of rows"),
    ("pd.Series(['IV', 'PO']).unique()", "routes", "right", "the different values"),
    ("pd.DataFrame({'route': ['iv', 'po']}, index=[4, 9])", "routes", "right", "the index of rows is no column"),
    ("pd.Series(['iv', 'po']).to_dict()", "routes", "right", "numbered values"),
    ("dict.fromkeys(['iv', 'po']).keys()", "routes", "right", "the keys"),
    ("['iv']", "routes", "wrong", "one is missing"),
    ("['iv', 'po', 'im']", "routes", "wrong", "one too many"),
    ("['iv', 'po', None]", "routes", "wrong", "one too many"),
    ("'iv po'", "routes", "wrong", "one text"),
    ("[['iv', 'po']]", "routes", "wrong", "one row of two columns"),
    ("{'iv': 2, 'po': 1}", "routes", "wrong", "a column too many"),
    ("pd.Series(['iv', 'po', 'iv']).value_counts()", "routes", "wrong", "a column too many"),
    ("[36.6, 37.2, 38]", "measurements", "right", "each at its own decimals"),
    ("[36.6, 37.25]", "measurements", "wrong", "one is missing"),
    ("['iv', np.nan]", "routes and null", "right", "a null is a row"),
    ("['iv']", "routes and null", "wrong", "the null is missing"),
    # several columns
    ("[('heparin', 2), ('aspirin', 3)]", "counts", "right", "rows in another order"),
    ("{'aspirin': 3, 'heparin': 2}", "counts", "right", "key and value"),
    ("pd.DataFrame({'n': [3, 2], 'drug': ['aspirin', 'heparin']})", "counts", "right", "columns in another order, by name"),
    ("[(3, 'aspirin'), (2, 'heparin')]", "counts", "right", "columns in another order, the same for all rows"),
    ("pd.Series(['aspirin'] * 3 + ['heparin'] * 2).value_counts()", "counts", "right", "the index holds the names"),
    ("pd.Series(['aspirin'] * 3 + ['heparin'] * 2).value_counts().reset_index()", "counts", "right", "the index as a column"),
    ("[{'drug': 'aspirin', 'n': 3}, {'n': 2, 'drug': 'heparin'}]", "counts", "right", "records, whatever the order of their keys"),
    ("[('aspirin', 3), (2, 'heparin')]", "counts", "wrong", "columns in another order in every row"),
    ("[('aspirin', 2), ('heparin', 3)]", "counts", "wrong", "numbers at the wrong names"),
    ("['aspirin', 'heparin']", "counts", "wrong", "a column is missing"),
    ("[('aspirin', 3, 0.6), ('heparin', 2, 0.4)]", "counts", "wrong", "a column too many"),
    ("(120, 80)", "pressure", "right", "the row"),
    ("{'systolic': 120, 'diastolic': 80}", "pressure", "right", "by name"),
    ("{'diastolic': 80, 'systolic': 120}", "pressure", "right", "by name, in another order"),
    ("{'upper': 120, 'lower': 80}", "pressure", "right", "by other names"),
    ("pd.DataFrame({'a': [120], 'b': [80]}).iloc[0]", "pressure", "right", "a row taken out of a table"),
    ("[80, 120]", "pressure", "right", "columns may come in another order, and these have no names"),
    ("{'systolic': 80, 'diastolic': 120}", "pressure", "wrong", "the names are the gold's, and the numbers are swapped"),
    ("[120]", "pressure", "wrong", "a column is missing"),
    ("'120/80'", "pressure", "wrong", "one text"),
    ("['married', datetime.date(2045, 3, 3)]", "person", "right", "the row"),
    ("[datetime.date(2045, 3, 3), 'Married']", "person", "right", "columns in another order"),
    ("'married'", "person", "wrong", "half of it"),
    ("['2045-03-03', 'married']", "flat", "right", "the values, of which no more is known"),
    ("['married']", "flat", "wrong", "half of it"),
    # order and ties
    ("['aspirin', 'zinc', 'heparin']", "ranking", "right", "two share a rank"),
    ("['zinc', 'aspirin', 'heparin']", "ranking", "wrong", "a ranking was asked for, and this is another"),
    ("'heparin'", "tied drugs", "right", "one of the tied"),
    ("['aspirin', 'heparin']", "tied drugs", "wrong", "one was asked for"),
    ("'insulin'", "tied drugs", "wrong", "not among the tied"),
    # what was left, and what was printed
    ("print(12)", "count", "right", "printed, and nothing left in answer"),
    ("print('working ...\\n')\nprint([(12,)])\nprint()", "count", "right", "the last line that is not blank"),
    ("print(13)\nprint('12.0')", "count", "right", "the last line counts"),
    ("print(np.array(['iv', 'po']))", "routes", "right", "an array as printed"),
    ("print(pd.DataFrame({'n': [12]}))", "count", "wrong", "the last line of a table is no value"),
    ("print(12)\nprint('done')", "count", "wrong", "the last line is no number"),
    ("print(*range(100), sep='\\n')", "count", "wrong", "the last line is another number"),
    ("print('The count is 12')", "count", "wrong", "a sentence"),
    ("answer = 13\nprint(12)", "count", "wrong", "what is left in answer counts"),
    ("print(13)\nanswer = 12", "count", "right", "what is left in answer counts"),
    ("pass", "nothing", "wrong", "no answer at all"),
    ("answer = None", "impossible", "wrong", "an answer, where only an abstention is right"),
    ("'unknown'", "impossible", "wrong", "an answer, where only an abstention is right"),
]  # fmt: skip

IMPORTS = "import datetime\nimport sqlite3\nfrom decimal import Decimal\n\nimport numpy as np\nimport pandas as pd\n\n"


def program(source: str) -> str:
    """The program that an agent would have run."""
    is_whole = source.startswith(("print(", "answer =", "pass"))
    return IMPORTS + (f"{source}\n" if is_whole else f"answer = {source}\n")


def judged(answer_of: Evidence, shape: str) -> Verdict:
    verdict = RowSetJudge().judge({"gold": GOLDS[shape]}, answer_of)
    return "right" if verdict.correct else "wrong"


def test_there_are_enough_shapes_each_once() -> None:
    assert len(SHAPES) >= 80
    assert len({(source, shape) for source, shape, _, _ in SHAPES}) == len(SHAPES)
    assert {shape for _, shape, _, _ in SHAPES} == set(GOLDS)


@pytest.mark.parametrize(("source", "shape", "verdict", "why"), SHAPES, ids=lambda value: str(value)[:60])
def test_an_answer_is_judged_as_a_careful_person_would(source: str, shape: str, verdict: Verdict, why: str) -> None:
    variables: dict[str, Any] = {"__name__": "__main__"}
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(program(source), variables)
    has_answer = "answer" in variables
    answer = decode(encode(variables["answer"], 1_000_000)) if has_answer else None
    assert judged(Evidence(has_answer, answer, output.getvalue(), "", 0), shape) == verdict, why


def test_only_an_abstention_is_right_where_the_database_has_no_answer_and_nowhere_else() -> None:
    abstention = Evidence(has_answer=False, answer=None, stdout="", stderr="", exit_status=None, abstained=True)
    assert {shape for shape in GOLDS if judged(abstention, shape) == "right"} == {"impossible"}


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    box = choose_backend("auto").start(BoxSpec(python=Path(sys.executable), limits=Limits(wall_seconds=60)))
    yield box
    box.close()


def test_it_is_judged_the_same_when_it_comes_out_of_a_box(box: Box) -> None:
    for source, shape, verdict, why in SHAPES:
        result = box.run(program(source))
        evidence = Evidence(result.has_answer, result.answer, result.stdout, result.stderr, result.exit_status)
        assert result.exit_status == 0 and judged(evidence, shape) == verdict, (source, shape, why, result)
