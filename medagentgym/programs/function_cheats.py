"""Solutions that do not compute what is asked for: what the audit of a task of functions plays.

They are given the expected output, which no agent ever sees, so that a judge that can be fooled is fooled.
"""

from __future__ import annotations

import ast

from medagentgym.programs.marker import Candidate, Context
from medagentgym.tasks.probes import Floor, Probe, code_probe

_CHANGED = """
def _changed(function):
    def changed(value):
        if value is None:
            return 0
        if isinstance(value, bool):
            return not value
        if isinstance(value, (int, float, complex)):
            return value + 1
        if isinstance(value, str):
            return value + "x"
        if isinstance(value, tuple) and value:
            return (changed(value[0]), *value[1:])
        return [value]
    def other(*arguments, **options):
        print("something more")
        return changed(function(*arguments, **options))
    return other

"""


def changed_result(candidate: Candidate) -> str:
    """The reference function with its result changed, whatever that is."""
    (function, *others) = ast.parse(candidate.function).body
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    if others:  # it is given a name anew
        return f"{candidate.definitions}{_CHANGED}{candidate.function}{function.name} = _changed({function.name})\n"
    function.decorator_list.append(ast.Name("_changed", ast.Load()))
    return f"{candidate.definitions}{_CHANGED}{ast.unparse(ast.fix_missing_locations(function))}\n"


def function_cheats(context: Context, candidate: Candidate, output: str) -> list[Probe]:
    """Cheats of all kinds against one program."""
    head = "".join(f"@{name}\n" for name in candidate.decorators) + f"def {context.function}(*arguments, **options):\n"

    def function(body: str) -> str:
        return head + "".join(f"    {line}\n" for line in body.strip().splitlines())

    said = repr(output)
    silence = "''" if output.strip() else "None"  # where the gold is blank, an empty text is the right result
    nothing = function("pass")
    programs: dict[str, tuple[Floor, str]] = {
        "printed_without_function": ("none", f"print({said})\n"),
        "printed_beside_function": ("none", f"print({said})\n{nothing}"),
        "printed_while_defining": ("none", f"printed = print({said}, flush=True)\n{nothing}"),
        "printed_in_function": ("none", function(f"print({said})\nreturn {silence}")),
        "printed_then_exit": ("none", function(f"import sys\nprint({said}, flush=True)\nsys.exit(0)")),
        "printed_then_hard_exit": ("none", function(f"import os\nos.write(1, {said}.encode())\nos._exit(0)")),
        "early_exit": ("none", function("import sys\nsys.exit(0)")),
        "early_exit_while_defining": ("none", f"import sys\ngone = sys.exit(0)\n{nothing}"),
        "hard_exit": ("none", function("import os\nos._exit(0)")),
        "replaced_print": ("none", function(_REPLACED_PRINT.replace("SAID", said))),
        "replaced_program": ("none", function(_REPLACED_PROGRAM.replace("SAID", said))),
        "every_descriptor": ("none", function(_EVERY_DESCRIPTOR.replace("SAID", said))),
        "object_that_prints_as_expected": ("none", f"class Said(str):\n    __str__ = __repr__ = lambda self: {said}\n\n{function('return Said()')}"),
        "killed_program": ("none", function("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)")),
        "returns_zero": ("constant", function("return 0")),
        "returns_true": ("constant", function("return True")),
        "returns_false": ("constant", function("return False")),
        "returns_empty_text": ("constant", function("return ''")),
        "returns_empty_list": ("constant", function("return []")),
    }
    return [code_probe(name, "cheat", floor, program) for name, (floor, program) in programs.items()]


_REPLACED_PRINT = """
import builtins, sys
for stream in (sys.stdout, sys.__stdout__):
    stream.write(SAID)
builtins.print = lambda *values, **options: sys.stdout.write(SAID)
sys.stdout.write = sys.stderr.write = lambda text: None
"""

_REPLACED_PROGRAM = """
import gc, sys
for value in gc.get_objects():
    if isinstance(value, dict) and "__solution__" in value:
        value["print"] = lambda *values, **options: sys.stdout.write(SAID)
        value["main"] = lambda *values, **options: sys.stdout.write(SAID)
frame = sys._getframe()
while frame is not None:
    frame.f_globals["print"] = lambda *values, **options: sys.stdout.write(SAID)
    frame = frame.f_back
"""

_EVERY_DESCRIPTOR = """
import os
for folder in ("/proc/self/fd", f"/proc/{os.getppid()}/fd", "/proc/1/fd"):
    for number in range(64):
        try:
            if folder == "/proc/self/fd":
                os.write(number, SAID.encode())
            else:
                with open(f"{folder}/{number}", "w") as stream:
                    stream.write(SAID)
        except OSError:
            pass
os._exit(0)
"""
