"""Which variables assertions read, and what of them they look at."""

from __future__ import annotations

import json
from typing import Any

import pytest

from medagentgym.programs.test_cases import TestCases, UnreadableTestsError


def steps(text: str, name: str, *programs: str) -> list[str]:
    """All ways from a variable, as one text each."""

    def below(tree: list[Any]) -> list[str]:
        return [json.dumps(step) + (f" {rest}" if rest else "") for step, further in tree for rest in (below(further) or [""])]

    return below(TestCases.read(text, programs).looked_at[name])


def variables(text: str, *programs: str) -> tuple[str, ...]:
    return TestCases.read(text, programs).variables


def test_names_that_the_test_cases_do_not_define_are_variables() -> None:
    text = """
import pandas as pd
table = pd.read_csv("/workdir/a.csv")
assert len(df) == len(table)
assert all(column in table for column in columns)
for expected in [1, 2]:
    assert expected in found
"""
    assert variables(text) == ("df", "columns", "found")


def test_modules_are_no_variables_unless_the_program_uses_their_name_for_one() -> None:
    cases = TestCases.read("assert np.mean(x) == 1\nassert stats.sem(x) > 0", ("from scipy import stats\nx = [1]",))
    assert cases.variables == ("x",)
    assert cases.imports == ("import numpy as np", "from scipy import stats as stats")
    assert variables("assert abs(os - 27.17) < 1e-8", "import os\nos = 27.17") == ("os",)
    assert variables("import os\nassert os.sep == sep") == ("sep",)


def test_a_variable_that_is_defined_anew_is_read_before() -> None:
    assert variables("df = df.sort_values('a')\nassert df.shape == (1, 2)") == ("df",)


def test_what_is_looked_at_is_found_along_the_expression() -> None:
    assert steps("assert kmf.event_observed.sum() == 5", "kmf") == ['["attribute", "event_observed"] ["attribute", "sum"] ["call", [], {}]']
    assert steps("assert abs(kmf.percentile(0.3) - 5) < 1", "kmf") == ['["attribute", "percentile"] ["call", [0.3], {}]']
    assert steps('assert curves["low"].median_ == 1', "curves") == ['["item", "low"] ["attribute", "median_"]']
    assert steps("assert m.coef_[0, -1] == 1 and m.coef_[1:].any()", "m") == [
        '["attribute", "coef_"] ["item", {"tuple": [0, -1]}]',
        '["attribute", "coef_"] ["item", {"slice": [1, null, null]}] ["attribute", "any"] ["call", [], {}]',
    ]
    assert steps("assert len(bars) == 3", "bars") == ['["length"]']
    assert steps("assert hasattr(model, 'coef_')", "model") == ['["attribute", "coef_"]']
    assert steps("assert float(p) < 1", "p") == ['["as", "float"]']


def test_what_a_method_of_data_compares_with_is_not_told_to_the_program() -> None:
    text = """
assert value.startswith("secret") and value.count("secret") == 1 and value.index("secret") == 0
assert pd.Series(value).eq(["secret"]).all() and table["gene"].eq("secret").all() and table["gene"].isin(["secret"]).all()
assert names.issuperset({"secret"}) and names.difference(["secret"]) == set()
"""
    assert "secret" not in json.dumps(TestCases.read(text).looked_at)
    assert steps("assert kmf.percentile(0.3) == 5", "kmf") == ['["attribute", "percentile"] ["call", [0.3], {}]']


def test_items_are_looked_at_one_by_one_in_loops_and_comprehensions() -> None:
    height = '["each"] ["attribute", "get_height"] ["call", [], {}]'
    assert steps("assert [bar.get_height() for bar in bars] == [1]", "bars") == [height]
    assert steps("for bar in bars:\n    assert bar.get_height() > 0", "bars") == [height]
    assert steps("assert all(bar.get_height() > low for bar, low in zip(bars, [1, 2]))", "bars") == [height]
    assert steps("assert {i: bar.get_height() for i, bar in enumerate(bars)}", "bars") == [height]
    assert steps("first, second = pair\nassert second.x == 1", "pair") == ['["item", 0]', '["item", 1] ["attribute", "x"]']


def test_a_name_for_a_part_stands_for_the_part() -> None:
    assert steps("axes = fig.axes[0]\nassert axes.get_title() == 'x'", "fig") == [
        '["attribute", "axes"] ["item", 0] ["attribute", "get_title"] ["call", [], {}]'
    ]


def test_preparation_and_assertions_are_told_apart() -> None:
    cases = TestCases.read("n = 3\nassert x == n\nlen(x) == 2\nif x:\n    assert x > 0\n")
    assert cases.assertions == (False, True, False, True)


def test_an_assertion_of_a_function_or_a_class_is_one_where_it_is_called() -> None:
    cases = TestCases.read("def check(x):\n    assert x == 5\ndef both(x):\n    check(x)\nn = len(rows)\nboth(value)\nprint(n)\n")
    assert cases.variables == ("rows", "value")
    assert cases.assertions == (False, False, False, True, True)
    cases = TestCases.read("import numpy\nnumpy.testing.assert_allclose(value, 5)\nx = 1\n")
    assert cases.assertions == (False, True, True)
    cases = TestCases.read("class T(Base):\n    limit = 3\n    def test_a(self, low=lowest):\n        assert limit == low\nT().test_a()\n")
    assert cases.variables == ("Base", "lowest", "limit") and cases.assertions == (False, True)


def test_tests_that_are_only_defined_are_called_at_the_end() -> None:
    text = """
import unittest
def test_value():
    assert value == 5
def test_with_fixture(fixture):
    assert fixture
class Cases(unittest.TestCase):
    def test_a(self):
        self.assertEqual(value, 5)
class TestOthers:
    def test_b(self):
        assert value == 5
"""
    cases = TestCases.read(text)
    assert cases.variables == ("value",)
    assert cases.units[-3] == "test_value()" and "(Cases)" in cases.units[-2] and cases.units[-1] == "TestOthers().test_b()"
    assert cases.assertions == (False, False, False, False, False, True, True, True)


def test_files_of_the_working_folder_that_are_named_are_known() -> None:
    text = 'assert open("plots/fig 1.png", "rb").read(); assert x == "/etc/passwd.txt"; assert y == "../up.png"'
    assert TestCases.read(text).files == ("plots/fig 1.png",)


@pytest.mark.parametrize(
    ("text", "words"),
    [("x = 1", "hold no assertion"), ("assert (", "no Python"), ("", "hold no assertion"), ("def check(x):\n    assert x", "run none")],
)
def test_test_cases_that_test_nothing_are_refused(text: str, words: str) -> None:
    with pytest.raises(UnreadableTestsError, match=words):
        TestCases.read(text)
