"""What the audit finds out about a small task, in real boxes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sums_task import install, sum_of, write_rows

from medagentgym.audit.files import AUDIT_SCHEMA, read_outcome, summary_page
from medagentgym.audit.task import audit_task
from medagentgym.config import Config
from medagentgym.configuration import load_config
from medagentgym.errors import UserError
from medagentgym.plan import data_folder
from medagentgym.tasks.registry import get_task_class
from medagentgym.tasks.selection import select

SOUND = [sum_of(1, 2), sum_of(3, 0), sum_of(0, 1), sum_of(10, 20), sum_of(4, 4)]
"""Two of the five sums are 3."""


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Config]:
    """Builds a task out of rows; gives its configuration."""
    install(tmp_path / "installed")
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))

    def build(rows: Sequence[dict[str, Any]], task: str = "sums", **changes: Any) -> Config:
        data = {"data_path": str(write_rows(tmp_path / "source", rows)), **changes.pop("data", {})}
        config = load_config(
            {"work_dir": str(tmp_path / "work"), "name": "test", "task": task, "agent": {"name": "reference"}, "data": data, **changes}
        )
        get_task_class(task).build(config, data_folder(config))
        return config

    return build


def audited(config: Config) -> dict[int, dict[str, str]]:
    """The audit's table by `idx`, after a run of it."""
    audit_task([config], 2, print)
    return {int(row["idx"]): row for row in table(config, "")}


def table(config: Config, suffix: str) -> list[dict[str, str]]:
    text = (config.work_dir / "audit" / f"{config.task}{suffix}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def summary(config: Config) -> dict[str, dict[str, str]]:
    """The summary by the name of probe or reason."""
    return {row["name"]: row for row in table(config, "_summary")}


def test_sound_instances_can_be_judged_and_no_cheat_gets_above_its_floor(built: Callable[..., Config]) -> None:
    config = built(SOUND)
    rows = audited(config)
    assert {row["gradable"] for row in rows.values()} == {"True"}
    assert {row["reference_strict"] for row in rows.values()} == {"True"}
    assert {row["another_value_strict"] for row in rows.values()} == {row["surplus_strict"] for row in rows.values()} == {"False"}
    found = summary(config)
    assert {row["within_floor"] for name, row in found.items() if row["what"] in ("broken", "cheat")} == {"True"}
    assert (found["reference"]["strict"], found["reference"]["floor"]) == ("5", "")
    assert (found["constant_one"]["strict"], found["constant_one"]["floor"]) == ("1", "2")
    assert (found["commonest_gold"]["strict"], found["commonest_gold"]["floor"]) == ("2", "2")
    assert (found["ten_guesses"]["strict"], found["ten_guesses"]["floor"]) == ("4", "5")
    assert (found["two_guesses"]["strict"], found["two_guesses"]["floor"]) == ("0", "3")
    assert (found["equal_object"]["strict"], found["equal_object"]["floor"]) == ("0", "0")
    page = (config.work_dir / "audit" / "sums_summary.md").read_text()
    assert "5 of 5 instances can be judged" in page and "ABOVE" not in page
    assert "\n\nJudge strict: accepts every reference that can be judged; no cheat and no broken reference is above its floor.\n" in page


def test_what_only_the_published_judge_reads_is_played_as_the_published_system_runs_it(built: Callable[..., Config]) -> None:
    config = built(SOUND)
    audited(config)
    found = summary(config)
    assert (found["print_everything"]["strict"], found["print_everything"]["published"]) == ("0", "4")  # 30 is not in the table
    assert (found["hundred_numbers"]["strict"], found["hundred_numbers"]["published"]) == ("0", "5")


@pytest.mark.parametrize(
    ("row", "reason", "detail"),
    [
        (sum_of(6, 7, gold=4), "reference fails", "another answer"),
        (sum_of(6, 7, program="answer = 1 / 0"), "cannot be run", "ZeroDivisionError: division by zero"),
        (sum_of(6, 7, program="print(13)"), "reference fails", "it makes no attempt"),
        (sum_of(6, 7, program="import random\nprint(random.random())\nanswer = 13"), "nondeterministic", "two runs"),
        (sum_of(6, 7, gold=None, program="answer = None"), "empty", ""),
        (sum_of(6, 7, gold=["x" * 5000], program="answer = ['x' * 5000]"), "gold cannot be expressed", "sandbox.answer_bytes"),
        (sum_of(6, 7, broken="answer = 13"), "broken reference passes", "another_value"),
        (sum_of(6, 7, ungradable="tie: 2 rows share the largest value"), "tie", "2 rows share the largest value"),
        (sum_of(6, 7, ungradable="the ink has faded", gold=4), "the ink has faded", ""),
    ],
)
def test_an_instance_that_cannot_be_judged_is_listed_with_its_reason(
    row: dict[str, Any], reason: str, detail: str, built: Callable[..., Config]
) -> None:
    config = built([*SOUND, row], sandbox={"answer_bytes": 1000})
    rows = audited(config)
    assert (rows[5]["gradable"], rows[5]["reason"]) == ("False", reason)
    assert detail in rows[5]["detail"]
    assert [rows[idx]["gradable"] for idx in range(5)] == ["True"] * 5
    found = summary(config)
    assert (found[reason]["what"], found[reason]["instances"]) == ("ungradable", "1")
    assert found["reference"]["instances"] == "5"


def test_the_same_question_with_another_gold_makes_both_impossible_to_judge(built: Callable[..., Config]) -> None:
    wrong = sum_of(4, 4, gold=9)
    rows = audited(built([*SOUND, sum_of(1, 2, gold=12, program="answer = 12"), sum_of(3, 0), wrong]))
    assert rows[7].pop("reason") == "reference fails"  # its own fault, which says nothing of the other 4 + 4
    assert {idx: row["reason"] for idx, row in rows.items() if row["gradable"] == "False" and "reason" in row} == dict.fromkeys(
        (0, 5), "contradicts another instance"
    )
    assert rows[0]["detail"].startswith("instance 5:") and rows[5]["detail"].startswith("instance 0:")


def test_an_impossible_question_is_solved_by_abstaining_alone(built: Callable[..., Config]) -> None:
    config = built([*SOUND, sum_of(1, 7, impossible=True, gold=None), sum_of(2, 7, impossible=True, gold=None)], data={"impossible": "include"})
    rows = audited(config)
    assert [rows[idx]["kind"] for idx in (0, 5)] == ["answerable", "impossible"]
    assert [rows[idx]["reference_strict"] for idx in (0, 5)] == ["True", "True"]
    assert [rows[idx]["abstain_strict"] for idx in (0, 5)] == ["False", "True"]
    assert {row["gradable"] for row in rows.values()} == {"True"}
    assert (summary(config)["abstain"]["strict"], summary(config)["abstain"]["floor"]) == ("2", "2")


def test_a_judge_that_an_object_equal_to_anything_fools_is_told_and_the_tables_are_written(built: Callable[..., Config]) -> None:
    config = built(SOUND, task="foolable_sums")
    above = audit_task([config], 2, print)
    assert above == ["foolable_sums/test: judge strict accepts probe equal_object on 5 of 5 instances, and its floor is 0"]
    assert summary(config)["equal_object"]["within_floor"] == "False"
    assert json.loads((config.work_dir / "audit" / "foolable_sums.json").read_text())["failures"] == above
    page = (config.work_dir / "audit" / "foolable_sums_summary.md").read_text()
    assert "ABOVE ITS FLOOR" in page
    assert "\n\nJudge strict: accepts every reference that can be judged; cheats above their floor: equal_object.\n" in page


class TestBrokenReferencesThatPass:
    """They may be the fault of the instance or of the judge, which a person has to tell."""

    def test_they_are_told_and_counted_though_their_instances_cannot_be_judged(self, built: Callable[..., Config]) -> None:
        config = built([*SOUND, sum_of(6, 7, broken="answer = 13")])
        assert audit_task([config], 2, print) == []
        about = json.loads((config.work_dir / "audit" / "sums.json").read_text())
        said = "sums/test: judge strict accepts the broken reference another_value on 1 of 6 instances, which cannot be judged therefore"
        assert about["warnings"] == [said]
        found = summary(config)["another_value"]
        assert (found["instances"], found["strict"], found["within_floor"]) == ("6", "1", "False")
        page = (config.work_dir / "audit" / "sums_summary.md").read_text()
        assert "accepts every reference that can be judged; broken references that pass: another_value.\n" in page

    def test_an_audit_that_leaves_nothing_to_judge_fails(self, built: Callable[..., Config]) -> None:
        config = built([sum_of(6, 7, broken="answer = 13"), sum_of(1, 2, gold=4)])
        assert audit_task([config], 2, print) == ["sums/test: none of 2 instances can be judged (reference fails 1, broken reference passes 1)"]
        assert "Judge strict: nothing to say, because no instance can be judged.\n" in (config.work_dir / "audit" / "sums_summary.md").read_text()


def test_the_same_data_give_the_same_bytes(built: Callable[..., Config]) -> None:
    config = built([*SOUND, sum_of(1, 2, gold=4)])
    files = []
    for threads in (1, 4):
        audit_task([config], threads, print)
        files.append({path.name: path.read_bytes() for path in (config.work_dir / "audit").iterdir()})
    assert sorted(files[0]) == ["sums.csv", "sums.json", "sums_summary.csv", "sums_summary.md"]
    assert files[0] == files[1]


def test_playing_a_cheat_once_for_all_says_the_same_as_playing_it_for_each(built: Callable[..., Config]) -> None:
    rows = [*SOUND, sum_of(1, 2, gold=4)]
    shared, own = audited(built(rows)), audited(built(rows, task="own_sums"))
    common = [name for name in own[0] if name.endswith(("_strict", "_published")) and name in shared[0]]
    assert len(common) > 50
    for idx, row in own.items():
        assert {name: row[name] for name in common} == {name: shared[idx][name] for name in common}
    assert "commonest_gold_strict" in shared[0] and "commonest_gold_strict" not in own[0]


def test_an_instance_without_a_reference_needs_no_cheats_that_rest_on_one(built: Callable[..., Config]) -> None:
    rows = audited(built([*SOUND, sum_of(6, 7, program=None)], task="own_sums"))
    assert (rows[5]["reason"], rows[5]["detail"]) == ("cannot be run", "own_sums 5: has no program")
    assert [rows[idx]["exit_first_strict"] for idx in (0, 5)] == ["False", ""]


def test_the_audit_takes_the_instances_that_are_asked_for_and_those_that_it_excluded_before(built: Callable[..., Config]) -> None:
    config = built([*SOUND, sum_of(1, 2, gold=4)], data={"exclude": ["audit", 2]}, end_idx=6, start_idx=1)
    assert sorted(audited(config)) == [1, 3, 4, 5]
    assert get_task_class("sums").indices(config) == [0, 1, 3, 4]  # start_idx is applied afterwards
    assert sorted(audited(config)) == [1, 3, 4, 5]


def test_several_experiments_are_audited_together_mode_by_mode(built: Callable[..., Config], tmp_path: Path) -> None:
    write_rows(tmp_path / "source", [sum_of(7, 7), sum_of(8, 8)], mode="train")
    config = built(SOUND)
    halves = [config.model_copy(update=change) for change in ({"end_idx": 2}, {"start_idx": 4}, {"mode": "train"})]
    audit_task(halves, 2, print)
    assert [(row["mode"], row["idx"]) for row in table(config, "")] == [("test", "0"), ("test", "1"), ("test", "4"), ("train", "0"), ("train", "1")]


# --- data.exclude: audit ----------------------------------------------------------------------------------------------------------------------------


def excluding(config: Config, **changes: Any) -> Config:
    return config.model_copy(update={"data": config.data.model_copy(update={"exclude": "audit"}), **changes})


def test_excluding_by_the_audit_leaves_out_what_cannot_be_judged(built: Callable[..., Config]) -> None:
    config = built([*SOUND, sum_of(1, 2, gold=4)])
    audited(config)
    assert select(excluding(config), 6, ()) == [0, 1, 2, 3, 4]


def test_excluding_by_an_audit_that_is_not_there_names_the_file_and_what_to_run(built: Callable[..., Config]) -> None:
    config = built(SOUND)
    with pytest.raises(UserError, match=r"audit/sums\.csv, which is not there; run the target `audit`"):
        select(excluding(config), 5, ())


def test_excluding_by_an_audit_of_other_data_is_refused(built: Callable[..., Config]) -> None:
    audited(built(SOUND))
    changed = built([sum_of(5, 5), *SOUND[1:]])
    with pytest.raises(UserError, match=r"audits other data than .*run the target `audit`"):
        select(excluding(changed), 5, ())


def test_excluding_by_an_audit_that_lacks_an_instance_or_the_mode_is_refused(built: Callable[..., Config], tmp_path: Path) -> None:
    write_rows(tmp_path / "source", SOUND, mode="train")
    config = built(SOUND, end_idx=3)
    audited(config)
    assert select(excluding(config), 5, ()) == [0, 1, 2, 3, 4]
    with pytest.raises(UserError, match="lacks instance 3 and 1 more of mode test"):
        select(excluding(config, end_idx=-1), 5, ())
    with pytest.raises(UserError, match="lacks instance 0 and 2 more of mode train"):
        select(excluding(config, mode="train"), 5, ())


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "nothing\n1\n",
        lambda text: text + '"' + "x" * 200_000,
        lambda text: text.replace("True", "banana"),
        lambda text: text.replace("test,0,", "test,none,"),
        lambda text: text[: text.rstrip("\n").rindex("\n") + 1],
        lambda text: text[:-1],
        lambda text: text[: text.rindex("False")],
        lambda text: text.replace("answerable", "answerablf", 1),
    ],
    ids=[
        "another table", "an endless cell", "neither true nor false", "no number", "without its last row", "without the end of its last line",
        "a last row that is cut off", "another letter",
    ],
)  # fmt: skip
def test_a_damaged_audit_is_named(built: Callable[..., Config], damage: Callable[[str], str]) -> None:
    config = built(SOUND)
    audited(config)
    path = config.work_dir / "audit" / "sums.csv"
    path.write_text(damage(path.read_text()))
    with pytest.raises(UserError, match=r"sums\.csv: not a readable audit .*; delete .*audit/sums\.csv and run the target `audit`") as told:
        select(excluding(config), 5, ())
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("sums.json", lambda text: text[:-20], r"sums\.json: not the account of an audit"),
        ("sums.json", lambda text: "[]", r"sums\.json: not the account of an audit"),
        ("sums.json", lambda text: text.replace("failures", "failings"), r"sums\.json: not the whole account of an audit \(key failures\)"),
        ("sums.json", lambda text: text.replace(AUDIT_SCHEMA, "medagentgym/audit/1"), r"sums\.json: not the account of an audit by this version"),
        ("sums_summary.md", lambda text: text[:-20], r"sums_summary\.md: not a readable audit \(it is cut off, or was changed"),
        ("sums_summary.md", lambda text: text.replace("never", "always"), r"sums_summary\.md: not a readable audit"),
    ],
)
def test_damage_to_what_is_printed_of_an_audit_is_named(built: Callable[..., Config], name: str, damage: Callable[[str], str], said: str) -> None:
    config = built(SOUND)
    audited(config)
    path = config.work_dir / "audit" / name
    assert damage(path.read_text()) != path.read_text()
    path.write_text(damage(path.read_text()))
    with pytest.raises(UserError, match=rf"{said}.*; delete .*audit/sums\.csv and run the target `audit`"):
        summary_page(config.work_dir / "audit" / "sums.csv")
    if name == "sums.json":
        with pytest.raises(UserError, match=said):
            read_outcome(config.work_dir / "audit" / "sums.csv")


def test_the_summary_explains_the_probes_that_were_played_and_no_others(built: Callable[..., Config]) -> None:
    config = built(SOUND)
    audited(config)
    explained = summary_page(config.work_dir / "audit" / "sums.csv").partition("## What the probes do")[2]
    assert "`two_guesses`: True, then False, as two attempts" in explained
    assert "`constant_one`" in explained and "killed_program" not in explained
