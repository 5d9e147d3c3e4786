"""Task biocoder, from the task file to verdicts, in real boxes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medagentgym import environments
from medagentgym.audit.playing import Played, Player
from medagentgym.built_data import file_digest, file_sizes
from medagentgym.config import Config
from medagentgym.env.environment import EpisodeEnvironment, capped_evidence
from medagentgym.errors import UserError
from medagentgym.judges.base import Evidence
from medagentgym.programs.marker import MARKER
from medagentgym.prompting import render_prompt
from medagentgym.sandbox import choose_backend
from medagentgym.sandbox.pool import BoxPool
from medagentgym.tasks.biocoder import BioCoder

SOLUTION = "def f(values):\n    print('sorting')\n    return sorted(values)\n"


def row(context: str, solution: str = SOLUTION, **more: str) -> dict[str, str]:
    return {
        "idx": f"id {abs(hash(context)) % 10**6}",
        "problem": "Write f.",
        "context": context,
        "signature": "def f(values)",
        "solution": solution,
        **more,
    }


METHOD = (
    f"class Sorter:\n    def __init__(self):\n        self.calls = 0\n    {MARKER}\nsorter = Sorter()\nprint(sorter.f([3, 1, 2]), sorter.calls)\n"
)
ROWS = [
    row(f"{MARKER}\nprint(f([3, 1, 2]))\n", idx="plain"),
    row(METHOD, "def f(self, values):\n    self.calls += 1\n    return sorted(values)\n", idx="method"),
    row(f"{MARKER}\ndef f(values):\n    return [1, 2, 3]\nprint(f([3, 1, 2]))\n", "def f(values):\n    return sorted(values)\n", idx="redefined"),
    row(f"print([{MARKER}])\n", idx="expression"),
    row(f"{MARKER}\nprint(f([3, 1, 2]))\n", "def f(values):\n    raise OSError('no such tool')\n", idx="fails"),
    row(f"{MARKER}\nprint(f([3, 1, 2]))\n", "import os\ndef f(values):\n    return os.urandom(8)\n", idx="random"),
    row(f"{MARKER}\nf([3, 1, 2])\nprint('done')\n", "def f(values):\n    values.sort()\n", idx="nothing to see"),
    row(f"{MARKER}\nprint('not called')\n", idx="not called"),
    row(f"import random\n{MARKER}\nprint(f([random.random() for _ in range(3)]))\n", "def f(values):\n    return values[0]\n", idx="unseeded"),
    row(f"import threading\n{MARKER}\nprint(type(f(1)))\n", "def f(values):\n    return threading.Lock()\n", idx="no data"),
]


def config_of(folder: Path, **data: Any) -> Config:
    sandbox = {"python": sys.executable, "wall_seconds": 30}
    return Config.model_validate({"work_dir": folder / "work", "task": "biocoder", "data": data, "sandbox": sandbox, "in_flight": 2, "num_steps": 5})


def published(folder: Path, rows: list[dict[str, str]]) -> Path:
    folder.mkdir(parents=True)
    (folder / "test_tasks.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return folder


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> BioCoder:
    folder = tmp_path_factory.mktemp("biocoder")
    config = config_of(folder, data_path=published(folder / "published", ROWS))
    BioCoder.build(config, folder / "built")
    return BioCoder(folder / "built", config)


@pytest.fixture(scope="module")
def pool() -> Iterator[BoxPool]:
    with BoxPool(choose_backend("auto"), 2) as made:
        yield made


@pytest.fixture
def environment(task: BioCoder, pool: BoxPool) -> Iterator[EpisodeEnvironment]:
    made = EpisodeEnvironment(task, task.config, pool)
    made.reset(0, seed=1)
    yield made
    made.close()


def play(task: BioCoder, pool: BoxPool, idx: int, code: str) -> Played:
    return Player(task.config, task, pool).play(task.instance(idx), [("validate_code", {"code": code})], 1)


def is_right(task: BioCoder, pool: BoxPool, idx: int, code: str) -> bool:
    instance = task.instance(idx)
    return play(task, pool, idx, code).verdict(task.judges()["strict"], task.reference(instance), "none").correct


def test_instances_that_cannot_be_judged_are_listed_with_the_reason(task: BioCoder) -> None:
    reasons = {task.instance(idx).instance_id: task.ungradable(task.instance(idx)) for idx in range(len(ROWS))}
    assert reasons["plain"] is reasons["method"] is reasons["redefined"] is reasons["unseeded"] is None
    expected = {
        "expression": "cannot be run: the marker sits inside an expression",
        "fails": "cannot be run: the program failed: OSError: no such tool",
        "random": "nondeterministic: two runs",
        "nothing to see": "broken reference passes: a function that does nothing",
        "not called": "cannot be run: the program never calls the function",
        "no data": "gold cannot be expressed: the function returned a",
    }
    for name, words in expected.items():
        assert str(reasons[name]).startswith(words), (name, reasons[name])
    assert task.manifest["questions"]["test"]["ungradable"] == len(expected)


def test_the_reference_is_right_and_other_functions_are_wrong(task: BioCoder, pool: BoxPool) -> None:
    for idx in (0, 1, 2, 8):
        instance = task.instance(idx)
        assert is_right(task, pool, idx, task.reference_code(instance)), idx
        for name, program in task.broken_references(instance).items():
            assert not is_right(task, pool, idx, program), (idx, name)


def test_no_cheat_that_knows_the_gold_is_right(task: BioCoder, pool: BoxPool) -> None:
    for probe in task.cheats(task.instance(1)):
        assert not is_right(task, pool, 1, str(probe.actions[0][1]["code"])), probe.name


def test_a_context_that_defines_the_function_itself_is_mended_and_said_to_be(task: BioCoder) -> None:
    instance = task.instance(2)
    assert "return [1, 2, 3]" not in instance.question and MARKER in instance.question
    assert task.manifest["questions"]["test"]["contexts_with_a_solution"] == 1
    assert "(2)" in task.manifest["remarks"][0] and "taken out" in task.manifest["remarks"][0]


def test_the_prompt_shows_program_and_signature_and_no_gold(task: BioCoder) -> None:
    instance = task.instance(0)
    system, user = render_prompt(task.config, task.prompt_fields(instance), ("validate_code", "submit"))
    assert "function of a bioinformatics program" in system["content"] and "variable named `answer`" not in system["content"]
    assert MARKER in user["content"] and "def f(values)" in user["content"] and "sorted" not in user["content"]


def test_code_that_is_no_solution_runs_as_a_program_of_its_own(environment: EpisodeEnvironment) -> None:
    observation, *_ = environment.step("validate_code", code="open('notes.txt', 'w').write('kept')\nprint(6 * 7)\n")
    assert "stdout:\n42" in observation and "not taken as a solution: it does not define f" in observation
    observation, *_ = environment.step("validate_code", code="print(open('notes.txt').read())\ndef f(values):\n    return 1\nprint(f(1))\n")
    assert "kept" in observation and "line 1 does something beside" in observation
    observation, *_ = environment.step("validate_code", code="def f(:\n")
    assert "SyntaxError" in observation and "it is no Python" in observation
    observation, *_ = environment.step("submit")
    assert "nothing to submit yet: no function has been given" in observation
    assert environment.trajectory.attempts == []


def test_a_solution_is_an_attempt_and_shows_what_the_program_prints(environment: EpisodeEnvironment) -> None:
    observation, *_ = environment.step("validate_code", code="def f(values):\n    print('looking at', values)\n    return values\n")
    assert observation == "The program ran to its end.\nstdout:\n[3, 1, 2]\nYour function printed:\nlooking at [3, 1, 2]"
    environment.step("validate_code", code=SOLUTION)
    observation, reward, terminated, *_ = environment.step("submit")
    assert (reward, terminated, len(environment.trajectory.attempts)) == (1.0, True, 2)


def test_files_of_earlier_steps_are_not_there_for_the_program(environment: EpisodeEnvironment) -> None:
    environment.step("validate_code", code="open('random.py', 'w').write('raise SystemExit')\n")
    observation, *_ = environment.step("validate_code", code="import os\ndef f(values):\n    return sorted(os.listdir('.'))\n")
    assert "['program.py']" in observation


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyError('here')", "KeyError: 'here'"),
        ("import os\n    os._exit(0)", "This was no attempt: the function ended the process instead of returning."),
        ("return lambda: 1", "This was no attempt: the function returned a function, which is no data."),
        ("return (open('x', 'w') for _ in range(3))", "the function returned"),
        ("print('x' * 2_000_000)", "the function printed more than 1,048,576 bytes"),
    ],
)
def test_what_goes_wrong_is_told_and_is_no_attempt(environment: EpisodeEnvironment, body: str, words: str) -> None:
    observation, *_ = environment.step("validate_code", code=f"def f(values):\n    {body}\n")
    assert words in observation and environment.trajectory.attempts == []
    assert environment.trajectory.steps[-1]["exit_status"] == 1


def test_a_flood_of_a_gigabyte_is_cut_off_in_words(environment: EpisodeEnvironment) -> None:
    code = "import sys\ndef f(values):\n    for _ in range(1024):\n        sys.stdout.write('x' * 1024 * 1024)\n    return values\n"
    observation, *_ = environment.step("validate_code", code=code)
    assert "the function printed more than 1,048,576 bytes" in observation and len(observation) < 10_000
    observation, *_ = environment.step("validate_code", code="for _ in range(1024):\n    print('x' * 1024 * 1024)\n")
    assert "output was cut after" in observation and len(observation) < 20_000


def test_a_thread_a_file_and_a_process_left_behind_change_nothing(task: BioCoder, pool: BoxPool) -> None:
    code = """
import os, threading, time
def f(values):
    threading.Thread(target=time.sleep, args=(60,)).start()
    open("left.txt", "w").write("x")
    if os.fork() == 0:
        time.sleep(60)
    print("sorting")
    return sorted(values)
"""
    assert is_right(task, pool, 0, code)


def test_evidence_can_be_judged_again_from_the_record(task: BioCoder, pool: BoxPool) -> None:
    (evidence,) = play(task, pool, 0, SOLUTION).attempts
    stored = json.loads(json.dumps(capped_evidence(evidence).to_json()))
    again = Evidence.from_json(stored)
    assert again.complete and task.judges()["strict"].judge(task.reference(task.instance(0)), again).correct


def test_an_output_that_is_too_long_for_the_record_keeps_its_verdict_only(task: BioCoder, pool: BoxPool) -> None:
    (evidence,) = play(task, pool, 0, "def f(values):\n    return list(range(20_000))\n").attempts
    assert len(evidence.stdout) > 100_000 and not capped_evidence(evidence).complete


def test_outcomes_are_kept_and_made_anew_only_for_another_program(
    task: BioCoder, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(tmp_path, data_path=published(tmp_path / "published", ROWS[:2]))
    BioCoder.build(config, tmp_path / "built")
    assert "running 2 reference programs" in capsys.readouterr().err
    (tmp_path / "published" / "test_tasks.jsonl").write_text("".join(json.dumps(one) + "\n" for one in ROWS[:3]))
    BioCoder.build(config, tmp_path / "built")
    assert "running 1 reference programs" in capsys.readouterr().err
    BioCoder.build(config, tmp_path / "built")
    assert "running" not in capsys.readouterr().err
    assert BioCoder(tmp_path / "built", config).record(1)["gold"]["output"] == "[1, 2, 3] 1\n"


def test_an_environment_that_is_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environments.FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    config = config_of(tmp_path, data_path=published(tmp_path / "published", ROWS[:1]))
    config = config.model_copy(update={"sandbox": config.sandbox.model_copy(update={"python": None})})
    with pytest.raises(UserError, match="environments build bioinformatics"):
        BioCoder.build(config, tmp_path / "built")


def test_golds_of_other_packages_are_refused(task: BioCoder, pool: BoxPool, tmp_path: Path) -> None:
    record = task.record(0)
    record["gold"]["environment"] = "bioinformatics-of-yesterday"
    (tmp_path / "test_tasks.jsonl").write_text(json.dumps(record) + "\n")
    manifest = json.loads((task.folder / "build.json").read_text()) | {"sizes": file_sizes(tmp_path)}
    manifest["questions"]["test"]["sha256"] = file_digest(tmp_path / "test_tasks.jsonl")
    (tmp_path / "build.json").write_text(json.dumps(manifest))
    other = BioCoder(tmp_path, task.config)
    environment = EpisodeEnvironment(other, other.config, pool)
    environment.reset(0, seed=1)
    with pytest.raises(UserError, match="bioinformatics-of-yesterday"):
        environment.step("validate_code", code=SOLUTION)
    environment.close()


def needs_environment() -> None:
    if not environments.is_built("bioinformatics"):
        pytest.skip("the environment bioinformatics is not built: medagentgym environments build bioinformatics")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_made_up_functions_can_all_be_judged(tmp_path: Path) -> None:
    config = config_of(tmp_path, synthetic={"train": 1, "test": 12})
    BioCoder.build(config, tmp_path / "built")
    task = BioCoder(tmp_path / "built", config)
    with BoxPool(choose_backend("auto"), 2) as pool:
        for idx in range(12):
            assert task.ungradable(task.instance(idx)) is None
            assert is_right(task, pool, idx, task.reference_code(task.instance(idx)))
            for name, program in task.broken_references(task.instance(idx)).items():
                assert not is_right(task, pool, idx, program), (idx, name)


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.timeout(1800)
def test_the_published_functions_on_real_input(shared_data: Path, tmp_path: Path) -> None:
    """The references of 78 of the 79 rows run, deterministically; they are right, and no broken function or cheat is."""
    needs_environment()
    config = config_of(tmp_path, data_path=shared_data / "biocoder")
    config = config.model_copy(update={"sandbox": config.sandbox.model_copy(update={"python": None, "wall_seconds": 120})})
    BioCoder.build(config, tmp_path / "built")
    task = BioCoder(tmp_path / "built", config)
    reasons = {idx: task.ungradable(task.instance(idx)) for idx in range(BioCoder.count(config))}
    assert len(reasons) == 79
    assert {idx: reason for idx, reason in reasons.items() if reason is not None} == {
        65: "cannot be run: the program failed: ValueError: cannot convert float NaN to integer"
    }
    assert task.manifest["questions"]["test"]["contexts_with_a_solution"] == 5
    with BoxPool(choose_backend("auto"), 2) as pool:
        for idx in set(reasons) - {65}:
            instance = task.instance(idx)
            assert is_right(task, pool, idx, task.reference_code(instance)), idx
            for name, program in task.broken_references(instance).items():
                assert not is_right(task, pool, idx, program), (idx, name)
            if idx % 10 == 4:
                for probe in task.cheats(instance):
                    right = is_right(task, pool, idx, str(probe.actions[0][1]["code"]))
                    assert not right or probe.floor == "constant", (idx, probe.name)
