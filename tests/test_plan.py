"""From a configuration to files and jobs, without Snakemake."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pandas
import pytest

from medagentgym.audit.files import AUDIT_SCHEMA, COLUMNS, write_audit
from medagentgym.built_data import BUILD_SCHEMA, SELECTION_KEYS, file_digest
from medagentgym.config import Config, SyntheticConfig
from medagentgym.configuration import load_config
from medagentgym.errors import UserError
from medagentgym.plan import Plan, batch_size, check, make_plan, plan_workflow, read_plan
from medagentgym.record import write_json
from medagentgym.synthetic import impossible_indices

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


def refusal(**changes: Any) -> str:
    with pytest.raises(UserError) as raised:
        plan(**changes)
    return str(raised.value)


ALL = "from start_idx 0 to end_idx 50"
IMPOSSIBLE = sorted(impossible_indices(SyntheticConfig.model_validate(MADE_UP["synthetic"]), "test"))
ANSWERABLE = sorted(set(range(50)) - set(IMPOSSIBLE))


@pytest.mark.parametrize(
    ("task", "data", "said"),
    [
        (
            "treqs",
            {"impossible": "only"},
            f"50 {ALL}, 0 after data.impossible: only; task treqs has no questions that the data cannot answer; set data.impossible to exclude, "
            "or take a task that has some (eicu, mimic_iii)",
        ),
        ("medcalcbench", {"impossible": "only"}, "task medcalcbench has no questions that the data cannot answer"),
        (
            "mimic_iii",
            {"impossible": "only", "only": ANSWERABLE},
            f"{len(ANSWERABLE)} after data.only, 0 after data.impossible: only; "
            f"the questions that the data cannot answer are others ({IMPOSSIBLE[0]}",
        ),
        ("mimic_iii", {"only": IMPOSSIBLE}, "0 after data.impossible: exclude; the data cannot answer any of these questions; set data.impossible"),
        ("treqs", {"only": []}, "0 after data.only; name some of 0, 1, 2, 3, 4, ... in data.only, or set it to null for all"),
        (
            "treqs",
            {"only": [1, 2, 3], "exclude": [1, 2, 3]},
            "3 after data.only, 3 after data.impossible: exclude, 0 after data.exclude; data.exclude names all that remain; take some out of it",
        ),
    ],
)
def test_a_selection_that_leaves_nothing_names_the_key_that_did_it_and_what_each_left(task: str, data: dict[str, Any], said: str) -> None:
    message = refusal(task=task, data={**MADE_UP, **data})
    assert said in message and message.startswith(f"{task}/reference/test: no instance is left to ask: ")


def test_so_does_one_of_a_part_of_the_instances_or_of_a_list_of_rollouts() -> None:
    part = refusal(task="treqs", data={**MADE_UP, "only": [3]}, end_idx=3)
    assert "3 from start_idx 0 to end_idx 3, 0 after data.only; name some of 0, 1, 2 in data.only" in part
    Path("rollouts.json").write_text(json.dumps({"treqs": {"test": []}}))
    listed = refusal(task="treqs", training={"rollout_indices": "rollouts.json"})
    assert "0 after training.rollout_indices; name some of 0, 1, 2, 3, 4, ... in rollouts.json" in listed
    none = refusal(task="treqs", mode="train", data={"synthetic": {"patients": 10, "train": 0}})
    assert none == "data.synthetic.train: task treqs has no train instance; ask for some, or choose the other mode"


def test_a_selection_from_built_data_that_leaves_nothing_names_the_key() -> None:
    folder = Path("work/data/treqs")
    config: dict[str, Any] = {"task": "treqs", "data": {**MADE_UP, "only": [0, 1]}}
    wanted = plan(**config).experiments[0].config.data.model_dump(mode="json", exclude=set(SELECTION_KEYS))
    empty = [{"idx": idx, "is_impossible": False, "gold": {"status": "empty"}} for idx in range(50)]
    tasks = folder / "test_tasks.jsonl"
    tasks.parent.mkdir(parents=True, exist_ok=True)
    tasks.write_text("".join(json.dumps(row) + "\n" for row in empty))
    questions = {"test": {"sha256": file_digest(tasks)}}
    write_json(folder / "build.json", {"schema": BUILD_SCHEMA, "configuration": wanted, "questions": questions})
    said = refusal(**{**config, "data": {**config["data"], "empty_gold": "exclude"}})
    assert "2 after data.only" in said and "0 after data.empty_gold: exclude; all that remain have an empty gold" in said
    rows = pandas.DataFrame([{"task": "treqs", "mode": "test", "idx": idx, "gradable": False} for idx in range(50)], columns=list(COLUMNS))
    about = {"schema": AUDIT_SCHEMA, "data": file_digest(folder / "build.json"), "failures": [], "warnings": []}
    write_audit(Path("work/audit"), "treqs", about, table=rows.to_csv(index=False), summary="", page="")
    said = refusal(**{**config, "data": {**config["data"], "exclude": ["audit"]}})
    assert "0 after data.exclude: audit; the audit says why none of them can be judged" in said


def test_made_up_questions_have_no_stored_golds_and_that_is_said_before_anything_is_made() -> None:
    planned = plan(data={**MADE_UP, "gold": "stored"})
    with pytest.raises(UserError, match=r"^data\.gold: `stored` takes the answers of a question file, and made-up questions have none; set it to"):
        planned.sources("mimic_iii")


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
