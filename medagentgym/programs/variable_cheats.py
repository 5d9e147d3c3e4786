"""Programs that leave what is asked for only by name: what the audit of a task of variables plays."""

from __future__ import annotations

from collections.abc import Sequence

from medagentgym.tasks.probes import Floor, Probe, code_probe

_CHANGED = """
def _changed(value):
    import numpy, pandas
    if isinstance(value, pandas.DataFrame):
        numbers = value.apply(lambda column: column * 2 + 1 if column.dtype.kind in "iuf" else column)
        return pandas.concat([numbers, numbers.head(1)]).rename(columns=lambda name: f"{name} changed")
    if isinstance(value, pandas.Series):
        numbers = value * 2 + 1 if value.dtype.kind in "iuf" else value.astype(str) + " changed"
        return pandas.concat([numbers, numbers.head(1)])
    if isinstance(value, (bool, numpy.bool_)):
        return not value
    if isinstance(value, (int, float, numpy.number)):
        return value * 2 + 1
    if isinstance(value, str):
        return value + " changed"
    if isinstance(value, dict):
        return {f"{key} changed": _changed(held) for key, held in value.items()}
    if isinstance(value, (list, tuple, numpy.ndarray)):
        return [_changed(held) for held in value] + [None]
    return None

"""

_EMPTIED = """
def _emptied(value):
    import numpy, pandas
    if hasattr(value, "iloc"):
        return value.iloc[:0]
    if isinstance(value, pandas.Index) or isinstance(value, numpy.ndarray) and value.ndim:
        return value[:0]
    if isinstance(value, dict):
        return {}
    return type(value)() if type(value) in (list, tuple, set, frozenset, str, bytes) else None

"""

_EQUAL = """
class Equal(BASE):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __le__(self, other): return True
    def __gt__(self, other): return True
    def __ge__(self, other): return True
    def __contains__(self, other): return True
    def __len__(self): return 0
    def __bool__(self): return True
    def __hash__(self): return 0
    def __abs__(self): return self
    def __add__(self, other): return self
    def __iter__(self): return iter([])
    __radd__ = __sub__ = __rsub__ = __mul__ = __truediv__ = __round__ = __getitem__ = __add__
"""
_EQUAL_THROUGHOUT = (
    _EQUAL.replace("(BASE)", "")
    + """    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self
    def __call__(self, *arguments, **options): return self

"""
)

_PATCHED = """
import builtins, math, operator, sys, types
import numpy, pandas

class Yes:
    def __eq__(self, other): return True
    def __hash__(self): return 0

for name in ("all", "any", "abs", "round", "sum"):
    setattr(builtins, name, lambda *values, **options: Yes())
builtins.AssertionError = type("AssertionError", (Exception,), {"__init__": lambda self, *values: None})
for kind in (pandas.DataFrame, pandas.Series):
    kind.__eq__ = kind.equals = lambda self, other: True
numpy.isclose = numpy.allclose = math.isclose = operator.eq = lambda *values, **options: True
pandas.testing.assert_frame_equal = pandas.testing.assert_series_equal = lambda *values, **options: None
"""

_TAKEN_OVER = """
import json, sys
def _yes(*values, **options): return b"yes"
for module in [module for name, module in list(sys.modules.items()) if name.startswith("medagentgym")]:
    for name in list(vars(module)):
        if callable(getattr(module, name, None)) and not name.startswith("__"):
            try:
                setattr(module, name, _yes)
            except Exception:
                pass
json.dumps = lambda *values, **options: '{"variables": {}, "blobs": [], "assertions": [{"holds": true}]}'
"""


def changed_variables(solution: str, variables: Sequence[str]) -> dict[str, str]:
    """A reference program with what it leaves changed, made empty, or partly taken away."""

    def each(function: str) -> str:
        return "".join(f"{name} = {function}({name})\n" for name in variables)

    return {
        "all_changed": f"{solution}\n{_CHANGED}{each('_changed')}",
        "all_emptied": f"{solution}\n{_EMPTIED}{each('_emptied')}",
        "all_none": f"{solution}\n" + "".join(f"{name} = None\n" for name in variables),
        "one_missing": f"{solution}\ndel {variables[-1]}\n",
    }


def variable_cheats(variables: Sequence[str]) -> list[Probe]:
    """Cheats of all kinds. None of them reads a table."""

    def left(value: str) -> str:
        return "".join(f"{name} = {value}\n" for name in variables)

    equal = _EQUAL.replace("(BASE)", "")
    programs: dict[str, tuple[Floor, str]] = {
        "equal_object": ("none", f"{equal}\n{left('Equal()')}"),
        "equal_throughout": ("none", f"{_EQUAL_THROUGHOUT}{left('Equal()')}"),
        "equal_number": ("none", f"{_EQUAL.replace('BASE', 'float')}\n{left('Equal(0.123456789)')}"),
        "equal_text": ("none", f"{_EQUAL.replace('BASE', 'str')}\n{left(repr('x'))}{left('Equal(0)')}"),
        "patched_builtins": ("none", f"{left('1')}{_PATCHED}"),
        "taken_over_harness": ("none", f"{left('1')}{_TAKEN_OVER}"),
        "early_exit": ("none", f"{left('1')}import sys\nsys.exit(0)\n"),
        "hard_exit": ("none", f"{left('1')}import os\nos._exit(0)\n"),
        "exit_at_the_end": ("none", f"{left('1')}import atexit, os\natexit.register(os._exit, 0)\n"),
        "swallowed_exception": ("none", f"try:\n    raise ValueError\nexcept Exception:\n    pass\n{left('None')}"),
        "redefined_assertions": ("none", f"def check(*values): return True\nassert_equal = test = check\n__debug = False\n{left('None')}"),
        "generator": ("none", left("(number for number in range(3))")),
        "nothing": ("none", "print('all assertions hold')\n"),
        "zero": ("constant", left("0")),
        "one": ("constant", left("1")),
        "true": ("constant", left("True")),
        "not_a_number": ("none", left("float('nan')")),
        "infinity": ("none", left("float('inf')")),
        "empty_text": ("constant", left("''")),
        "empty_list": ("constant", left("[]")),
        "empty_frame": ("constant", "import pandas\n" + left("pandas.DataFrame()")),
        "fresh_model": ("none", "import lifelines\n" + left("lifelines.KaplanMeierFitter()")),
        "fresh_figure": ("none", "import matplotlib.pyplot as plt\n" + left("plt.figure()")),
    }
    return [code_probe(name, "cheat", floor, program) for name, (floor, program) in programs.items()]
