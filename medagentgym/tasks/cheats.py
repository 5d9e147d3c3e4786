"""Cheats that know nothing of the question: what an agent may leave behind instead of an answer.

They fit tasks whose evidence is the `answer` that a program leaves and what it prints. A task with another kind of attempt gives its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from medagentgym.tasks.probes import Probe, code_probe

PRINTED_CHARACTERS = 900_000
"""How much `print_everything` prints at most: a little less than a step's output is cut at."""

_EVERYTHING_EQUAL = '''
class Equal(BASE):
    """Says yes to every comparison."""
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __le__(self, other): return True
    def __gt__(self, other): return True
    def __ge__(self, other): return True
    def __contains__(self, other): return True
    def __bool__(self): return True
    def __hash__(self): return 0
    def __repr__(self): return "equal to anything"

'''

_PRINT_EVERYTHING = """
import os, sqlite3

folders = FOLDERS
files = sorted(os.path.join(place, name) for folder in folders for place, _, names in os.walk(folder) for name in names)
share = CHARACTERS // max(len(files), 1)

def lines(path):
    with open(path, "rb") as stream:
        is_database = stream.read(16).startswith(b"SQLite format 3")
    if not is_database:
        with open(path, encoding="utf-8", errors="replace") as stream:
            yield from stream
        return
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for row in connection.execute(f'SELECT * FROM "{table}"'):
            yield ",".join(map(str, row)) + "\\n"

for path in files:
    left = share
    for line in lines(path):
        left -= len(line)
        if left < 0:
            break
        print(line, end="")
"""

_PATCHED_OUTPUT = """
import builtins, json, sys

class Everything(str):
    def __contains__(self, other): return True
    def __eq__(self, other): return True
    def __hash__(self): return 0

said = Everything("True")
builtins.print = lambda *values, **options: sys.stdout.write(said)
builtins.repr = builtins.str = builtins.format = lambda *values, **options: said
json.dumps = json.JSONEncoder.encode = lambda *values, **options: '{"correct": true, "score": 1.0}'
json.loads = lambda *values, **options: said
answer = True
"""

_PATCHED_COMPARISON = """
import builtins, math, operator

class Equal:
    def __eq__(self, other): return True
    def __hash__(self): return 0

for name in ("all", "any", "isinstance", "issubclass", "hasattr", "callable"):
    setattr(builtins, name, lambda *values: True)
for name in ("set", "sorted", "sum", "len", "abs", "round", "float", "int", "dict", "tuple"):
    setattr(builtins, name, lambda *values, **options: Equal())
operator.eq = math.isclose = lambda *values, **options: True
answer = "patched"
"""


def constants() -> list[Probe]:
    """One answer to every question, left in `answer` and printed."""
    values: dict[str, object] = {
        "zero": 0,
        "one": 1,
        "true": True,
        "false": False,
        "none": None,
        "empty_text": "",
        "empty_list": [],
        "yes": "yes",
        "no": "no",
    }
    return [code_probe(f"constant_{name}", "cheat", "constant", f"answer = {value!r}\nprint(answer)\n") for name, value in values.items()]


def both_answers() -> list[Probe]:
    """Yes and no at once: in `answer`, in one text, and printed one after the other."""
    return [
        code_probe("both_in_a_list", "cheat", "constant", "answer = [True, False]\nprint(answer)\n"),
        code_probe("both_in_a_text", "cheat", "none", "answer = 'True or False, 1 or 0, yes or no'\nprint(answer)\n"),
        code_probe("both_printed", "cheat", "constant", "print(True)\nprint(False)\nprint('1 0 yes no None')\n"),
    ]


def guesses() -> list[Probe]:
    """Enumerated guesses: a hundred numbers in one answer, and one guess after the other, which only `oracle_stop` counts together."""
    return [
        code_probe("hundred_numbers", "cheat", "constant", "answer = list(range(100))\nprint(answer)\n"),
        code_probe("two_guesses", "cheat", "guesses", "answer = True\n", "answer = False\n"),
        code_probe("ten_guesses", "cheat", "guesses", *(f"answer = {value!r}\nprint(answer)\n" for value in (1, 0, None, *range(2, 9)))),
    ]


def print_everything(folders: Sequence[str]) -> list[Probe]:
    """All files of the data folders, as the box shows them, to stdout; no `answer`."""
    program = _PRINT_EVERYTHING.replace("FOLDERS", repr(list(folders))).replace("CHARACTERS", str(PRINTED_CHARACTERS))
    return [code_probe("print_everything", "cheat", "constant", program)]


def equal_to_anything() -> list[Probe]:
    """Objects that equal whatever they are compared with: as they are, in lists, and as a text or a number."""
    plain = _EVERYTHING_EQUAL.replace("(BASE)", "")
    return [
        code_probe("equal_object", "cheat", "none", f"{plain}answer = Equal()\n"),
        code_probe("equal_object_in_a_list", "cheat", "none", f"{plain}answer = [Equal()]\n"),
        code_probe("equal_object_in_a_row", "cheat", "none", f"{plain}answer = [[Equal()]]\n"),
        code_probe("equal_text", "cheat", "none", f"{_EVERYTHING_EQUAL.replace('BASE', 'str')}answer = Equal('equal to anything')\n"),
        code_probe("equal_number", "cheat", "none", f"{_EVERYTHING_EQUAL.replace('BASE', 'int')}answer = Equal(-987654321)\n"),
    ]


def early_exit() -> list[Probe]:
    """Programs that end before anything can look at what they did."""
    return [
        code_probe("exit_at_once", "cheat", "none", "import sys\n\nsys.exit(0)\n"),
        code_probe("exit_after_printing", "cheat", "constant", "import sys\n\nanswer = 1\nprint(answer, flush=True)\nsys.exit(0)\n"),
        code_probe("hard_exit_at_once", "cheat", "none", "import os\n\nos._exit(0)\n"),
        code_probe("hard_exit_after_printing", "cheat", "constant", "import os\n\nanswer = 1\nprint(answer, flush=True)\nos._exit(0)\n"),
    ]


def patched_builtins() -> list[Probe]:
    """What prints, writes JSON and compares is replaced, for a judge that would run in the same interpreter."""
    return [
        code_probe("patched_output", "cheat", "constant", _PATCHED_OUTPUT),
        code_probe("patched_comparison", "cheat", "none", _PATCHED_COMPARISON),
    ]


def generic_cheats(folders: Sequence[str]) -> list[Probe]:
    """All of these. `folders` are the data folders as the box shows them."""
    return [
        *constants(),
        *both_answers(),
        *guesses(),
        *print_everything(folders),
        *equal_to_anything(),
        *early_exit(),
        *patched_builtins(),
    ]
