"""The published interface: flags, precedence, and every function called directly."""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT

from medagentgym import args as published
from medagentgym import workflow
from medagentgym.__main__ import main
from medagentgym.args import FLAGS, parse_arguments, resolve
from medagentgym.config import Config
from medagentgym.configuration import load_config
from medagentgym.errors import UserError

TABLE: dict[str, tuple[Any, tuple[Any, Any], tuple[str, Any]]] = {
    "task": ("mimic_iii", ("eicu", "eicu"), ("treqs", "treqs")),
    "credentials_path": (Path("./credentials.toml"), ("a.toml", Path("a.toml")), ("b.toml", Path("b.toml"))),
    "credential_path": (Path("./credentials.toml"), ("a.toml", Path("a.toml")), ("b.toml", Path("b.toml"))),
    "work_dir": (Path("./work_dir/"), ("a", Path("a")), ("b", Path("b"))),
    "result_dir_tag": (None, ("a", "a"), ("b", "b")),
    "start_idx": (0, (3, 3), ("0", 0)),
    "end_idx": (-1, (9, 9), ("-1", -1)),
    "num_steps": (30, (15, 15), ("7", 7)),
    "async_run": (False, (True, True), ("false", False)),
    "n_jobs": (5, (2, 2), ("8", 8)),
    "parallel_backend": ("ray", ("joblib", "joblib"), ("ray", "ray")),
    "mode": ("test", ("train", "train"), ("test", "test")),
    "num_rollouts": (1, (4, 4), ("2", 2)),
}
"""Flag: its default, what a file says and what that means, what a command line says and what that means."""


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(content: Mapping[str, Any], name: str = "run.yaml") -> str:
    Path(name).write_text(yaml.safe_dump({"data": {"synthetic": {}}, **content}), encoding="utf-8")
    return name


# --- flags ------------------------------------------------------------------------------------------------------------------------------------------


def test_the_table_has_all_twelve_flags() -> None:
    assert len(FLAGS) == 12
    assert set(TABLE) | {"config_path"} == {*FLAGS, "credential_path", "num_rollouts"}


@pytest.mark.parametrize("flag", TABLE)
def test_a_flag_that_is_given_nowhere_has_its_default(flag: str) -> None:
    default = TABLE[flag][0]
    assert getattr(parse_arguments(["--config_path", write({})]), flag) == default
    assert getattr(parse_arguments([]), flag) == default


@pytest.mark.parametrize("flag", TABLE)
def test_a_flag_in_the_file_is_taken_from_there(flag: str) -> None:
    said, meant = TABLE[flag][1]
    assert getattr(parse_arguments(["--config_path", write({flag: said})]), flag) == meant


@pytest.mark.parametrize("flag", TABLE)
def test_a_flag_on_the_command_line_is_taken_from_there(flag: str) -> None:
    said, meant = TABLE[flag][2]
    assert getattr(parse_arguments(["--config_path", write({}), f"--{flag}", said]), flag) == meant
    assert getattr(parse_arguments([f"--{flag}={said}"]), flag) == meant


@pytest.mark.parametrize("flag", TABLE)
def test_a_flag_in_both_is_taken_from_the_command_line(flag: str) -> None:
    path = write({flag: TABLE[flag][1][0]})
    said, meant = TABLE[flag][2]
    assert getattr(parse_arguments(["--config_path", path, f"--{flag}", said]), flag) == meant


def test_the_file_itself_is_named_on_the_command_line() -> None:
    assert parse_arguments([]).config_path is None
    assert parse_arguments(["--config_path", write({"config_path": "other.yaml"})]).config_path == Path("run.yaml")


def test_both_spellings_of_the_credentials_path_are_attributes() -> None:
    for flag in ("--credential_path", "--credentials_path"):
        args = parse_arguments([flag, "x.toml"])
        assert args.credential_path == args.credentials_path == Path("x.toml")
    with pytest.raises(UserError, match="credential_path and credentials_path differ"):
        parse_arguments(["--credential_path", "x", "--credentials_path", "y"])


@pytest.mark.parametrize(
    ("argv", "expected"),
    [(["--async_run"], True), (["--async_run", "true"], True), (["--async_run=False"], False), (["--async_run", "--n_jobs", "2"], True)],
    ids=str,
)
def test_async_run_is_a_switch_that_also_takes_a_value(argv: list[str], expected: bool) -> None:
    assert parse_arguments(argv).async_run is expected


def test_without_an_argument_the_command_line_of_the_process_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["medagentgym", "--num_steps", "3"])
    assert parse_arguments().num_steps == 3


def test_the_namespace_carries_the_resolved_configuration() -> None:
    args = parse_arguments(["--config_path", write({"agent": {"name": "reference"}}), "--num_steps", "3"])
    assert isinstance(args.config, Config)
    assert (args.config.num_steps, args.config.agent.name, args.config.name) == (3, "reference", "run")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--num_step", "3"], "command line: --num_step: unknown flag; did you mean --num_steps?"),
        (["--num-steps=3"], "command line: --num-steps: unknown flag; did you mean --num_steps?"),
        (["--quux"], "command line: --quux: unknown flag; --help lists the flags"),
        (["stray"], "command line: stray: unknown word, and no command"),
        (["--num_steps"], "command line: argument --num_steps: expected one argument"),
        (["--num_steps", "many"], "command line: num_steps: expects an integer, at least 1, not 'many'"),
        (["--n_jobs", "0"], "command line: n_jobs: expects an integer, at least 1, not '0'"),
        (["--mode", "valid"], "command line: mode: expects one of `train`, `test`, not 'valid'"),
        (["--parallel_backend", "dask"], "command line: parallel_backend: expects one of `ray`, `joblib`, not 'dask'"),
        (["--async_run", "perhaps"], "command line: async_run: expects true or false, not 'perhaps'"),
        (["--start_idx", "-1"], "command line: start_idx: expects an integer, at least 0, not '-1'"),
        (["--config_path", "absent.yaml"], "absent.yaml: no such file"),
    ],
    ids=str,
)
def test_a_mistake_on_the_command_line_is_one_line(argv: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        parse_arguments(argv)
    assert says in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"medagentgym: {caught.value}\n"
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def test_help_explains_every_flag_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_arguments(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0
    for flag in FLAGS:
        assert f"--{flag}" in text
    for default in ("Default: 30.", "Default: 5.", "Default: -1.", "Default: mimic_iii.", "Default: false."):
        assert default in text


def test_without_arguments_the_command_shows_its_help_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "--config_path" in capsys.readouterr().out


# --- the published names ----------------------------------------------------------------------------------------------------------------------------


def test_every_published_name_is_there() -> None:
    for name in published.__all__:
        assert getattr(published, name) is not None
    with pytest.raises(AttributeError):
        _ = published.no_such_name  # type: ignore[attr-defined]


def test_importing_the_interface_imports_nothing_heavy() -> None:
    heavy = ("pandas", "openai", "duckdb", "numpy", "joblib", "snakemake")
    code = f"import sys, medagentgym.args, medagentgym.__main__; print([module for module in {heavy} if module in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_load_credentials_works_when_called_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())
    Path("credentials.toml").write_text('SOME_SETTING_KEY = "abc"\n')
    assert published.load_credentials() == {"SOME_SETTING_KEY": "abc"}


def test_an_unknown_task_is_one_line() -> None:
    with pytest.raises(UserError, match="mimic_ii"):
        published.get_task_class("mimic_ii")
    assert published.get_task_class("mimic_iii").name == "mimic_iii"


# --- what is run ------------------------------------------------------------------------------------------------------------------------------------


def test_the_mapping_of_a_published_file_is_run_as_the_file_would_be() -> None:
    Path("mimic").mkdir()
    raw = {"Agent": {"llm": {"model_name": "m"}}, "Data": {"data_path": "mimic"}, "num_steps": 15, "start_idx": 4}
    Path("published.yaml").write_text(yaml.safe_dump(raw))
    args = parse_arguments(["--config_path", "published.yaml", "--start_idx", "0"])
    config = resolve(args, raw)
    assert (config.num_steps, config.start_idx, config.protocol, config.name) == (15, 0, "oracle_stop", "published")
    assert config == args.config.model_copy(update={"config_path": config.config_path})


def test_defaults_of_the_namespace_do_not_win_over_the_configuration_but_what_was_set_does() -> None:
    args = parse_arguments([])
    assert resolve(args, {"data": {"synthetic": {}}, "num_steps": 15}).num_steps == 15
    args.num_steps = 4
    assert resolve(args, {"data": {"synthetic": {}}, "num_steps": 15}).num_steps == 4


def test_a_namespace_made_by_hand_wins_with_what_it_has() -> None:
    args = argparse.Namespace(num_steps=4, start_idx=0, work_dir="elsewhere")
    config = resolve(args, load_config({"data": {"synthetic": {}}, "num_steps": 15, "start_idx": 3, "mode": "train"}))
    assert (config.num_steps, config.start_idx, config.work_dir, config.mode) == (4, 0, Path("elsewhere"), "train")


@pytest.mark.parametrize(("n_jobs", "backend", "says"), [(0, "ray", "n_jobs"), (True, "ray", "n_jobs"), (2, "dask", "parallel_backend")])
def test_what_async_run_experiments_is_given_is_checked(n_jobs: int, backend: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        published.async_run_experiments(parse_arguments([]), {"data": {"synthetic": {}}}, n_jobs, backend)


# --- the workflow behind it -------------------------------------------------------------------------------------------------------------------------


def test_overrides_reach_the_workflow_as_they_were_given() -> None:
    """Snakemake reads the command that we make; what its Snakefile would see is resolved as the command line itself is."""
    from snakemake.cli import parse_config

    path = write({"num_steps": 9})
    overrides = {
        "task": "mimic_iii",
        "result_dir_tag": "007",
        "start_idx": "0",
        "training": {"num_rollouts": "2"},
        "agent": {"llm": {"temperature": None, "model_name": 'a "b" = ä, {c}', "extra_body": {"stop": ["x", 1]}}},
        "data": {"only": [1, 2]},
        "async_run": "true",
        "n_jobs": "8",
    }
    command = workflow.workflow_command(Path(path), overrides, cores=8, targets=["scores"])
    given = command[command.index("--config") + 1 :]
    seen = load_config(Path(path), parse_config(given))
    wanted = load_config(Path(path), {key: value for key, value in overrides.items() if key not in ("async_run", "n_jobs")})
    assert seen == wanted
    assert seen.result_dir_tag == "007" and seen.agent.llm.temperature is None
    assert command[:4] == [sys.executable, "-m", "snakemake", "scores"]
    assert command[command.index("--cores") + 1] == "8" and command[command.index("--configfile") + 1] == path


def test_without_a_snakefile_the_workflow_says_where_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "SNAKEFILE", Path("absent/Snakefile"))
    with pytest.raises(UserError, match="absent/Snakefile: no such file"):
        workflow.run_workflow(Path("run.yaml"), {}, cores=1)


@pytest.mark.parametrize("async_run", [False, True])
def test_n_jobs_counts_only_with_async_run(async_run: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    cores = []

    def instead(config_file: Path, overrides: Mapping[str, Any], *, cores: int, targets: Any = ()) -> int:
        seen.append((config_file, dict(overrides), cores))
        return 3

    seen = cores
    monkeypatch.setattr(workflow, "run_workflow", instead)
    argv = ["--config_path", write({}), "--n_jobs", "8", "--task", "mimic_iii", *(["--async_run"] if async_run else [])]
    assert main(argv) == 3, "the exit status is the workflow's"
    assert seen[0][2] == (8 if async_run else 1)
    assert ("parallel_backend ray: runs on Snakemake" in capsys.readouterr().err) is async_run


WAITING = """
import os, signal, subprocess, sys, time
from pathlib import Path
worker = len(sys.argv) > 1
def note(number, frame):
    with open("worker" if worker else "driver", "a") as stream: stream.write(f"{number} ")
    if not worker: process.wait()
    sys.exit(7)
signal.signal(signal.SIGINT, note); signal.signal(signal.SIGTERM, note)
if worker: Path("ready.new").write_text(str(os.getpgrp())); os.rename("ready.new", "ready")
else: process = subprocess.Popen([sys.executable, __file__, "worker"])
while True: time.sleep(0.05)
"""

RUNNING = "import sys; from medagentgym.workflow import _run; sys.exit(_run([sys.executable, 'waiting.py']))"


def start() -> subprocess.Popen[bytes]:
    """A workflow that waits for a worker, both of which note the signals that they receive."""
    Path("waiting.py").write_text(WAITING)
    process = subprocess.Popen([sys.executable, "-c", RUNNING], env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True)
    wait_for("ready")
    return process


def wait_for(name: str) -> str:
    deadline = time.monotonic() + 30
    while not (Path(name).exists() and Path(name).read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return Path(name).read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("kill", [os.kill, os.killpg], ids=["one process", "the terminal's group"])
def test_an_interruption_is_handed_on_once_and_to_the_workers_too(number: signal.Signals, kill: Any) -> None:
    process = start()
    kill(process.pid, number)
    assert process.wait(timeout=30) == 128 + number
    assert (wait_for("driver"), wait_for("worker")) == (f"{int(number)} ", f"{int(number)} ")


@pytest.mark.skipif(sys.platform != "linux", reason="a parent's death is signalled on Linux")
def test_the_workflow_is_interrupted_when_the_command_that_started_it_is_gone() -> None:
    process = start()
    process.kill()
    process.wait(timeout=30)
    assert wait_for("driver") == f"{int(signal.SIGINT)} "
    os.killpg(int(Path("ready").read_text()), signal.SIGKILL)


def test_the_summary_is_read_by_its_leading_judge() -> None:
    config = load_config({"data": {"synthetic": {}}, "name": "run", "work_dir": "work"})
    with pytest.raises(UserError, match=r"work/reports/run/summary.csv: the summary cannot be read"):
        workflow.read_summary(config)
    folder = Path("work/reports/run")
    folder.mkdir(parents=True)
    columns = ("task", "tag", "mode", "judge", "asked", "done", "missing", "scored", "successes", "success_rate")
    rows = [
        ("mimic_iii", "b", "test", "strict", 10, 10, 0, 10, 4, 0.4),
        ("mimic_iii", "b", "test", "published", 10, 10, 0, 10, 9, 0.9),
        ("mimic_iii", "a", "test", "strict", 30, 20, 10, 10, 1, 0.1),
    ]
    with (folder / "summary.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([columns, *rows])
    summary = workflow.read_summary(config)
    assert (summary["success_rate"], summary["asked"], summary["done"], summary["missing"]) == (0.25, 40, 30, 10)
    assert [(row["tag"], row["success_rate"], row["scored"]) for row in summary["experiments"]] == [("b", 0.4, 10), ("a", 0.1, 10)]
    assert [row["judge"] for row in summary["experiments"]] == ["strict", "strict"]
    assert json.loads(json.dumps(summary)) == summary


# --- real runs --------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_published_functions_run_real_episodes_and_never_the_same_one_twice(capfd: pytest.CaptureFixture[str]) -> None:
    raw = {"data": {"synthetic": {"patients": 20, "train": 2, "test": 5}}, "agent": {"name": "reference"}, "work_dir": "work", "num_steps": 3}
    args = parse_arguments(["--config_path", write(raw), "--result_dir_tag", "tag"])
    asked = published.get_task_class("mimic_iii").indices(args.config)
    assert published.run_single_experiment(args, raw, asked[0]) == 1.0
    record = Path(f"work/mimic_iii/tag/test/history_{asked[0]}.json")
    made = record.read_bytes()  # with the seconds that it took
    assert published.run_single_experiment(args, args.config, asked[0]) == 1.0
    with pytest.raises(UserError, match="no instance 5 of mimic_iii"):
        published.run_single_experiment(args, raw, 5)

    summary = published.sequential_run_experiments(args, raw)
    assert {key: summary[key] for key in ("success_rate", "asked", "done", "missing")} == {
        "success_rate": 1.0,
        "asked": len(asked),
        "done": len(asked),
        "missing": 0,
    }
    assert published.async_run_experiments(args, args.config, 2, "joblib") == summary
    assert "parallel_backend joblib: runs on Snakemake" in capfd.readouterr().err
    assert record.read_bytes() == made
    assert main(["--config_path", "run.yaml", "--result_dir_tag", "tag"]) == 0
    captured = capfd.readouterr()
    assert f"mimic_iii/tag/test: success rate 1.0000 (asked {len(asked)}, done {len(asked)}, missing 0), judge strict" in captured.out
    assert "Nothing to be done" in captured.err, [line for line in captured.err.splitlines() if "reason" in line]
