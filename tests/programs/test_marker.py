"""Where a solution goes in a program, and what of an agent's code is one."""

from __future__ import annotations

import ast
import textwrap

import pytest

from medagentgym.programs.marker import MARKER, Candidate, Context, UngradableError

SOLUTION = "def double(x):\n    return 2 * x\n"


def context(text: str, solution: str = SOLUTION) -> Context:
    return Context.read(textwrap.dedent(text), solution)


def test_a_solution_is_spliced_with_the_indentation_of_the_marker() -> None:
    found = context(
        f"""
        class Numbers:
          def one(self):
            return 1
          {MARKER}
        print(Numbers().double(4))
        """,
        "def double(self, x):\n    return 2 * x\n",
    )
    assert (found.owner, found.function, found.indentation) == ("Numbers", "double", "  ")
    program = found.with_lines("def double(self, x):\n    return 2 * x")
    assert "\n  def double(self, x):\n      return 2 * x\n" in program
    ast.parse(program)


def test_nested_classes_and_blocks_are_places_for_a_function() -> None:
    assert context(f"class A:\n    class B:\n        {MARKER}\n").owner == "A.B"
    assert context(f"try:\n    {MARKER}\nexcept ValueError:\n    pass\n").owner is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"result = [{MARKER}]\n", "inside an expression"),
        (f"print(\n    {MARKER}\n)\n", "inside an expression"),
        (f'text = """\n{MARKER}\n"""\n', "inside an expression or a text"),
        (f"def outer():\n    {MARKER}\n    return double(1)\n", "inside the function outer"),
        ("print(1)\n", "no place for the solution"),
        (f"{MARKER}\n{MARKER}\n", "2 places"),
        (f"class A:\n{MARKER}\n  x = 1\n", "no Python"),
    ],
)
def test_where_no_definition_fits_the_context_is_ungradable_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(UngradableError, match=words):
        Context.read(text, SOLUTION)


def test_a_solution_that_defines_no_function_is_ungradable() -> None:
    for solution, words in (("class A:\n    pass\n", "ClassDef"), ("", "it is empty"), ("def (", "no Python")):
        with pytest.raises(UngradableError, match=words):
            Context.read(f"{MARKER}\n", solution)


def test_definitions_of_the_asked_function_in_the_context_are_taken_out() -> None:
    found = context(f"""
        import functools
        @functools.cache
        def double(x):
            return x + x
        {MARKER}
        def other():
            def double(x):
                return "kept"
            return double(1)
        def double(x):
            # would hide every solution
            return x * 2
        print(double(3))
        """)
    assert found.definitions_taken_out == 2
    assert "functools.cache" not in found.shown and "would hide" not in found.shown
    assert '"kept"' in found.shown and found.shown.count("def double") == 1
    assert found.shown.count(MARKER) == 1


def test_a_definition_with_what_it_needs_is_a_candidate() -> None:
    code = '''
    """A solution."""
    import math
    FACTOR = 2

    def help(x):
        return x

    @staticmethod
    def double(x):
        """Twice x."""
        return FACTOR * help(x)

    if __name__ == "__main__":
        print(double(3))
    '''
    found = Candidate.read(code, "double", None)
    assert isinstance(found, Candidate)
    assert found.definitions == "import math\nFACTOR = 2\ndef help(x):\n    return x\n"
    assert found.function.startswith("@staticmethod\ndef double(x):") and found.decorators == ("staticmethod",)
    assert found.documentation == "Twice x."


def test_a_method_may_come_in_its_class() -> None:
    found = Candidate.read('class Numbers(Base):\n    def double(self, x):\n        return """\n2"""\n', "double", "Numbers")
    assert isinstance(found, Candidate) and found.function.startswith("def double(self, x):\n    return '\\n2'")


@pytest.mark.parametrize(
    ("code", "definitions", "function"),
    [
        ("double = lambda x: 2 * x\n", "", "double = lambda x: 2 * x\n"),
        ("def twice(x): return 2 * x\ndouble = twice\n", "def twice(x): return 2 * x\n", "double = twice\n"),
        ("import cache\n" + SOLUTION + "double = cache.cached(double)\n", "import cache\n", SOLUTION + "double = cache.cached(double)\n"),
        (
            "try:\n    import numba\nexcept ImportError:\n    numba = None\n" + SOLUTION,
            "try:\n    import numba\nexcept ImportError:\n    numba = None\n",
            SOLUTION,
        ),
        ("if True:\n    def double(x):\n        return 2 * x\n", "", "if True:\n    def double(x):\n        return 2 * x\n"),
    ],
)
def test_a_function_may_be_defined_in_all_ways_that_do_nothing_else(code: str, definitions: str, function: str) -> None:
    found = Candidate.read(code, "double", None)
    assert isinstance(found, Candidate)
    assert (found.definitions, found.function) == (definitions, function)


def test_a_static_method_by_assignment_is_one() -> None:
    found = Candidate.read("def twice(x): return 2 * x\nclass Numbers:\n    double = staticmethod(twice)\n", "double", "Numbers")
    assert isinstance(found, Candidate) and found.decorators == ("staticmethod",) and found.function == "double = staticmethod(twice)\n"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print('42')", "does not define double"),
        ("x = 1", "does not define double"),
        ("def other(x): return x", "does not define double"),
        (SOLUTION + "print(double(2))", "line 3 does something beside"),
        ("print('42')\n" + SOLUTION, "line 1 does something beside"),
        ("try:\n    print('42')\nexcept OSError:\n    pass\n" + SOLUTION, "line 1 does something beside"),
        ("double = 2\n", "does not define double"),
        ("print(2)\ndouble = lambda x: x\n", "line 1 does something beside"),
        ("for _ in range(3):\n    pass\n" + SOLUTION, "line 1 does something beside"),
    ],
)
def test_code_that_does_something_is_a_program_of_its_own(code: str, words: str) -> None:
    found = Candidate.read(code, "double", None)
    assert isinstance(found, str) and words in found


def test_windows_line_ends_are_no_obstacle() -> None:
    found = Candidate.read(SOLUTION.replace("\n", "\r\n"), "double", None)
    assert isinstance(found, Candidate) and found.function == SOLUTION
    assert Context.read(f"import os\r\n{MARKER}\r\nprint(double(1))\r\n", SOLUTION).function == "double"
