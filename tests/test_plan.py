"""From a configuration to files and jobs, without Snakemake."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from medagentgym.config import Config
from medagentgym.configuration import load_config
from medagentgym.errors import UserError
from medagentgym.plan import Plan, batch_size, check, make_plan, plan_workflow, read_plan

MADE_UP = {"synthetic": {"patients": 10, "train": 4, "test": 50}}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def plan(**changes: Any) -> Plan:
    return make_plan(load_config({"work_dir": "./work/", "data": MADE_UP, "agent": {"name": "reference"}, **changes}))


@pytest.mark.parametrize(("episodes", "size"), [(1, 20), (320, 20), (321, 21), (3_200, 200), (72_413, 200)])
def test_the_automatic_batch_size_follows_from_the_number_of_episodes_alone(episodes: int, size: int) -> None:
    assert batch_size(Config(), episodes) == size
    assert batch_size(Config(batch_size=7), episodes) == 7


def test_shards_cover_every_episode_once_and_in_order() -> None:
    planned = plan(batch_size=7)
    files = [file for shard in planned.shards for file in shard.files]
    assert files == planned.episodes and len(set(files)) == len(files)
    assert {len(shard.files) for shard in planned.shards[:-1]} == {7}
    assert len({shard.rule for shard in planned.shards}) == len(planned.shards)


def test_paths_are_those_that_snakemake_compares() -> None:
    planned = plan(result_dir_tag="tag")
    assert planned.episodes[0] == "work/mimic_iii/tag/test/history_0.json"
    assert planned.scores == ["work/mimic_iii/tag/scores_test.parquet"] and planned.data == ["work/data/mimic_iii/build.json"]


def test_planning_writes_nothing_and_the_plan_file_holds_what_was_planned() -> None:
    planned = plan(start_idx=3)
    check(planned, spending=True)
    assert list(Path().iterdir()) == []
    planned.write()
    assert read_plan(Path(planned.file)) == [planned.experiments[0].config]
    assert Path("work").stat().st_mode & 0o777 == 0o700


def test_extending_a_run_keeps_the_names_of_its_episodes() -> None:
    assert set(plan(end_idx=10).episodes) < set(plan().episodes)


def test_rollouts_are_episodes_of_their_own() -> None:
    names = [Path(file).name for file in plan(end_idx=1, training={"num_rollouts": 2}).episodes]
    assert names == ["history_0_0.json", "history_0_1.json"]


def test_two_experiments_share_the_data_and_not_the_folder() -> None:
    planned = plan(experiments=[{"result_dir_tag": "a"}, {"result_dir_tag": "b", "num_steps": 3}])
    assert len(planned.data) == 1 and len(planned.scores) == 2
    with pytest.raises(UserError, match=r"experiments\[1\]"):
        plan(experiments=[{"result_dir_tag": "a"}, {"result_dir_tag": "a", "num_steps": 3}])
    with pytest.raises(UserError, match=r"experiments\[1\]\.data"):
        plan(experiments=[{"result_dir_tag": "a"}, {"result_dir_tag": "b", "data": {"synthetic": {"seed": 5}}}])


def test_a_range_without_instances_says_so() -> None:
    with pytest.raises(UserError, match="no instance"):
        plan(data={**MADE_UP, "exclude": [0]}, end_idx=1)


def test_a_partial_table_plans_no_episode_and_needs_one_that_exists() -> None:
    config = load_config({"work_dir": "work", "data": MADE_UP, "agent": {"name": "reference"}})
    planned = make_plan(config, partial=True)
    assert planned.shards == [] and planned.episodes == []
    with pytest.raises(UserError, match="no episode to score"):
        check(planned, spending=False)


def test_a_mistake_ends_the_workflow_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.yaml").write_text("task: mimic_iii\nnum_step: 3\n")
    with pytest.raises(SystemExit) as ended:
        plan_workflow([Path("c.yaml")], {}, main_process=True, command_line=[])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.count("\n") == 1 and "c.yaml" in said and "num_steps" in said


@pytest.mark.parametrize("backend", ["landlock", "none"])
def test_a_sandbox_without_a_network_of_its_own_is_refused_before_anything_is_spent(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    planned = plan(sandbox={"backend": backend, "network": "package-index"})
    with pytest.raises(UserError, match=rf"^sandbox\.network: package-index needs boxes with a network of their own, which {backend} has not"):
        check(planned, spending=True)
    check(planned, spending=False)
    assert "the run itself would be refused: sandbox.network" in capsys.readouterr().err


def test_credentialed_records_and_a_public_package_index_are_refused_before_anything_is_spent() -> None:
    Path("questions.jsonl").write_text(json.dumps({"id": "a", "question": "q", "template": "q", "query": "select 1", "is_impossible": False}) + "\n")
    Path("a.sqlite").touch()
    planned = plan(data={"sqlite_path": "a.sqlite", "questions": {"test": "questions.jsonl"}}, sandbox={"network": "package-index"})
    with pytest.raises(UserError, match=r"sandbox\.package_index: would send credentialed records of mimic_iii to pypi\.org"):
        check(planned, spending=True)


def test_failures_are_told_once_each_and_only_of_this_run() -> None:
    planned = plan(batch_size=10, result_dir_tag="tag")
    started = time.time()
    for shard in planned.shards:
        Path(shard.log).parent.mkdir(parents=True, exist_ok=True)
        Path(shard.log).write_text("instance 3: model: down\nfailed: 10 of 10 episodes are missing; model: down\n")
    told = planned.failures(since=started - 1)
    assert len(told) == 1 and "model: down" in told[0] and f"{len(planned.shards)} batches" in told[0]
    assert planned.failures(since=time.time() + 10) == []


def test_the_plan_of_seventy_thousand_episodes_is_made_from_the_source_file_alone(tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    row = json.dumps({"id": "a", "question": "q", "template": "q", "query": "select 1", "is_impossible": False})
    questions.write_text((row + "\n") * 72_413)
    (tmp_path / "a.sqlite").touch()
    planned = make_plan(
        load_config({"data": {"sqlite_path": str(tmp_path / "a.sqlite"), "questions": {"test": str(questions)}}, "agent": {"name": "reference"}})
    )
    assert len(planned.episodes) == 72_413 and len(planned.shards) == 363
