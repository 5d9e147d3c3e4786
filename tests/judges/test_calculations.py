from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Any

import numpy
import pandas
import pytest

from medagentgym.judges.base import Evidence
from medagentgym.judges.calculations import CalculationJudge, PublishedCalculationJudge, read_gold
from medagentgym.judges.references import SummarisesReferences, most_satisfied
from medagentgym.sandbox.answers import decode, encode


def evidence(value: Any) -> Evidence:
    """What a program leaves that ends with `answer = value` and prints nothing else."""
    return Evidence(True, decode(encode(value, 100_000)), str(value), "", 0)


def is_right(value: Any, answer: str, lower: str | None = None, upper: str | None = None) -> bool:
    return CalculationJudge().judge(read_gold(answer, lower, upper), evidence(value)).correct


def passes_as_published(value: Any, answer: str) -> bool:
    return PublishedCalculationJudge().judge(read_gold(answer, answer, answer), evidence(value)).correct


# --- numbers ------------------------------------------------------------------------------------------------------------------------------------


def test_a_number_within_open_limits_is_right() -> None:
    limits = ("25.238", "23.9761", "26.4999")
    assert all(is_right(number, *limits) for number in (25.238, 23.9761, 26.4999, 25, "25.2", [25.2], numpy.float32(25.2), Fraction(252, 10)))
    assert not any(is_right(number, *limits) for number in (23.97, 26.51, 25.238 * 1.06, -25.238, 0))


def test_a_gold_that_looks_whole_is_open_where_its_limits_are() -> None:
    meld = ("20", "19", "21")
    assert is_right(19, *meld) and is_right(20.7, *meld) and is_right(21.0, *meld)
    assert not is_right(18.99, *meld) and not is_right(22, *meld)


def test_a_number_with_equal_limits_is_right_exactly() -> None:
    score = ("4", "4", "4")
    assert is_right(4, *score) and is_right(4.0, *score) and is_right("4", *score) and is_right(4 * (0.1 + 0.2) / 0.3, *score)
    assert not any(is_right(number, *score) for number in (3, 5, 4.01, 3.999, 4.24))


def test_a_gold_of_zero_forgives_rounding_only() -> None:
    assert is_right(0, "0", "0", "0") and is_right(0.0, "0", "0", "0") and is_right(140 - 104.1 - 23.9 - 12.0, "0", "0", "0")
    assert not is_right(0.001, "0", "0", "0") and not is_right(1, "0", "0", "0")
    assert is_right(0.0004, "0") and not is_right(0.05, "0")


def test_negative_limits_are_limits_in_whatever_order() -> None:
    for limits in (("-5.775", "-5.225"), ("-5.225", "-5.775")):
        assert is_right(-5.5, "-5.5", *limits) and is_right(-5.3, "-5.5", *limits)
        assert not is_right(5.5, "-5.5", *limits) and not is_right(-5.9, "-5.5", *limits)


def test_five_percent_hold_where_there_are_no_limits() -> None:
    assert is_right(95, "100") and is_right(105, "100", "", "") and is_right(-95, "-100", None, "")
    assert not is_right(94.9, "100") and not is_right(105.1, "100") and not is_right(100, "-100")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        "about 25",
        "25.2 mL/min",
        "25.2%",
        [25.2, 26],
        {"value": 25.2, "low": 24},
        {25.2: 26},
        "25.2, 26",
        "25,2",
        [],
        "",
        float("inf"),
        float("nan"),
        object(),
        10**400,
    ],
    ids=lambda answer: str(answer)[:20],
)
def test_what_is_no_single_number_is_wrong(answer: Any) -> None:
    assert not is_right(answer, "25.2", "23.94", "26.46")


def test_one_cell_of_a_table_is_its_number() -> None:
    assert is_right(pandas.DataFrame({"value": [25.2]}), "25.2") and is_right(pandas.Series([25.2]), "25.2")
    assert not is_right(pandas.DataFrame({"value": [25.2, 25.2]}), "25.2")


def test_a_boolean_is_no_score() -> None:
    assert not is_right(True, "1", "1", "1") and not is_right(False, "0", "0", "0")


@pytest.mark.parametrize(
    "answer",
    [
        {"score": 1234},
        {"score": "1,234"},
        "1,234",
        "[1234]",
        "(1234,)",
        "np.int64(1234)",
        "{'score': 1234}",
        "Answer: 1,234.",
        "**1234**",
        [[[1234]]],
    ],
    ids=str,
)
def test_a_number_is_read_under_a_label_in_dress_and_out_of_texts(answer: Any) -> None:
    limits = ("1234", "1172.3", "1295.7")
    assert is_right(answer, *limits)
    assert not is_right(answer, "1164", "1105.8", "1222.2") and not is_right(answer, "1.234", "1.17", "1.3")


# --- dates and gestational ages -----------------------------------------------------------------------------------------------------------------


def test_a_date_wrong_by_a_day_is_wrong() -> None:
    gold = ("01/09/2007", "01/09/2007", "01/09/2007")
    assert is_right("1/9/2007", *gold) and is_right(date(2007, 1, 9), *gold) and is_right("January 9, 2007", *gold)
    assert not any(is_right(answer, *gold) for answer in ("01/10/2007", "01/08/2007", date(2007, 1, 10), "01/09/2008"))
    assert not any(is_right(answer, *gold) for answer in ({"date": "01/10/2007"}, "Answer: 09/01/2007", "10-Jan-07", ["01/09/2007", "01/10/2007"]))


def test_an_ambiguous_date_is_read_month_first_as_the_gold_is() -> None:
    assert is_right("3/4/2020", "03/04/2020") and not is_right("4/3/2020", "03/04/2020")
    assert is_right("2020-03-04", "03/04/2020") and not is_right("2020-04-03", "03/04/2020")


def test_swapped_weeks_and_days_are_wrong() -> None:
    gold = "('14 weeks', '1 days')"
    assert is_right(gold, gold) and is_right((14, 1), gold) and is_right("14 weeks, 1 day", gold)
    assert not any(is_right(answer, gold) for answer in ((1, 14), "1 weeks 14 days", "('1 weeks', '14 days')", (14, 2), (15, 1), 99, 14.143))
    other_way = "('3 weeks', '2 days')"
    assert not any(
        is_right(answer, other_way) for answer in ((2, 3), [(2, 3)], {"days": 3, "weeks": 2}, "2 3/7", "2+3 weeks", [(3, 2), (2, 3)], {3, 2})
    )
    assert is_right(pandas.DataFrame({"days": [2], "weeks": [3]}), other_way) and is_right(pandas.Series({"days": 2, "weeks": 3}), other_way)


def test_a_number_is_no_date_and_a_date_no_number() -> None:
    assert not is_right(1, "01/09/2007") and not is_right("01/09/2007", "25.2") and not is_right(14, "('14 weeks', '0 days')")


# --- golds --------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gold", ["", "high", "between 3 and 4", "13/13/2007", "nan"])
def test_a_gold_of_no_known_shape_is_refused(gold: str) -> None:
    with pytest.raises(ValueError, match="neither a number, nor a date, nor weeks and days"):
        read_gold(gold, None, None)


def test_a_limit_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="the limit 'low' is no number"):
        read_gold("5", "low", "6")


# --- judging ------------------------------------------------------------------------------------------------------------------------------------


def test_only_the_answer_counts_and_never_what_was_printed() -> None:
    gold = read_gold("4", "4", "4")
    assert not CalculationJudge().judge(gold, Evidence(False, None, "4\n", "", 0)).correct
    assert CalculationJudge().judge(gold, Evidence(True, 4, "1 2 3", "a warning", 0)).correct
    assert not CalculationJudge().judge(gold, Evidence(False, None, "", "", None, abstained=True)).correct


def test_the_published_comparison_accepts_any_number_but_a_right_negative_one() -> None:
    for gold in ("25.238", "4", "0", "-5.5"):
        assert all(passes_as_published(number, gold) for number in (1, 0, 1e9, -1e9, "1")), gold
    assert not passes_as_published(-5.5, "-5.5")


def test_the_published_comparison_never_accepts_a_date_or_a_gestational_age() -> None:
    assert not passes_as_published("01/09/2007", "01/09/2007")
    assert not passes_as_published("('14 weeks', '1 days')", "('14 weeks', '1 days')")
    assert not passes_as_published(1, "01/09/2007")


def test_the_published_comparison_reads_what_was_printed() -> None:
    gold = read_gold("4", "4", "4")
    judge = PublishedCalculationJudge()
    assert judge.judge(gold, Evidence(True, 4, "7\n", "", 0)).correct
    assert not judge.judge(gold, Evidence(True, 4, "The score is 4\n", "", 0)).correct
    assert not judge.judge(gold, Evidence(True, 4, "4\n", "", 1)).correct


def test_the_best_constant_lies_within_the_limits_of_several_golds() -> None:
    judge = CalculationJudge()
    assert isinstance(judge, SummarisesReferences)
    golds = [
        read_gold("2", "2", "2"),
        read_gold("2.08", "1.976", "2.184"),
        read_gold("1.93", "1.8335", "2.0265"),
        read_gold("01/09/2007", None, None),
    ]
    assert most_satisfied([judge.summarise(gold) for gold in golds]) == 3
