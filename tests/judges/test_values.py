"""Two single values are equal where a careful reader would call them the same answer, and nowhere else."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from medagentgym.judges.values import as_truth, equal_values, read_value
from medagentgym.sandbox.answers import decode, encode


def equal(gold: Any, answer: Any, *, boolean: bool = False) -> bool:
    gold_value, answer_value = read_value(gold), read_value(decode(encode(answer, 10_000)))
    if boolean:
        gold_value, answer_value = as_truth(gold_value), as_truth(answer_value)
    return equal_values(gold_value, answer_value)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (37, 37),
        (37, 37.0),
        (37, "37"),
        (37, " 37 "),
        ("37", np.int64(37)),
        (37.0, 37),
        ("4019", 4019),
        (0, 0.0),
        (0, -0.0),
        (7.32, 7.32),
        (7.32, Decimal("7.32")),
        ("27.400001525878878", 27.4),
        (27.400001525878878, np.float32(27.4)),
        (27.400001525878878, "27.40"),
        (27.456, 27.5),
        (27.003, 27.0),
        (1234, "1,234"),
        ("5mg", "5 mg"),
        ("caf\u00e9 \u2013 \u2018x\u2019", "cafe\u0301 - 'x'"),
        (1234.56789, 1234.57),
        (1234.56789, 1234.568),
        (1234.501, 1234.5),
        (1234.501, "1234.50"),
        (0.5678, 0.57),
        (0.123456, 0.12),
        (1 / 3, 0.3333),
        (36, 35.9999999),
        (3, 2.9999999995),
        (2.9999999995, 3),
        (1e-05, "1e-05"),
        (-5, "-5"),
        (0.5, ".5"),
        (-0.5, "-.5"),
        (0.25, "+.25"),
        (5, "5."),
        (".5", "0.50"),
        (1234567, "1\u2009234\u202f567"),
        ("2105-01-01", "2105-01-01 00:00:00"),
        ("2105-01-01 00:00:00", "2105-01-01"),
        ("2105-01-01 00:00:00", date(2105, 1, 1)),
        ("2105-01-01 08:30:00", datetime(2105, 1, 1, 8, 30)),
        ("2105-01-01 08:30:00", pd.Timestamp("2105-01-01 08:30")),
        ("2105-01-01 08:30:00", np.datetime64("2105-01-01T08:30:00")),
        ("2105-01-01 08:30:00", "2105-01-01T08:30:00"),
        ("2105-01-01 08:30:00", "2105-01-01 08:30"),
        ("2105-01", "2105-01"),
        ("2105-01-01", "2105-01-01 08:30:00"),
        ("2105-01-01 08:30", "2105-01-01 08:30:59"),
        ("2105-01-01 08:30:00", "2105-01-01T08:30:00Z"),
        ("2105-01-01 08:30:00", pd.Timestamp("2105-01-01 08:30", tz="UTC")),
        ("2105-01-01 08:30:00", "2105-01-01 08:30:00.25"),
        ("2105-01-01", "01/01/2105"),
        ("2105-01-01 08:30:00", "1/1/2105 8:30"),
        ("2105-01-01", "January 1, 2105"),
        ("2105-01-01", "1 Jan 2105"),
        ("2105-01-01", "January 1st 2105"),
        ("2105-01-01", "Thursday, January 1, 2105"),
        ("2105-01-13", "13/01/2105"),
        ("2105-12-31 23:59:00", "12/31/2105 11:59 PM"),
        ("2105-12-31 23:59:00", "2105-12-31 11:59 pm"),
        ("2105-12-31 23:59:00", "December 31, 2105 at 11:59 P.M."),
        ("2105-12-31 23:59:15", "December 31, 2105, 11:59:15 PM"),
        ("2105-12-31 23:00:00", "December 31, 2105 11 PM"),
        ("2105-12-31 00:30:00", "12/31/2105 12:30 AM"),
        ("2105-12-31 12:30:00", "12/31/2105 12:30 PM"),
        ("23:59:00", "11:59 pm"),
        ("08:30", "08:30:15"),
        ("08:30:00", datetime(2105, 1, 1, 8, 30).time()),
        ("iv push", "IV  Push\n"),
        ("aspirin", "Aspirin"),
        ("straße", "STRASSE"),
        ("0389", "0389"),
        ("P1DT0H0M0S", timedelta(days=1)),
        (None, None),
        (None, float("nan")),
        (None, pd.NaT),
        (None, "None"),
        ("None", None),
        ("", None),
        (None, "null"),
    ],
)
def test_the_same_value_is_recognised_in_every_form(gold: Any, answer: Any) -> None:
    assert equal(gold, answer)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (1, 10),
        ("1", "10"),
        (1, 1.004),
        (1, 1.0004),
        (27.003, 27),
        (27.4, 27),
        (27.456, 27.4),
        (27.456, 27.5001),
        (0.75, 0.8),
        (12, "1\u00b2"),
        (27.456, 27.47),
        (0.0031, 0.0),
        (0.036, 0.04),
        (0.004, 0),
        (3352230, 3352231),
        (145834, 145834.4),
        (2**53, 2**53 + 1),
        (1, True),
        (0, False),
        ("1", True),
        ("0389", 389),
        ("0389", "389"),
        (5, "5 days"),
        (5, "about 5"),
        (1000, "1,00"),
        (5, timedelta(days=5)),
        (5, "5%"),
        (5, None),
        (0, None),
        (None, 0),
        (None, False),
        (None, "unknown"),
        ("2105-01-01", "2105-01-02"),
        ("2105-01-01 08:30:00", "2105-01-01"),
        ("2105-01-01 00:00:00", "2105-01-01 08:30:00"),
        ("2105-01-01 08:30", "2105-01-01 08:31:00"),
        ("2105-01-01 08:30:00", "01/02/2105 08:30"),
        ("2105-01-01", "13/01/2105"),
        ("08:30", "08:31"),
        ("2105-12-31 23:59:00", "12/31/2105 11:59 AM"),
        ("2105-12-31 23:59:00", "12/31/2105 11:59"),
        ("2105-12-31 23:59:00", "12/31/2105 23:59 PM"),
        ("2105-12-31 00:30:00", "12/31/2105 00:30 AM"),
        ("2105-12-31 23:59:00", "11:59 PM"),
        ("08:30:00", "8:30"),
        ("2105-12-31", "December 31"),
        ("2105-12-31", "31 Dec 05"),
        (71.6, "72."),
        (1000, "1\u2009000\u200900"),
        (12, "12 .5"),
        (12, "."),
        ("2105-01-01 08:30:00", "2105-01-01 08:30:01"),
        ("2105-01-01", 2105),
        ("2105-01-01", "2105-01-01T00:00:00+02:00"),
        ("iv", "iv push"),
        ("iv push", "iv"),
        ("m", "male"),
        ("iv", ""),
        (5, float("inf")),
        (1.5, 10**400),
        (5, 10**400),
    ],
)
def test_another_value_is_not_equal(gold: Any, answer: Any) -> None:
    assert not equal(gold, answer)


@pytest.mark.parametrize("answer", [True, np.True_, 1, 1.0, "1", "yes", "Yes", "TRUE"])
def test_a_yes_or_no_question_takes_every_form_of_yes(answer: Any) -> None:
    assert equal(1, answer, boolean=True)
    assert not equal(0, answer, boolean=True)


@pytest.mark.parametrize("answer", [False, 0, 0.0, "0", "no", "False"])
def test_a_yes_or_no_question_takes_every_form_of_no(answer: Any) -> None:
    assert equal(0, answer, boolean=True)
    assert not equal(1, answer, boolean=True)


@pytest.mark.parametrize("answer", [5, -1, 0.5, "maybe", "yes, since 2104", None])
def test_a_yes_or_no_question_takes_nothing_else(answer: Any) -> None:
    assert not equal(1, answer, boolean=True)
    assert not equal(0, answer, boolean=True)


def test_a_month_thirteen_is_text() -> None:
    assert read_value("2105-13-01").kind == "text"
    assert equal("2105-13-01", "2105-13-01")
