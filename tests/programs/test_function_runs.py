"""A function in a program: what it may do, and that nothing but its results reaches the program."""

from __future__ import annotations

import textwrap

import pytest

from medagentgym.programs.function_cheats import changed_result, function_cheats
from medagentgym.programs.function_runs import FunctionRun, run_function
from medagentgym.programs.marker import MARKER, Candidate, Context
from medagentgym.sandbox import Box

ASKED = "def f(*arguments):\n    pass\n"


def run(box: Box, program: str, code: str) -> FunctionRun:
    context = Context.read(textwrap.dedent(program), ASKED)
    candidate = Candidate.read(textwrap.dedent(code), context.function, context.owner)
    assert isinstance(candidate, Candidate)
    return run_function(box, context, candidate)


def output(box: Box, program: str, code: str) -> str:
    result = run(box, program, code)
    assert result.problem is None, (result.problem, result.result.stderr)
    return result.result.stdout


def problem(box: Box, program: str, code: str) -> str:
    result = run(box, program, code)
    assert result.problem is not None and result.result.exit_status != 0
    return result.problem


def test_results_of_all_kinds_come_back_as_the_program_expects_them(box: Box) -> None:
    program = f"""
        import numpy as np
        import pandas as pd
        {MARKER}
        for kind in ("number", "array", "table", "nothing", "pair"):
            print(type(f(kind)).__name__, f(kind), sep="\\n")
        """
    code = """
        def f(kind):
            table = pd.DataFrame({"gene": ["TP53", "KRAS"], "n": [2, 1]})
            return {"number": 0.1 + 0.2, "array": np.eye(2), "table": table, "nothing": None, "pair": (1, {"x": {3, 1}})}[kind]
        """
    expected = "float\n0.30000000000000004\nndarray\n[[1. 0.]\n [0. 1.]]\nDataFrame\n   gene  n\n0  TP53  2\n1  KRAS  1\nNoneType\nNone\ntuple\n"
    assert output(box, program, code) == expected + "(1, {'x': {1, 3}})\n"


def test_what_the_function_changes_is_changed_for_the_program(box: Box) -> None:
    program = f"""
        import random
        import numpy as np
        COUNT = 0
        class Reads:
            def __init__(self):
                self.names = []
                self.last = None
            {MARKER}
        reads, found, array, kept = Reads(), [], np.zeros(2), {{"a": 1}}
        random.seed(1)
        print(reads.f(found, array, kept) is reads, reads.names, reads.last, found, array, kept, COUNT)
        print(random.random())
        """
    code = """
        def f(self, found, array, kept):
            global COUNT
            COUNT += 1
            self.names.append("r1")
            self.last = random.random()
            found.extend([1, 2])
            array[0] = 5
            kept.pop("a")
            return self
        """
    drawn = "True ['r1'] 0.13436424411240122 [1, 2] [5. 0.] {} 1\n0.8474337369372327\n"
    assert output(box, program, code) == drawn


def test_methods_find_their_class_as_if_they_stood_in_it(box: Box) -> None:
    program = f"""
        class Base:
            def name(self):
                return "base"
        class Derived(Base):
            WIDTH = 3
            __secret = 7
            def name(self):
                return "derived"
            {MARKER}
        print(Derived().f)
        """
    code = '''
        @property
        def f(self, width=WIDTH):
            """Text
        of two lines."""
            return super().name(), width, self.__secret
        '''
    assert output(box, program, code) == "('base', 3, 7)\n"


@pytest.mark.parametrize(
    "code",
    [
        "import collections\ndef f(text):\n    d = collections.defaultdict(lambda: 0)\n    for c in text: d[c] += 1\n    return d\n",
        "class Counts(dict):\n    def __missing__(self, key): return 0\ndef f(text):\n    d = Counts()\n    for c in text: d[c] += 1\n    return d\n",
    ],
)
def test_a_dictionary_of_the_solution_s_own_kind_is_a_dictionary(box: Box, code: str) -> None:
    program = f"{MARKER}\nd = f('aab')\nfor key in sorted(d):\n    print(key, d[key])\nprint(d)\n"
    assert output(box, program, code) == "a 2\nb 1\n{'a': 2, 'b': 1}\n"


def test_a_named_tuple_of_the_solution_or_of_the_program_keeps_its_names(box: Box) -> None:
    program = f"import collections\nSpan = collections.namedtuple('Span', 'low high')\n{MARKER}\n"
    program += "found = f(3)\nlow, high = found\nprint(low, high, found.high, isinstance(found, Span), found)\n"
    assert output(box, program, "def f(n):\n    return Span(n, n + 1)\n") == "3 4 4 True Span(low=3, high=4)\n"
    own = "import collections\nPair = collections.namedtuple('Pair', 'low high')\ndef f(n):\n    return Pair(n, n + 1)\n"
    assert output(box, program, own) == "3 4 4 False Pair(low=3, high=4)\n"


def test_containers_of_the_program_are_filled_in_place_and_keep_their_kind(box: Box) -> None:
    program = f"""
        import collections
        class Genes(list):
            def longest(self): return max(self, key=len)
        class Reads:
            def __init__(self):
                self.counts, self.genes = collections.defaultdict(lambda: 5), Genes(["A"])
        counts, seen, order = collections.defaultdict(list), collections.Counter(), collections.deque(maxlen=2)
        reads = Reads()
        {MARKER}
        f(reads, counts, seen, order)
        print(reads.counts["a"], reads.counts["new"], reads.genes.longest())
        print(counts["b"], counts["new"], seen, order)
        """
    code = """
        def f(reads, counts, seen, order):
            reads.counts["a"] = 1
            reads.genes.append("TP53")
            counts["b"].append(2)
            seen.update("cc")
            order.extend([1, 2, 3])
        """
    assert output(box, program, code) == "1 5 TP53\n[2] [] Counter({'c': 2}) deque([2, 3], maxlen=2)\n"


def test_a_decorator_of_the_program_and_recursion_work(box: Box) -> None:
    program = f"""
        def twice(function):
            return lambda *values: function(function(*values))
        {MARKER}
        print(f(3))
        """
    assert output(box, program, "@twice\ndef f(n):\n    return n + 1\n") == "5\n"
    assert output(box, program, "def f(n):\n    return 1 if n == 0 else n * f(n - 1)\n") == "6\n"


@pytest.mark.parametrize(
    "code",
    [
        "f = lambda n: (n, n + 1)\n",
        "def g(n):\n    return n, n + 1\nf = g\n",
        "import functools\ndef f(n):\n    return n, n + 1\nf = functools.cache(f)\n",
        "try:\n    import no_such_module\nexcept ImportError:\n    no_such_module = None\ndef f(n):\n    return n, n + 1\n",
        "try:\n    from no_such_module import f\nexcept ImportError:\n    def f(n):\n        return n, n + 1\n",
        "from __future__ import annotations\ndef f(n: Missing) -> Missing:\n    return n, n + 1\n",
    ],
)
def test_a_function_is_called_however_it_is_defined(box: Box, code: str) -> None:
    assert output(box, f"{MARKER}\nlow, high = f(3)\nprint(low, high)\n", code) == "3 4\n"


def test_a_method_is_called_however_it_is_defined(box: Box) -> None:
    program = f"class A:\n    factor = 3\n    {MARKER}\n    def g(self, n):\n        return self.f(n)\nprint(A().g(2))\n"
    for code in (
        "f = lambda self, n: self.factor * n\n",
        "def h(self, n):\n    return self.factor * n\nf = h\n",
        "import functools\ndef f(self, n):\n    return self.factor * n\nf = functools.wraps(f)(f)\n",
        "from __future__ import annotations\ndef f(self: A, n: Missing) -> Missing:\n    return self.factor * n\n",
    ):
        assert box.reset()
        assert output(box, program, code) == "6\n", code
    program = f"class A:\n    {MARKER}\nprint(A.f(2), A().f(3))\n"
    assert output(box, program, "def h(n):\n    return 2 * n\nf = staticmethod(h)\n") == "4 6\n"


def test_a_generator_gives_its_items(box: Box) -> None:
    program = f"{MARKER}\nprint(list(f(3)), next(f(9)))\n"
    assert output(box, program, "def f(n):\n    yield from range(n)\n") == "[0, 1, 2] 0\n"


def test_an_error_of_the_function_reaches_the_program(box: Box) -> None:
    program = f"{MARKER}\ntry:\n    f(1)\nexcept ValueError as error:\n    print('refused:', error)\nf(2)\n"
    result = run(box, program, "def f(n):\n    raise ValueError(f'no {n}')\n")
    assert result.result.stdout == "refused: no 1\n"
    assert result.problem == "the program failed: ValueError: no 2"
    assert 'File "<solution>", line 2, in f' in result.result.stderr and "medagentgym" not in result.result.stderr


def test_what_the_function_prints_is_told_apart(box: Box) -> None:
    result = run(box, f"{MARKER}\nprint('program')\nf()\nprint('again')\n", "x = print('defining')\ndef f():\n    print('function')\n")
    assert (result.result.stdout, result.printed, result.calls) == ("program\nagain\n", "function\n", 1)


def test_objects_that_are_no_data_are_refused_in_words(box: Box) -> None:
    program = f"{MARKER}\nprint(f())\n"
    assert "a __main__.Thing, which is no data" in problem(box, program, "class Thing: pass\ndef f():\n    return Thing()\n")
    assert problem(box, program, "import threading\ndef f():\n    return threading.Lock()\n").endswith("which is no data")
    assert "more than 33,554,432 bytes" in problem(box, program, "def f():\n    return bytes(40_000_000)\n")


PROGRAM = f"""
secret = [3, 1, 2]
{MARKER}
def main():
    print("sorted:", f(secret))
    print("largest:", max(f(secret)))
if __name__ == "__main__":
    main()
"""
RIGHT = "def f(values):\n    return sorted(values)\n"
GOLD = "sorted: [1, 2, 3]\nlargest: 3\n"


def test_the_reference_prints_the_gold(box: Box) -> None:
    assert output(box, PROGRAM, RIGHT) == GOLD


def test_no_cheat_makes_the_program_print_the_gold(box: Box) -> None:
    context = Context.read(PROGRAM, RIGHT)
    candidate = Candidate.read(RIGHT, "f", None)
    assert isinstance(candidate, Candidate)
    played = 0
    for probe in function_cheats(context, candidate, GOLD):
        cheat = Candidate.read(str(probe.actions[0][1]["code"]), "f", None)
        if isinstance(cheat, Candidate):
            result = run_function(box, context, cheat)
            assert result.result.stdout != GOLD or result.problem is not None, probe.name
            assert box.reset()
            played += 1
    assert played > 12
    changed = Candidate.read(changed_result(candidate), "f", None)
    assert isinstance(changed, Candidate) and run_function(box, context, changed).result.stdout != GOLD


ATTACKS = {
    "patches everything it can reach": """
        import builtins, gc, sys, io
        def f(values):
            for thing in gc.get_objects():
                if isinstance(thing, dict) and "print" in thing:
                    thing["print"] = lambda *a, **k: None
                if type(thing).__name__ == "Session":
                    thing.program = thing.printed = GOLD
            builtins.print = builtins.max = builtins.sorted = lambda *a, **k: "patched"
            sys.stdout = io.StringIO()
            return []
        """,
    "leaves a process that goes on writing": """
        import os, time
        def f(values):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    while True:
                        for number in range(20):
                            try:
                                os.write(number, GOLD.encode())
                            except OSError:
                                pass
            return []
        """,
    "writes into the memory that it shares": """
        import ctypes, os, re
        def f(values):
            with open("/proc/self/maps") as stream:
                areas = [line.split()[0].split("-") for line in stream if re.match(r"\\\\S+ rw-s", line)]
            if os.fork() == 0:
                os.setsid()
                while True:
                    for begin, end in areas:
                        ctypes.memset(int(begin, 16), 1, min(64, int(end, 16) - int(begin, 16)))
            return []
        """,
    "opens the memory and the output of its parent": """
        import os
        def f(values):
            for name in ("mem", "fd/1", "fd/2"):
                try:
                    with open(f"/proc/{os.getppid()}/{name}", "wb", buffering=0) as stream:
                        stream.write(GOLD.encode())
                except OSError:
                    pass
            return []
        """,
    "puts modules where the program could import them": """
        import os
        def f(values):
            os.makedirs(".packages", exist_ok=True)
            for folder in (".", ".packages"):
                for name in ("json", "traceback", "random", "sitecustomize"):
                    with open(f"{folder}/{name}.py", "w") as stream:
                        stream.write("import os\\\\nos.write(1, " + repr(GOLD) + ".encode())\\\\nos._exit(0)\\\\n")
            return []
        """,
    "sends a result of its own making": """
        import os
        def f(values):
            for number in range(3, 20):
                try:
                    os.write(number, b"\\\\x00" * 8 + b'{"value": {"t": "instance", "v": "os.system"}}')
                except OSError:
                    pass
            os._exit(0)
        """,
    "stops its parent": "import os, signal\ndef f(values):\n    os.kill(os.getppid(), signal.SIGTERM)\n    return []\n",
    "raises an exit that nothing catches": "def f(values):\n    raise SystemExit(0)\n",
    "says that it is an interrupt": "def f(values):\n    raise KeyboardInterrupt\n",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_that_knows_the_gold_does_not_make_the_program_print_it(box: Box, name: str) -> None:
    code = textwrap.dedent(ATTACKS[name].replace("\\\\", "\\"))
    result = run(box, PROGRAM, f"GOLD = {GOLD!r}\n{code}")
    assert result.result.stdout != GOLD
    assert result.problem is not None or result.result.stdout.startswith("sorted: []")


def test_the_seed_of_a_run_is_always_the_same(box: Box) -> None:
    program = f"import random\nimport numpy\n{MARKER}\nprint(random.random(), numpy.random.random(), f())\n"
    code = "def f():\n    return random.random()\n"
    first = output(box, program, code)
    assert box.reset()
    assert output(box, program, code) == first


def test_limits_are_told(box: Box) -> None:
    program = f"{MARKER}\nprint(f())\n"
    assert "printed more than 1,048,576 bytes" in problem(box, program, "def f():\n    print('x' * 1000, sep='', *['y' * 10_000_000])\n")


@pytest.mark.slow
def test_a_function_that_never_ends_is_stopped_by_the_limits_of_the_box(box: Box) -> None:
    assert "seconds" in problem(box, f"{MARKER}\nprint(f())\n", "def f():\n    while True: pass\n")
