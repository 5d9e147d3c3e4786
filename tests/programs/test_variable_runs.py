"""Programs leave variables, and assertions about them run apart from the program."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from medagentgym.programs.test_cases import TestCases
from medagentgym.programs.variable_cheats import changed_variables, variable_cheats
from medagentgym.programs.variable_runs import ProgramRun, check, run_program
from medagentgym.sandbox import Box

PREPARED = "import pandas as pd\nimport numpy as np\n"


def run(box: Box, code: str, tests: str, history: str = "") -> tuple[ProgramRun, TestCases]:
    cases = TestCases.read(textwrap.dedent(tests), (history, code))
    return run_program(box, history, textwrap.dedent(code), cases, seed=1), cases


def outcomes(box: Box, code: str, tests: str, history: str = "") -> list[str | None]:
    """What is the matter with each assertion; None where it holds."""
    left, cases = run(box, code, tests, history)
    assert left.ran_to_its_end, left.result.stderr
    assert box.reset()
    result = check(box, cases, left)
    assert all(outcome.holds is (outcome.problem is None) for outcome in result)
    return [outcome.problem for outcome in result]


def test_data_cross_and_assertions_hold_or_do_not(box: Box) -> None:
    code = (
        PREPARED + "table = pd.DataFrame({'gene': ['TP53', 'KRAS'], 'n': [2, 1]})\ncounts = table.set_index('gene')['n']\nmean = table['n'].mean()\n"
    )
    tests = """
        assert table.shape == (2, 2) and table["n"].dtype == "int64"
        assert counts.equals(pd.Series([2, 1], index=pd.Index(["TP53", "KRAS"], name="gene"), name="n"))
        assert abs(mean - 1.5) < 1e-9, "another mean"
        assert abs(mean - 2.5) < 1e-9, "another mean"
        assert missing == 1
        """
    assert outcomes(box, code, tests) == [None, None, None, "not so: another mean", "NameError: name 'missing' is not defined"]


def test_history_runs_before_the_program_and_its_variables_go_on(box: Box) -> None:
    assert outcomes(box, "n = len(rows)\n", "assert n == 3\nassert rows == [1, 2, 3]\n", "rows = [1, 2, 3]\n") == [None, None]


def test_containers_cross_as_what_they_hold(box: Box) -> None:
    code = """
        import collections, enum
        d = collections.defaultdict(lambda: 0)
        d["TP53"] += 2
        nested = {"A": collections.defaultdict(lambda: collections.defaultdict(int), {"x": {"y": 1}})}
        class Own(dict): pass
        own = Own(a=1)
        span = collections.namedtuple("Span", "low high")(1, 2)
        from scipy import stats
        test = stats.ttest_ind([1, 2, 3], [1, 2, 4])
        """
    tests = """
        assert d == {"TP53": 2} and d["TP53"] == 2 and pd.Series(d).sum() == 2 and set(d) == {"TP53"}
        assert nested["A"]["x"]["y"] == 1 and nested == {"A": {"x": {"y": 1}}}
        assert own == {"a": 1} and type(own) is dict
        assert span == (1, 2) and span.high == 2
        assert d.keys() == {"TP53"} and keys == {"TP53"}
        assert 0.7 < test.pvalue < 0.8 and test[1] == test.pvalue
        """
    assert outcomes(box, code + "keys = d.keys()\n", tests) == [None] * 6


def test_times_with_an_offset_and_odd_texts_stop_no_assertion(box: Box) -> None:
    code = "t = pd.DataFrame({'when': pd.to_datetime(['2020-01-01T00:00:00+02:00']), 'n': [1]})\ns = pd.Series(['a\\ud800', 'b'], dtype=object)\n"
    tests = "assert t['n'].sum() == 1 and t['when'][0].hour == 0\nassert len(s) == 2 and s[0] == 'a\\ud800'\nassert s[1] == s[0], s[0]\n"
    found = outcomes(box, PREPARED + code, tests)
    assert found[:2] == [None, None] and found[2] is not None and found[2].startswith("not so: a")


def test_an_empty_array_is_not_equal_to_one_that_is_not(box: Box) -> None:
    code = PREPARED + "x = np.empty((0, 3))\nnone = np.array([])\nnothing = []\ntable = pd.DataFrame({'a': [1.5, 2.5, 3.5]})[:0]\n"
    tests = """
        assert np.allclose(x, [1, 2, 3])
        assert np.isclose(x, [1, 2, 3]).all() and True
        assert (x == np.array([1, 2, 3])).all()
        assert (abs(x - np.array([1, 2, 3])) < 1e-6).all()
        assert np.allclose(nothing, [1.5]) or np.allclose(none, 5) or np.allclose(5, b=none)
        assert all(x == [1, 2, 3])
        assert (table.values == [[1.5], [2.5], [3.5]][:1]).all()
        np.testing.assert_allclose(none, 5)
        np.testing.assert_array_equal(desired=[5], actual=none)
        assert (lambda value: (value - [1, 2, 3]).sum() == 0)(x)
        assert np.allclose(x, np.empty((0, 3))) and (x == x).all() and (x - x).size == 0 and (x != np.array([1, 2, 3])).size == 0
        assert np.allclose([1, 2], [1, 2 + 1e-9]) and not np.allclose(1, 2) and np.isclose([1, 2], 1).tolist() == [True, False]
        assert (none > 5).sum() == 0 and np.allclose(b=1, a=1) and 1 < 2 < 3 and "a" + "b" == "ab" and [] != [1] and (x is not None) and nothing == []
        """
    found = outcomes(box, code, tests)
    assert None not in found[:10], found
    assert found[10:] == [None] * 3


def test_the_reference_emptied_keeps_its_kinds(box: Box) -> None:
    code = PREPARED + "x = np.arange(6.0).reshape(2, 3)\nlabels = pd.Index([1, 2])\nnames = {'a': 1}\n"
    emptied = changed_variables(code, ("x", "labels", "names"))["all_emptied"]
    tests = "assert x.shape == (0, 3) and x.dtype == 'float64'\nassert len(labels) == 0 and labels.dtype == 'int64'\nassert names == {}\n"
    assert outcomes(box, emptied, tests) == [None] * 3


MODEL = """
class Model:
    def __init__(self):
        self.score_ = 0.75
        self.coefficients_ = np.array([1.0, 2.0])
    def predict(self, x, scale=1):
        return x * scale
    def __len__(self):
        return 4
    def __iter__(self):
        return iter([Part(1), Part(2)])
    def __getitem__(self, key):
        return Part(key)
class Part:
    def __init__(self, size):
        self.size = size
    def get_size(self):
        return self.size
model = Model()
models = {"low": model}
"""


def test_of_objects_the_values_cross_that_the_assertions_look_at(box: Box) -> None:
    tests = """
        assert model.score_ == 0.75
        assert model.coefficients_.sum() == 3 and model.coefficients_[-1] == 2
        assert model.predict(3, scale=2) == 6
        assert len(model) == 4
        assert [part.get_size() for part in model] == [1, 2]
        assert model["a"].size == "a" and model[1:].size == slice(1, None, None)
        assert models["low"].score_ == 0.75
        assert hasattr(model, "score_") and not hasattr(model, "other_")
        assert model.other_ == 1
        assert model == model and model != 0.75
        assert model + 1
        """
    found = outcomes(box, PREPARED + MODEL, tests)
    assert found[:8] == [None] * 8 and found[9] is None
    assert found[8] is not None and found[8].startswith("AttributeError: 'Model' object has no attribute 'other_'")
    assert found[10] is not None and found[10].startswith("TypeError")


def test_isinstance_tells_the_class_of_an_object_that_is_installed(box: Box) -> None:
    code = "import threading\nlock = threading.Event()\nown = type('Event', (), {'__module__': 'threading'})()\n"
    tests = "import threading\nassert isinstance(lock, threading.Event)\nassert isinstance(lock, threading.Thread)\nassert isinstance(lock, str)\n"
    assert outcomes(box, code, tests) == [None, "not so", "not so"]
    assert outcomes(box, "x = 1.5\n", "assert isinstance(x, float)\n") == [None]


def test_figures_cross_as_files_and_as_what_they_say(box: Box) -> None:
    code = """
        import matplotlib.pyplot as plt
        fig, ax = plt.subplots()
        bars = ax.bar(["a", "b"], [1, 3])
        ax.set_title("Counts")
        fig.savefig("counts.png")
        """
    tests = """
        import matplotlib.image
        assert [bar.get_height() for bar in bars] == [1, 3]
        assert ax.get_title() == "Counts" and fig.axes[0].get_title() == "Counts"
        assert matplotlib.image.imread("counts.png").shape[2] == 4
        assert open("other.png").read() == ""
        """
    found = outcomes(box, code, tests)
    assert found[:3] == [None, None, None] and found[3] is not None and found[3].startswith("FileNotFoundError")


def test_what_the_test_cases_compute_from_a_variable_is_computed_apart(box: Box) -> None:
    code = PREPARED + "p = [0.04, 0.01]\nresults = {'BRAF': 0.01, 'KRAS': 0.2}\n"
    tests = """
        ordered = sorted(p)
        assert ordered == [0.01, 0.04]
        series = pd.Series(results)
        assert series.index[series.argmin()] == "BRAF"
        broken = results["TP53"]
        assert True
        """
    assert outcomes(box, code, tests) == [None, None, "KeyError: 'TP53'"]


@pytest.mark.parametrize(
    "tests",
    [
        "def check(x):\n    assert x == 5\ncheck(value)\n",
        "def check(x):\n    assert x == 5\ndef every():\n    check(value)\nassert value\nevery()\n",
        "check = lambda x: np.testing.assert_allclose(x, 5)\ncheck(value)\n",
        "def test_value():\n    assert value == 5\n",
        "def test_value():\n    assert value == 5\ntry:\n    test_value()\nexcept AssertionError:\n    print('wrong')\n",
        "assert value\nnp.testing.assert_allclose(value, 5)\n",
        "np.testing.assert_allclose(value, 5)\nassert value\n",
        "assert value\nfound = {5: 'right'}[value]\n",
        "assert value\nif value != 5:\n    raise ValueError(value)\n",
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        assert value == 5\nT('test_a').debug()\n",
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(value, 5)\n",
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(value, 5)\nunittest.main()\n",
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        assert value == 5\nunittest.main(argv=[''], exit=False)\n",
        "class TestAll:\n    def test_a(self):\n        assert value == 5\n",
    ],
)
def test_whatever_fails_of_the_test_cases_fails_the_run(box: Box, tests: str) -> None:
    wrong, right = "value = 1\n", "value = 5\n"
    assert any(problem is not None for problem in outcomes(box, wrong, tests))
    assert box.reset()
    assert set(outcomes(box, right, tests)) == {None}


def test_a_program_that_fails_leaves_nothing_and_shows_its_own_lines(box: Box) -> None:
    left, _ = run(box, "x = 1\nraise ValueError('here')\n", "assert x == 1", history="y = 2\n")
    assert not left.ran_to_its_end and left.result.exit_status == 1
    assert (
        left.result.stderr
        == "Traceback (most recent call last):\n  File \"<code>\", line 2, in <module>\n    raise ValueError('here')\nValueError: here\n"
    )
    left, _ = run(box, "x = 1\n", "assert x == 1", history="1 / 0\n")
    assert not left.ran_to_its_end and 'File "<history>", line 1' in left.result.stderr


@pytest.mark.parametrize(
    "exit_code",
    ["import sys\nsys.exit(0)", "import os\nos._exit(0)", "raise SystemExit", "exit()", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"],
)
def test_a_program_that_ends_itself_leaves_nothing(box: Box, exit_code: str) -> None:
    left, _ = run(box, f"x = 1\n{exit_code}\n", "assert x == 1")
    assert not left.ran_to_its_end


def test_what_an_earlier_program_left_is_not_taken_for_this_ones(box: Box) -> None:
    first, _ = run(box, "x = 1\n", "assert x == 1")
    assert first.ran_to_its_end
    assert box.shell("ls -a").stdout.split() == [".", ".."]
    second, _ = run(box, "import os\nos._exit(0)\n", "assert x == 1")
    assert not second.ran_to_its_end


TESTS = """
import numpy as np
assert len(table) == 2
assert table["n"].sum() == 3
assert np.isclose(score, 0.5)
assert model.score_ == 0.75
assert isinstance(names, list) and set(names) == {"a", "b"}
"""
REFERENCE = PREPARED + MODEL + "table = pd.DataFrame({'n': [1, 2]})\nscore = 0.5\nnames = ['a', 'b']\n"


def test_the_reference_passes_and_nothing_close_to_it(box: Box) -> None:
    assert outcomes(box, REFERENCE, TESTS) == [None] * 5
    for name, program in changed_variables(REFERENCE, ("table", "score", "model", "names")).items():
        left, cases = run(box, program, TESTS)
        assert left.ran_to_its_end and box.reset()
        assert not all(outcome.holds for outcome in check(box, cases, left)), name


def test_no_cheat_passes(box: Box) -> None:
    played = 0
    for probe in variable_cheats(("table", "score", "model", "names")):
        assert box.reset()
        left, cases = run(box, str(probe.actions[0][1]["code"]), TESTS)
        if left.ran_to_its_end:
            assert box.reset()
            assert not any(outcome.holds for outcome in check(box, cases, left)[:4]), probe.name
            played += 1
    assert played > 15


ATTACKS: dict[str, str] = {
    "a table that says what it likes": """
        class Table(pd.DataFrame):
            shape = (2, 1)
            def __len__(self): return 2
            def __getitem__(self, key): return self
            def sum(self): return 3
        table = Table({"n": [5]})
        class Score(float):
            def __abs__(self): return 0
            def __sub__(self, other): return 0
            __rsub__ = __sub__
        class Names(list):
            def __iter__(self): return iter("ab")
        score, names = Score(7), Names()
        class Model: score_ = Score(0.25)
        model = Model()
        """,
    "a module that is replaced": """
        import sys, types
        fake = types.ModuleType("numpy")
        fake.isclose = lambda *values: True
        sys.modules["numpy"] = np = fake
        table, score, model, names = [1, 2], "close", None, ["a", "b"]
        """,
    "files that the other interpreter might import": """
        for name in ("numpy", "json", "pandas", "sitecustomize", "usercustomize"):
            with open(name + ".py", "w") as stream:
                stream.write("class Yes:\\n def __getattr__(self, name): return lambda *a, **k: True\\nimport sys\\nsys.modules[__name__] = Yes()")
        table, score, model, names = [1, 2], 0, None, ["a", "b"]
        """,
    "values that are written by hand": """
        import os, sys, threading, time
        def forge():
            while True:
                for name in os.listdir("."):
                    if name.startswith(".left_"):
                        with open(name, "wb") as stream:
                            stream.write(b"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02{}")
        threading.Thread(target=forge, daemon=True).start()
        table, score, model, names = [1, 2], 0, None, ["a", "b"]
        """,
    "the assertions' own error": """
        import builtins
        class Never(Exception):
            def __init__(self, *values): raise SystemExit(0)
        builtins.AssertionError = Never
        __debug = False
        table, score, model, names = [1, 2], 0, None, ["a", "b"]
        """,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_changes_nothing(box: Box, name: str) -> None:
    left, cases = run(box, PREPARED + textwrap.dedent(ATTACKS[name]), TESTS)
    assert box.reset()
    found = check(box, cases, left) if left.ran_to_its_end else []
    assert not all(outcome.holds for outcome in found) or not found
    assert not any(outcome.holds for outcome in found[1:4]) and not (name.startswith("a table") and found[0].holds)


def test_no_table_of_the_answers_is_in_the_box_of_the_program(box: Box) -> None:
    """The program's interpreter is told which variables are looked at, and not what is expected of them."""
    code = """
        import gc, sys
        seen = "".join(repr(value) for value in gc.get_objects() if isinstance(value, (str, list, dict, tuple)))
        frame = sys._getframe()
        while frame is not None:
            seen += repr(dict(frame.f_locals))
            frame = frame.f_back
        found = ".".join(["4711", "815"]) in seen
        score = 1
        """
    left, cases = run(box, code, "assert abs(score - 4711.815) < 1\nassert found is False\n")
    assert left.ran_to_its_end and box.reset()
    assert [outcome.holds for outcome in check(box, cases, left)] == [False, True]


def test_methods_of_data_compare_apart_from_the_program(box: Box) -> None:
    code = """
        import gc
        seen = "".join(repr(value) for value in gc.get_objects() if isinstance(value, (str, list, dict, tuple)))
        found = "53".join(["TP", ""]) in seen
        value, names = "KRAS", ["KRAS"]
        """
    tests = "assert value.startswith('TP53')\nassert names.index('TP53') == 0\nassert value.startswith('K')\nassert found is False\n"
    assert outcomes(box, code, tests) == ["not so", "ValueError: 'TP53' is not in list", None, None]


def test_a_thread_an_open_file_and_a_generator_are_told_and_stop_nothing(box: Box) -> None:
    code = """
        import threading, time
        def wait():
            while True:
                time.sleep(0.05)
        threading.Thread(target=wait).start()
        stream = open("notes.txt", "w")
        stream.write("unfinished")
        items = (number for number in range(3))
        n = 3
        """
    left, cases = run(box, code, "assert n == 3\nassert list(items) == [0, 1, 2]\nassert stream.name\n")
    assert (left.ran_to_its_end, left.threads, left.open_files) == (True, 1, 1)
    assert left.left["items"] == ("object", "generator") and left.left["stream"][0] == "object"
    assert box.reset()
    assert [outcome.holds for outcome in check(box, cases, left)] == [True, True, True]


def test_a_large_table_crosses_in_pieces(box: Box) -> None:
    code = PREPARED + "table = pd.DataFrame({'a': np.random.default_rng(0).random(1_500_000), 'b': np.arange(1_500_000)})\n"
    left, cases = run(box, code, "assert table['b'].sum() == 1_500_000 * 1_499_999 // 2\nassert table['a'].between(0, 1).all()\n")
    assert left.left["table"] == ("data", "DataFrame of 1,500,000 x 2") and len(left.values) > 10_000_000
    assert box.reset()
    assert [outcome.problem for outcome in check(box, cases, left)] == [None, None]


def test_what_is_too_large_is_not_taken_and_said_to_be(box: Box) -> None:
    left, _ = run(box, "text = 'x' * 80_000_000\nn = 1\n", "assert n == 1\nassert len(text) == 5\n")
    assert left.ran_to_its_end and left.left["n"] == ("data", "int")
    kind, words = left.left["text"]
    assert kind == "too large" and "67,108," in words


def test_data_that_cannot_be_read_hold_no_assertion(box: Box) -> None:
    cases = TestCases.read("assert x == 1\nassert True\n")
    left, _ = run(box, "x = 1\n", "assert x == 1")
    for values in (b"", b"garbage", b"\0\0\0\0\0\0\0\x02[]"):
        assert box.reset()
        found = check(box, cases, ProgramRun(left.result, True, left.left, values=values))
        assert [outcome.holds for outcome in found] == [False, False]
        assert all(outcome.problem is not None and "cannot be read" in outcome.problem for outcome in found)


def test_a_program_is_run_with_the_seed_of_its_step(box: Box) -> None:
    cases = TestCases.read("assert x > 0")
    drawn: list[Any] = [run_program(box, "", "import random\nx = random.random()\nprint(x)", cases, seed).result.stdout for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
