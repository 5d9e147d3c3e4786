from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import numpy
import pandas
import pytest

from medagentgym.judges.dates import read_date, read_weeks_and_days
from medagentgym.sandbox.answers import decode, encode


def left_in_answer(value: Any) -> Any:
    """What the harness gets of a value that code leaves in `answer`."""
    return decode(encode(value, 100_000))


@pytest.mark.parametrize(
    "answer",
    [
        "01/09/2007",
        "1/9/2007",
        "1/9/07",
        "1-9-2007",
        "01.09.2007",
        " 01/09/2007\n",
        "2007-01-09",
        "2007-01-09 00:00:00",
        "2007-01-09T00:00:00Z",
        "2007/1/9",
        "20070109",
        "January 9, 2007",
        "Jan 9 2007",
        "Jan. 9th, 2007",
        "9 January 2007",
        "09-Jan-2007",
        "9th of January, 2007",
        "2007 Jan 9",
        "Tuesday, January 9, 2007",
        date(2007, 1, 9),
        datetime(2007, 1, 9),
        pandas.Timestamp("2007-01-09"),
        numpy.datetime64("2007-01-09"),
        [2007, 1, 9],
        (1, 9, 2007),
        ["01/09/2007"],
        {"year": 2007, "month": 1, "day": 9},
        {"date": "01/09/2007"},
        {"due date": date(2007, 1, 9)},
        "09-Jan-07",
        "Answer: 01/09/2007",
        "01/09/2007.",
        "**01/09/2007**",
        "'2007-01-09'",
        "datetime.date(2007, 1, 9)",
        pandas.DataFrame({"year": [2007], "month": [1], "day": [9]}),
        pandas.Series(["01/09/2007"]),
    ],
    ids=str,
)
def test_a_date_is_read_in_every_unambiguous_form(answer: Any) -> None:
    assert read_date(left_in_answer(answer)) == date(2007, 1, 9)


def test_three_numbers_are_month_day_year_and_a_first_number_over_twelve_is_the_day() -> None:
    assert read_date("3/4/2020") == date(2020, 3, 4)
    assert read_date("25/4/2020") == date(2020, 4, 25)
    assert read_date([25, 4, 2020]) == date(2020, 4, 25)


def test_two_digit_years_are_those_from_1969_to_2068() -> None:
    assert read_date("3/4/68") == date(2068, 3, 4)
    assert read_date("3/4/69") == date(1969, 3, 4)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        20070109,
        20070109.0,
        "",
        "2007",
        "January 2007",
        "01/09",
        "01/09-2007",
        "13/13/2007",
        "02/30/2007",
        "2007-01-09 10:30:00",
        "due on 01/09/2007",
        "01/09/2007 or 01/10/2007",
        ["01/09/2007", "01/10/2007"],
        [1, 9, 7],
        {"year": 2007, "month": 1},
        {"a": 2007, "b": 1, "c": 9},
        {"01/09/2007": pandas.DataFrame(index=["01/10/2007"])},
        "09-Jan-7",
        pytest.param(object(), id="an object"),
        "01/09/2007" * 20,
    ],
    ids=str,
)
def test_what_states_no_single_date_is_none(answer: Any) -> None:
    assert read_date(left_in_answer(answer)) is None


@pytest.mark.parametrize(
    "answer",
    [
        "('14 weeks', '1 days')",
        "(14 weeks, 1 day)",
        ("14 weeks", "1 days"),
        ["1 day", "14 weeks"],
        (14, 1),
        [14.0, 1.0],
        ("14", "1"),
        "(14, 1)",
        "14 weeks 1 day",
        "14 weeks and 1 day",
        "14 Weeks, 1 Day",
        "14 wks 1 d",
        "14w1d",
        "14w 1d",
        "14+1",
        "14 1/7 weeks",
        {"weeks": 14, "days": 1},
        {"age": (14, 1)},
        [(14, 1)],
        ("14.0", "1.0"),
        "14 1/7",
        "14+1 weeks",
        "14w+1d",
        "14 weeks + 1 day",
        "14 weeks & 1 day",
        "14 weeks, 1 day.",
        "Answer: 14 weeks, 1 day",
        pandas.DataFrame({"weeks": [14], "days": [1]}),
        pandas.DataFrame([[14, 1]]),
        pandas.Series({"days": 1, "weeks": 14}),
        pandas.Series([14, 1]),
        timedelta(days=99),
        pandas.Timedelta(days=99),
        numpy.array([14, 1]),
    ],
    ids=str,
)
def test_a_gestational_age_is_read_in_every_form_with_weeks_and_days(answer: Any) -> None:
    assert read_weeks_and_days(left_in_answer(answer)) == (14, 1)


def test_weeks_without_days_are_whole_weeks() -> None:
    assert read_weeks_and_days("14 weeks") == (14, 0)
    assert read_weeks_and_days("(14 weeks, 0 days)") == (14, 0)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        14,
        99,
        14.143,
        "14",
        "99 days",
        "13 weeks 8 days",
        (13, 8),
        (-14, 1),
        (14, 1, 0),
        "14 weeks 1 day or so",
        {"weeks": 14},
        {"a": 14, "b": 1},
        [(14, 1), (15, 1)],
        "14 8/7",
        "14+1 days",
        pandas.DataFrame(index=[14]),
        pytest.param(object(), id="an object"),
        True,
    ],
    ids=str,
)
def test_what_states_no_weeks_and_days_is_none(answer: Any) -> None:
    assert read_weeks_and_days(left_in_answer(answer)) is None
