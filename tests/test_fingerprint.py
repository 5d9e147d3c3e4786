"""One result folder, one configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medagentgym import fingerprint
from medagentgym.config import Config
from medagentgym.errors import UserError


def config(**changes: Any) -> Config:
    return Config.model_validate({"agent": {"name": "llm", "llm": {"model_name": "a"}}, **changes})


def whole(settings: Config, **digests: str) -> dict[str, Any]:
    parts = {"configuration": fingerprint.configuration_part(settings), "digests": {"data": "d", "environment": "e", **digests}}
    return {"schema": fingerprint.FINGERPRINT_SCHEMA, "fingerprint": fingerprint.digest(parts), **parts, "versions": {"medagentgym": "0"}}


@pytest.mark.parametrize(
    "changes",
    [
        {"end_idx": 7},
        {"in_flight": 3},
        {"batch_size": 9},
        {"result_dir_tag": "other"},
        {"scoring": {"judges": ["published"]}},
        {"training": {"num_rollouts": 3}},
        {"data": {"exclude": [1]}},
        {"agent": {"name": "llm", "llm": {"model_name": "a", "port": 9}, "n_retry": 7}},
    ],
)
def test_what_changes_no_episode_is_no_part_of_it(changes: dict[str, Any]) -> None:
    assert fingerprint.configuration_part(config(**changes)) == fingerprint.configuration_part(config())


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"agent": {"name": "llm", "llm": {"model_name": "b"}}}, "agent.llm.model_name"),
        ({"agent": {"name": "llm", "llm": {"model_name": "a", "temperature": 1.0}}}, "agent.llm.temperature"),
        ({"protocol": "oracle_stop"}, "protocol"),
        ({"num_steps": 3}, "num_steps"),
        ({"sandbox": {"memory_mb": 512}}, "sandbox.memory_mb"),
        ({"sandbox": {"network": "package-index"}}, "sandbox.network"),
        ({"training": {"seed": 5}}, "training.seed"),
        ({"data": {"gold": "stored"}}, "data.gold"),
    ],
)
def test_a_key_that_changes_episodes_is_named_with_both_values(tmp_path: Path, changes: dict[str, Any], key: str) -> None:
    fingerprint.claim(tmp_path, whole(config()))
    with pytest.raises(UserError, match=rf"{key}: .* then, .* now"):
        fingerprint.check_configuration(tmp_path, config(**changes))
    fingerprint.check_configuration(tmp_path, config())


def test_a_package_index_counts_where_boxes_are_shown_one(tmp_path: Path) -> None:
    index = {"package_index": "https://index.example.org/simple", "package_index_hosts": [], "package_index_mb": 5}
    assert fingerprint.configuration_part(config(sandbox=index)) == fingerprint.configuration_part(config())
    fingerprint.claim(tmp_path, whole(config(sandbox={"network": "package-index"})))
    with pytest.raises(UserError, match=r"sandbox\.package_index: .*pypi.* then, .*index\.example\.org.* now.*_hosts.*_mb"):
        fingerprint.check_configuration(tmp_path, config(sandbox={"network": "package-index", **index}))


def made_up(impossible: str, **keys: Any) -> Config:
    return config(task="mimic_iii", data={"synthetic": {"train": 3, "test": 10, "seed": 0}, "impossible": impossible}, **keys)


def test_asking_impossible_questions_is_another_configuration_because_agents_may_then_abstain(tmp_path: Path) -> None:
    fingerprint.claim(tmp_path, whole(made_up("exclude")))
    with pytest.raises(UserError, match=r"data\.impossible: null then, \"asked\" now"):
        fingerprint.check_configuration(tmp_path, made_up("include"))
    assert fingerprint.configuration_part(made_up("only")) == fingerprint.configuration_part(made_up("include"))


def test_where_there_are_no_impossible_questions_asking_them_changes_no_episode() -> None:
    parts = [fingerprint.configuration_part(made_up(impossible, mode="train")) for impossible in ("exclude", "include")]
    assert parts[0] == parts[1] and "data.impossible" not in parts[0]


def test_other_prompts_are_another_configuration(tmp_path: Path) -> None:
    template = tmp_path / "system.jinja"
    template.write_text("Answer.")
    first = fingerprint.configuration_part(config(prompts={"system": str(template)}))
    template.write_text("Answer, please.")
    assert fingerprint.configuration_part(config(prompts={"system": str(template)}))["prompts"] != first["prompts"]


@pytest.mark.parametrize("key", ["data", "environment"])
def test_other_data_or_other_code_stop_a_worker(tmp_path: Path, key: str) -> None:
    fingerprint.claim(tmp_path, whole(config()))
    fingerprint.claim(tmp_path, whole(config()))
    with pytest.raises(UserError, match=key):
        fingerprint.claim(tmp_path, whole(config(), **{key: "changed"}))


def test_a_folder_with_episodes_and_without_the_file_is_an_import(tmp_path: Path) -> None:
    fingerprint.check_configuration(tmp_path, config())
    (tmp_path / "history_3.json").write_text("[]")
    with pytest.raises(UserError, match="import"):
        fingerprint.check_configuration(tmp_path, config())
    with pytest.raises(UserError, match="import"):
        fingerprint.claim(tmp_path, whole(config()))
    assert [path.name for path in tmp_path.iterdir()] == ["history_3.json"]


def test_a_broken_fingerprint_file_is_named(tmp_path: Path) -> None:
    (tmp_path / fingerprint.FILE_NAME).write_text('{"configuration"')
    with pytest.raises(UserError, match=r"configuration\.json"):
        fingerprint.check_configuration(tmp_path, config())


@pytest.mark.parametrize("content", ["[1]", "null", "{}", '{"configuration": null, "digests": {}, "fingerprint": ""}'])
def test_a_fingerprint_file_that_lost_a_part_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / fingerprint.FILE_NAME).write_text(content)
    with pytest.raises(UserError, match=rf"{fingerprint.FILE_NAME}: not readable"):
        fingerprint.check_configuration(tmp_path, config())


def test_the_file_holds_what_made_the_episodes_and_nothing_half_written_stays(tmp_path: Path) -> None:
    fingerprint.claim(tmp_path, whole(config()))
    assert [path.name for path in tmp_path.iterdir()] == [fingerprint.FILE_NAME]
    assert json.loads((tmp_path / fingerprint.FILE_NAME).read_text())["configuration"]["agent.llm.model_name"] == "a"


def test_the_digest_of_code_covers_a_package_with_all_that_is_below_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_package"
    (package / "below").mkdir(parents=True)
    for file in (package / "__init__.py", package / "below" / "__init__.py", package / "below" / "rule.py"):
        file.write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    before = fingerprint.code_digest(["some_package"])
    assert fingerprint.code_digest(["some_package", "some_package"]) == before
    (package / "below" / "rule.py").write_text("x = 1")
    assert fingerprint.code_digest(["some_package"]) != before
