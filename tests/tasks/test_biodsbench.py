"""Task biodsbench, from task file and study to verdicts, in real boxes."""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import acbc_tasks
import pytest

from medagentgym import environments
from medagentgym.audit.playing import Played, Player
from medagentgym.config import Config
from medagentgym.env.environment import EpisodeEnvironment, capped_evidence
from medagentgym.errors import UserError
from medagentgym.judges.base import Evidence
from medagentgym.prompting import render_prompt
from medagentgym.sandbox import choose_backend
from medagentgym.sandbox.pool import BoxPool
from medagentgym.tasks.biodsbench import BioDSBench

CLINICAL = "#Patient\tAge\n#Patient\tAge\n#STRING\tNUMBER\n#1\t1\nPATIENT_ID\tAGE\nP1\t61\nP2\t70\nP3\t\n"
READ = 'import pandas as pd\npatients = pd.read_csv("./workdir/data_clinical_patient.csv")\n'
SMALL = {"queries": "q", "reference_answer": "x = 1"}
ROWS: list[dict[str, Any]] = [
    {
        "queries": "Give the mean age as `mean_age` and the patients without one as the list `unknown`.",
        "cot_instructions": "1. Read. 2. Compute.",
        "code_histories": None,
        "reference_answer": READ + 'mean_age = patients["AGE"].mean()\nunknown = patients.loc[patients["AGE"].isna(), "PATIENT_ID"].tolist()\n',
        "test_cases": 'assert abs(mean_age - 65.5) < 1e-9\n\nassert unknown == ["P3"]\n',
        "study_ids": "123",
        "question_ids": "0",
        "dataset_url": "https://www.cbioportal.org/study/summary?id=made_2020",
        "tables": '["/workdir/data_clinical_patient.csv"]',
    },
    {
        "queries": "How many patients are older than `limit`? Leave the number as `n`.",
        "cot_instructions": "",
        "code_histories": "# prefix\n" + READ + "limit = 65\n",
        "reference_answer": 'n = int((patients["AGE"] > limit).sum())\n',
        "test_cases": 'import pandas as pd\npatients = pd.read_csv("/workdir/data_clinical_patient.csv")\nassert n == (patients["AGE"] > 65).sum()\n',
        "study_ids": "123",
        "question_ids": "1",
        "dataset_url": "https://www.cbioportal.org/study/summary?id=made_2020",
        "dataframes": "A Dataframe stored in `/workdir/data_clinical_patient.csv`.",
    },
    {"queries": "q", "reference_answer": "x = 1", "test_cases": "assert x == 1", "study_ids": "missing_study", "tables": '["/workdir/data_sv.csv"]'},
    {"queries": "q", "reference_answer": "x = 1", "test_cases": "assert x == 1", "study_ids": "made_2020", "tables": '["/workdir/data_sv.csv"]'},
    {
        "queries": "q",
        "reference_answer": "x = 1",
        "test_cases": "x == 1",
        "study_ids": "made_2020",
        "tables": '["/workdir/data_clinical_patient.csv"]',
    },
]


def make_study(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "data_clinical_patient.txt").write_text(CLINICAL)
    (folder / "meta_study.txt").write_text("name: made up\n")
    return folder


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def config_of(folder: Path, python: str | None = sys.executable, **data: Any) -> Config:
    sandbox = {"python": python, "wall_seconds": 60}
    return Config.model_validate(
        {"work_dir": folder / "work", "task": "biodsbench", "data": data, "sandbox": sandbox, "in_flight": 2, "num_steps": 5}
    )


def opened(config: Config, folder: Path) -> BioDSBench:
    BioDSBench.build(config, folder)
    task = BioDSBench(folder, config)
    task.box_has_own_paths = choose_backend("auto").own_file_system
    return task


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> BioDSBench:
    folder = tmp_path_factory.mktemp("biodsbench")
    make_study(folder / "published" / "data" / "made_2020")
    write_rows(folder / "published" / "test_tasks.jsonl", ROWS)
    return opened(config_of(folder, data_path=folder / "published"), folder / "built")


@pytest.fixture(scope="module")
def pool() -> Iterator[BoxPool]:
    with BoxPool(choose_backend("auto"), 2) as made:
        yield made


@pytest.fixture
def environment(task: BioDSBench, pool: BoxPool) -> Iterator[EpisodeEnvironment]:
    made = EpisodeEnvironment(task, task.config, pool)
    made.reset(0, seed=1)
    yield made
    made.close()


def play(task: BioDSBench, pool: BoxPool, idx: int, code: str) -> Played:
    return Player(task.config, task, pool).play(task.instance(idx), [("validate_code", {"code": code})], 1)


def is_right(task: BioDSBench, pool: BoxPool, idx: int, code: str, judge: str = "strict") -> bool:
    return play(task, pool, idx, code).verdict(task.judges()[judge], task.reference(task.instance(idx)), "none").correct


def test_studies_are_found_by_either_name_and_what_is_missing_is_said(task: BioDSBench) -> None:
    reasons = [task.ungradable(task.instance(idx)) for idx in range(5)]
    assert reasons[:2] == [None, None]
    assert reasons[2] == "cannot be run: the tables of study missing_study are missing (data_sv.csv)"
    assert reasons[3] == "cannot be run: study made_2020 has no data_sv.csv"
    assert reasons[4] == "gold cannot be expressed: the test cases hold no assertion"
    assert "missing_study: 1 instances" in task.manifest["remarks"][0]
    assert task.manifest["questions"]["test"]["studies"] == {"made_2020": 4}


def test_biodsbench_s_own_file_with_archives_gives_the_same(task: BioDSBench, tmp_path: Path) -> None:
    study = make_study(tmp_path / "made_2020")
    (tmp_path / "studies").mkdir()
    with tarfile.open(tmp_path / "studies" / "made_2020.tar.gz", "w:gz") as archive:
        archive.add(study, arcname="made_2020")
    tasks = write_rows(tmp_path / "tasks.jsonl", ROWS)
    other = opened(config_of(tmp_path, raw_path=tmp_path / "studies", questions={"test": tasks}), tmp_path / "built")
    assert other.manifest["files"] == task.manifest["files"]
    assert [other.record(idx) for idx in range(5)] == [task.record(idx) for idx in range(5)]
    assert tmp_path / "studies" / "made_2020.tar.gz" in BioDSBench.sources(other.config)


def test_the_prompt_shows_tables_history_and_variables_and_no_assertion(task: BioDSBench) -> None:
    instance = task.instance(1)
    system, user = render_prompt(task.config, task.prompt_fields(instance), ("validate_code", "submit"))
    assert "tables of a cancer study" in system["content"] and "variable named `answer`" not in system["content"]
    text = user["content"]
    assert "data_clinical_patient.csv (3 rows)\nPATIENT_ID,AGE\nP1,61" in text
    assert "This code has run already" in text and "limit = 65" in text and "leave `n`: variables of these names" in text
    assert "assert" not in text and ".sum()" not in text
    assert "`mean_age` and `unknown`" in task.prompt_fields(task.instance(0))["answer_form"]
    assert "1. Read. 2. Compute." in task.instance(0).question


def test_the_reference_is_right_and_what_is_close_to_it_is_wrong(task: BioDSBench, pool: BoxPool) -> None:
    for idx in (0, 1):
        instance = task.instance(idx)
        assert is_right(task, pool, idx, task.reference_code(instance))
        for name, program in task.broken_references(instance).items():
            assert not is_right(task, pool, idx, program), (idx, name)


def test_no_cheat_is_right_and_the_published_judge_accepts_them(task: BioDSBench, pool: BoxPool) -> None:
    accepted = 0
    for probe in task.cheats(task.instance(0)):
        code = str(probe.actions[0][1]["code"])
        assert not is_right(task, pool, 0, code), probe.name
        accepted += is_right(task, pool, 0, code, "published")
    assert accepted > 15


def test_a_program_without_the_variables_is_no_attempt_and_is_told_so(environment: EpisodeEnvironment) -> None:
    observation, *_ = environment.step("validate_code", code="print('looking')\nmean_age = 3\n")
    assert "looking" in observation and "Left: mean_age (int)." in observation
    assert "`unknown` is missing." in observation and "This was no attempt." in observation
    observation, *_ = environment.step("submit")
    assert "no program has run to its end and left the variables" in observation
    assert environment.trajectory.attempts == []


def test_the_verdict_is_not_told_and_the_last_attempt_counts(environment: EpisodeEnvironment) -> None:
    observation, *_ = environment.step("validate_code", code="mean_age, unknown = 3, []\n")
    assert "Left: mean_age (int), unknown (list of 0)." in observation and "assert" not in observation.lower()
    task = environment.task
    environment.step("validate_code", code=task.reference_code(environment.instance))
    _, reward, *_ = environment.step("submit")
    assert reward == 1.0 and len(environment.trajectory.attempts) == 2


def test_files_of_earlier_steps_are_there_for_the_program_and_not_for_the_assertions(environment: EpisodeEnvironment) -> None:
    environment.step("validate_code", code="open('unknown.txt', 'w').write('P3')\nopen('pandas.py', 'w').write('raise SystemExit')\n")
    environment.step("terminal", cmd="rm pandas.py")
    environment.step("validate_code", code="mean_age, unknown = 65.5, [open('unknown.txt').read()]\n")
    _, reward, *_ = environment.step("submit")
    assert reward == 1.0


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys\nmean_age, unknown = 1, []\nsys.exit(0)\n", "ended itself with exit status 0 before its end"),
        ("import os\nmean_age, unknown = 1, []\nos._exit(0)\n", "ended itself before its end, so nothing was taken"),
        ("mean_age = 1 / 0\n", "ZeroDivisionError"),
        ("mean_age, unknown = 1, 'x' * 80_000_000\n", "`unknown` is too large to be taken"),
    ],
)
def test_what_goes_wrong_is_told_and_is_no_attempt(environment: EpisodeEnvironment, code: str, words: str) -> None:
    observation, *_ = environment.step("validate_code", code=code)
    assert words in observation and "This was no attempt." in observation
    assert environment.trajectory.attempts == [] and len(observation) < 20_000


def test_a_flood_of_a_gigabyte_is_cut_off_in_words(environment: EpisodeEnvironment) -> None:
    observation, *_ = environment.step("validate_code", code="for _ in range(1024):\n    print('x' * 1024 * 1024)\n")
    assert "output was cut after" in observation and len(observation) < 20_000


def test_a_table_of_three_million_rows_is_taken_or_said_to_be_too_large(environment: EpisodeEnvironment) -> None:
    code = "import numpy as np, pandas as pd\nunknown = []\nmean_age = pd.DataFrame({'a': np.random.default_rng(1).random(3_000_000)})\n"
    observation, *_ = environment.step("validate_code", code=code)
    assert "Left: mean_age (DataFrame of 3,000,000 x 1), unknown (list of 0)." in observation and "no attempt" not in observation
    wide = code.replace("({'a': np.random.default_rng(1).random(3_000_000)})", "(np.random.default_rng(1).random((3_000_000, 4)))")
    observation, *_ = environment.step("validate_code", code=wide)
    assert "`mean_age` is too large to be taken (DataFrame of 3,000,000 x 4: more than" in observation


def test_a_generator_an_open_file_and_a_thread_are_told(environment: EpisodeEnvironment) -> None:
    code = """
import threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
stream = open("notes.txt", "w")
mean_age, unknown = 65.5, (name for name in ["P3"])
"""
    observation, *_ = environment.step("validate_code", code=code)
    assert "unknown (generator, which is no data)" in observation
    assert "Threads that still ran at the end of the program were stopped (1)." in observation
    assert "Files were left open (1); what was not written out by then may be lost." in observation
    _, reward, *_ = environment.step("submit")
    assert reward == 0.0


def test_evidence_can_be_judged_again_from_the_record(task: BioDSBench, pool: BoxPool) -> None:
    code = task.reference_code(task.instance(0)) + "print('x' * 100_000)\n"
    (evidence,) = play(task, pool, 0, code).attempts
    again = Evidence.from_json(json.loads(json.dumps(capped_evidence(evidence).to_json())))
    assert again.complete and task.judges()["strict"].judge(task.reference(task.instance(0)), again).correct
    assert again.gathered["left"] == {"mean_age": "data: numpy.float64", "unknown": "data: list of 1"}


@pytest.mark.parametrize("name", ["landlock", "none"])
def test_sandboxes_without_a_file_system_of_their_own_find_the_tables_too(task: BioDSBench, name: str) -> None:
    from medagentgym.sandbox.selection import probe

    if not probe(name).works:
        pytest.skip(probe(name).reason)
    other = BioDSBench(task.folder, task.config)
    other.box_has_own_paths = False
    with BoxPool(choose_backend(name), 2) as pool:
        for idx in (0, 1):
            assert is_right(other, pool, idx, other.reference_code(other.instance(idx)))
            assert "/workdir" not in other.prompt_fields(other.instance(idx))["question"]


def test_a_user_s_mistake_is_one_line(tmp_path: Path) -> None:
    tasks = write_rows(tmp_path / "tasks.jsonl", [{"queries": "q", "reference_answer": "x = 1"}])
    with pytest.raises(UserError, match="row 0: has no test_cases"):
        BioDSBench.build(config_of(tmp_path, questions={"test": tasks}), tmp_path / "built")
    with pytest.raises(UserError, match="exactly one of data_path, raw_path, questions and synthetic"):
        BioDSBench.build(config_of(tmp_path), tmp_path / "built")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(UserError, match=r"nothing: holds no study, .*; correct data\.raw_path"):
        BioDSBench.build(config_of(tmp_path, raw_path=tmp_path / "nothing", questions={"test": tasks}), tmp_path / "built")


@pytest.mark.shared_data
def test_the_published_tasks_load_and_render_and_name_the_missing_studies(shared_data: Path, tmp_path: Path) -> None:
    tasks = shared_data / "biodsbench" / "python_tasks_with_class.jsonl"
    task = opened(config_of(tmp_path, raw_path=shared_data / "biodsbench", questions={"test": tasks}), tmp_path / "built")
    assert BioDSBench.count(task.config) == 118
    for idx in range(118):
        instance = task.instance(idx)
        prompt = render_prompt(task.config, task.prompt_fields(instance), ("validate_code", "submit"))
        assert instance.record["queries" if "queries" in instance.record else "question"][:40] in prompt[1]["content"]
        assert str(task.ungradable(instance)).startswith("cannot be run: the tables of study ")
        assert instance.record["gold"]["assertions"] > 0
    assert len(task.manifest["questions"]["test"]["missing_studies"]) == 14
    assert "egc_msk_2023: 10 instances" in task.manifest["remarks"][0]


def needs_environment() -> None:
    if not environments.is_built("bioinformatics"):
        pytest.skip("the environment bioinformatics is not built: medagentgym environments build bioinformatics")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_made_up_study_can_be_judged_throughout(tmp_path: Path) -> None:
    needs_environment()
    task = opened(config_of(tmp_path, None, synthetic={"train": 1, "test": 20}), tmp_path / "built")
    with BoxPool(choose_backend("auto"), 2) as pool:
        for idx in range(20):
            instance = task.instance(idx)
            assert is_right(task, pool, idx, task.reference_code(instance)), idx
            for name, program in task.broken_references(instance).items():
                assert not is_right(task, pool, idx, program), (idx, name)


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.timeout(1800)
def test_tasks_of_our_own_over_a_real_study(shared_data: Path, tmp_path: Path) -> None:
    needs_environment()
    study = shared_data / "biodsbench" / acbc_tasks.STUDY
    (tmp_path / "published" / "data").mkdir(parents=True)
    (tmp_path / "published" / "data" / acbc_tasks.STUDY).symlink_to(study)
    tasks = acbc_tasks.make_tasks(study)
    write_rows(tmp_path / "published" / "test_tasks.jsonl", tasks)
    task = opened(config_of(tmp_path, None, data_path=tmp_path / "published"), tmp_path / "built")
    assert len(tasks) >= 8
    with BoxPool(choose_backend("auto"), 2) as pool:
        for idx in range(len(tasks)):
            instance = task.instance(idx)
            assert task.ungradable(instance) is None
            played = play(task, pool, idx, task.reference_code(instance))
            verdict = played.verdict(task.judges()["strict"], task.reference(instance), "none")
            assert verdict.correct, (idx, verdict.reason)
            for name, program in task.broken_references(instance).items():
                assert not is_right(task, pool, idx, program), (idx, name)
            cheats = task.cheats(instance)
            assert len(cheats) >= 10
            for probe in cheats:
                assert not is_right(task, pool, idx, str(probe.actions[0][1]["code"])), (idx, probe.name)
