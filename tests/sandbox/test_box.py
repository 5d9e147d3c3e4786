"""A step's result is complete and its own, whatever the code does."""

from __future__ import annotations

import dataclasses
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from medagentgym.errors import InfrastructureError, UserError
from medagentgym.sandbox import Backend, Box, BoxSpec


def test_the_answer_and_the_output_come_back(box: Box) -> None:
    result = box.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\nanswer = [1, 'two']")
    assert (result.stdout, result.stderr, result.exit_status) == ("out\n", "err\n", 0)
    assert result.has_answer and result.answer == [1, "two"]
    assert not result.printed_answer and result.limits_hit == ()


def test_an_answer_that_was_not_printed_is_shown_as_python_renders_it(box: Box) -> None:
    result = box.run("answer = {'a': 0.1, 'b': None}")
    assert result.stdout == "{'a': 0.1, 'b': None}\n" and result.printed_answer
    assert not box.run("print('seen')\nanswer = 1").printed_answer


def test_data_can_be_read_as_csv_and_as_sqlite(box: Box) -> None:
    code = f"""
import sqlite3
import pandas as pd
patients = pd.read_csv("{box.data_folder}/patients.csv")
connection = sqlite3.connect("file:{box.data_folder}/task.sqlite?mode=ro", uri=True)
admissions = pd.read_sql("SELECT * FROM admissions", connection)
answer = patients.merge(admissions)
"""
    result = box.run(code)
    assert result.answer == {
        "kind": "table",
        "columns": ["subject_id", "gender", "admittime"],
        "rows": [[1, "m", "2105-01-01 08:00:00"], [2, "f", "2105-02-03 10:30:00"]],
    }


def test_variables_do_not_reach_the_next_step_but_files_do(box: Box) -> None:
    box.run("kept = 1\nimport json\njson.kept = 1\nopen('note.txt', 'w').write('hello')")
    result = box.run("import json\nanswer = ['kept' in globals(), hasattr(json, 'kept'), open('note.txt').read()]")
    assert result.answer == [False, False, "hello"]
    assert box.shell("cat note.txt").stdout == "hello"


def test_a_reset_leaves_nothing_behind(box: Box) -> None:
    box.run("import os\nos.makedirs('a/b')\nopen('a/b/c', 'w').write('x')\nos.chmod('a/b', 0)\nos.symlink('/etc/passwd', 'link')")
    assert box.reset()
    assert box.run("import os\nanswer = os.listdir('.') + os.listdir(os.environ['TMPDIR'])").answer == []


def test_a_step_starts_in_the_work_folder_as_a_program_of_its_own(box: Box) -> None:
    result = box.run("import os, sys\nanswer = [os.getcwd(), __name__, sys.argv, sys.path[0], sys.modules['__main__'].__dict__ is globals()]")
    assert result.answer == [box.work_folder, "__main__", ["-c"], "", True]


def test_a_module_written_by_one_step_can_be_imported_by_the_next(box: Box) -> None:
    box.run("open('helper.py', 'w').write('value = 7')")
    assert box.run("import helper\nanswer = helper.value").answer == 7


def test_an_uncaught_exception_is_shown_with_its_line_and_without_ours(box: Box) -> None:
    result = box.run("def f():\n    return 1 / 0\nf()")
    assert result.exit_status == 1 and not result.has_answer
    assert result.stderr.startswith('Traceback (most recent call last):\n  File "<code>", line 3, in <module>\n    f()')
    assert "return 1 / 0" in result.stderr and result.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "zygote" not in result.stderr


def test_a_syntax_error_and_a_null_character_are_the_codes_own_errors(box: Box) -> None:
    assert "SyntaxError" in box.run("x = = 1").stderr
    assert "null bytes" in box.run("x = '\0'").stderr
    assert box.run("x = '\ud800'").exit_status == 1
    assert box.shell("echo \0").exit_status == 2


@pytest.mark.parametrize(
    "code",
    [
        "class Odd:\n    def __str__(self):\n        raise ValueError\nimport sys\nsys.exit(Odd())",
        "class Odd(SystemExit):\n    code = property(lambda self: 1 / 0)\nraise Odd",
        "import sys\ndef trace(*_):\n    raise ValueError\nsys.settrace(trace)\nraise KeyError",
    ],
)
def test_an_end_that_cannot_be_described_is_an_error_of_the_program(box: Box, code: str) -> None:
    result = box.run("answer = 1\n" + code)
    assert result.exit_status == 1 and "could not be started" not in result.stderr and result.answer == 1


@pytest.mark.parametrize(("code", "status"), [("raise SystemExit", 0), ("import sys\nsys.exit(7)", 7), ("import sys\nsys.exit('no')", 1)])
def test_sys_exit_gives_its_status(box: Box, code: str, status: int) -> None:
    assert box.run(code).exit_status == status


def test_an_answer_counts_even_where_the_code_fails_afterwards(box: Box) -> None:
    result = box.run("answer = 5\nraise ValueError('late')")
    assert result.answer == 5 and result.exit_status == 1 and "late" in result.stderr


def test_exit_handlers_and_threads_run_to_their_end_as_in_any_program(box: Box) -> None:
    result = box.run(
        "import atexit, threading, time\natexit.register(print, 'handler')\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\nprint('main')"
    )
    assert result.stdout == "main\nthread\nhandler\n"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import os\nos._exit(3)", 3),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", -9),
        ("import ctypes\nctypes.string_at(0)", -11),
        ("import os\nos.closerange(0, 256)\nanswer = 1", 0),
        ("import sys\nsys.stdout = sys.stderr = None\nanswer = 1", 0),
        ("import sys\nsys.modules.clear()\nanswer = 1", None),
        ("import builtins\nbuiltins.__dict__.clear()", None),
        ("import os, sys\nos.dup2(os.open('/dev/null', os.O_WRONLY), 1)\nprint('gone')", 0),
        ("import sys\nsys.stdout.buffer.write(bytes(range(256)) * 10)\nraise SystemExit(4)", 4),
        ("import os\nif os.fork() == 0:\n    answer = 'child'\n    raise SystemExit(9)\nos.wait()\nanswer = 'parent'", 0),
        ("def f():\n    return f()\nf()", 1),
    ],
)
def test_a_result_comes_whatever_the_code_does_to_itself(box: Box, code: str, status: int | None) -> None:
    result = box.run(code)
    if status is not None:
        assert result.exit_status == status
    assert box.run("answer = 'next'").answer == "next"


def test_the_answer_survives_closed_descriptors(box: Box) -> None:
    assert box.run("import os\nos.closerange(0, 256)\nanswer = 1").answer == 1
    assert box.run("import os\nif os.fork() == 0:\n    answer = 'child'\n    raise SystemExit(9)\nos.wait()\nanswer = 'parent'").answer == "parent"


@pytest.mark.parametrize(
    "hostile",
    [
        "__repr__ = __str__ = lambda self: 1 / 0",
        "__eq__ = __hash__ = None",
        "__class__ = property(lambda self: 1 / 0)",
        "__iter__ = __getattr__ = None",
    ],
)
def test_a_hostile_answer_matters_to_its_own_step_only(box: Box, hostile: str) -> None:
    result = box.run(f"class Hostile:\n    {hostile}\nanswer = Hostile()")
    assert result.exit_status is not None
    assert box.run("answer = 1").answer == 1


def test_two_steps_with_one_seed_draw_the_same_numbers_and_order_sets_alike(box: Box, backend: Backend, spec: BoxSpec) -> None:
    code = "import random, numpy\nanswer = [random.random(), numpy.random.rand(), str({'alpha', 'beta', 'gamma', 'delta'})]"
    first = box.run(code, seed=2**40 + 3)
    other = backend.start(spec)
    try:
        assert other.run(code, seed=2**40 + 3).answer == first.answer
        assert other.run(code, seed=4).answer[:2] != first.answer[:2]
    finally:
        other.close()


def test_a_shell_has_its_status_its_output_and_its_own_process(box: Box) -> None:
    result = box.shell("echo out; echo err >&2; exit 3")
    assert (result.stdout, result.stderr, result.exit_status, result.has_answer) == ("out\n", "err\n", 3, False)
    assert box.shell("python -c 'import pandas; print(6 * 7)'").stdout == "42\n"
    assert box.shell("yes | head -1").stdout == "y\n"


def test_the_environment_is_fixed_and_holds_nothing_of_the_hosts(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    result = box.run("import os\nanswer = dict(os.environ)")
    names = {name for name, _ in result.answer["items"]}
    assert "OPENAI_API_KEY" not in names and {"PATH", "HOME", "TZ", "PYTHONHASHSEED"} <= names


def test_code_that_is_absurdly_long_is_refused_without_harm(box: Box) -> None:
    assert box.run("#" * (17 * 1024 * 1024)).exit_status == 2
    assert box.run("#" * (1024 * 1024) + "\nanswer = 1").answer == 1


def test_a_closed_box_says_so_and_may_be_closed_again(backend: Backend, spec: BoxSpec) -> None:
    box = backend.start(dataclasses.replace(spec, preload=()))
    box.close()
    box.close()
    assert box.closed and not box.reset()
    with pytest.raises(InfrastructureError, match="closed"):
        box.run("pass")


def test_a_box_killed_from_another_thread_fails_its_step_as_infrastructure(backend: Backend, spec: BoxSpec) -> None:
    box = backend.start(dataclasses.replace(spec, preload=()))
    timer = threading.Timer(0.3, box.kill)
    timer.start()
    with pytest.raises(InfrastructureError):
        box.run("import time\ntime.sleep(15)")
    assert box.closed


def test_the_child_that_waits_for_the_next_step_is_replaced_where_it_died(backend: Backend, spec: BoxSpec) -> None:
    before = psutil.Process().children(recursive=True)
    box = backend.start(dataclasses.replace(spec, preload=()))
    assert box.run("answer = 1").answer == 1
    for next_call in (lambda: box.run("answer = 2").answer == 2, box.reset, lambda: box.run("answer = 3").answer == 3):
        time.sleep(0.3)
        new = [process for process in psutil.Process().children(recursive=True) if process not in before]
        max(new, key=lambda process: (process.create_time(), process.pid)).kill()
        time.sleep(0.1)
        assert next_call()
    box.close()


def test_an_interrupted_step_closes_its_box(backend: Backend, spec: BoxSpec) -> None:
    box = backend.start(dataclasses.replace(spec, preload=()))
    timer = threading.Timer(0.3, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        box.run("import time\ntime.sleep(15)")
    assert box.closed and not box.reset()


def test_an_interpreter_that_is_none_is_the_users_mistake(backend: Backend, spec: BoxSpec, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"sandbox\.python"):
        backend.start(dataclasses.replace(spec, python=tmp_path / "python"))
    with pytest.raises(UserError, match=r"sandbox\.python"):
        backend.start(dataclasses.replace(spec, python=Path("/bin/false")))


def test_a_module_that_is_not_installed_is_no_reason_to_fail(backend: Backend) -> None:
    box = backend.start(BoxSpec(python=Path(sys.executable), preload=("no_such_module", "json")))
    assert box.run("answer = 1").answer == 1
    box.close()
