from __future__ import annotations

import csv
import gzip
import json
import zipfile
from pathlib import Path
from typing import Any, ClassVar

import pytest

from medagentgym.config import Config, SyntheticConfig
from medagentgym.configuration import load_config
from medagentgym.errors import UserError
from medagentgym.judges.base import Evidence, Judge, Verdict
from medagentgym.row_files import SourceRow, count_rows, read_rows
from medagentgym.tasks.base import Instance
from medagentgym.tasks.task_file import TaskFileTask


class Equal:
    def __init__(self, name: str) -> None:
        self.name = name

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        correct = evidence.answer == reference["answer"]
        return Verdict(correct, float(correct), "")


class Sums(TaskFileTask):
    """A task of two numbers a row."""

    name = "sums"
    answer_form = "Leave the sum in `answer`."
    published_files: ClassVar = {"train": ("train_tasks_all.jsonl", "train_tasks.jsonl"), "test": ("test_tasks.jsonl",)}

    @classmethod
    def built_row(cls, row: SourceRow, config: Config) -> dict[str, Any]:
        gold: dict[str, Any] = {"answer": row.number("sum")}
        if gold["answer"] != row.number("a") + row.number("b"):
            gold["ungradable"] = "the gold is wrong"
        return {"id": f"sum-{row.idx}", "question": f"{row.text('a')} + {row.text('b')}?", "gold": gold}

    @classmethod
    def made_up_rows(cls, synthetic: SyntheticConfig, mode: str) -> list[dict[str, Any]]:
        return [{"a": number, "b": synthetic.seed, "sum": number + synthetic.seed} for number in range(getattr(synthetic, mode))]

    @classmethod
    def build_visible(cls, folder: Path, rows: Any, config: Config) -> None:
        (folder / "numbers.txt").write_text("0 1 2\n")

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        return {name: Equal(name) for name in ("strict", "published")}

    def reference_code(self, instance: Instance) -> str:
        return f"answer = {instance.record['gold']['answer']}\n"


ROWS = [{"a": 1, "b": 2, "sum": 3}, {"a": 2, "b": 2, "sum": 5}]


def configured(folder: Path, data: dict[str, Any], **keys: Any) -> Config:
    return load_config({"task": "mimic_iii", "work_dir": str(folder / "work"), "agent": {"name": "baseline"}, "data": data, **keys})


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def built(folder: Path, config: Config) -> Sums:
    Sums.build(config, folder / "data")
    return Sums(folder / "data", config)


# --- a class of its own ---------------------------------------------------------------------------------------------------------------------------


def test_a_task_that_says_nowhere_how_rows_are_built_is_refused_where_it_is_defined() -> None:
    with pytest.raises(TypeError, match=r"Unsaid: .* needs a class method built_row\(row, config\), or built_rows\(rows, mode, config\)"):

        class Unsaid(TaskFileTask):
            name = "unsaid"


def test_a_base_of_tasks_need_not_say_how_rows_are_built_and_a_task_may_say_it_for_all_rows_at_once() -> None:
    class Shared(TaskFileTask):
        answer_form = "Leave `answer`."

    class Whole(Shared):
        name = "whole"

        @classmethod
        def built_rows(cls, rows: list[SourceRow], mode: str, config: Config) -> list[dict[str, Any]]:
            return [{"question": "?", "gold": {}} for _ in rows]

    with pytest.raises(TypeError, match="built_row"):
        type("Half", (Shared,), {"name": "half"})
    type("Again", (Whole,), {"name": "again"})


# --- files of rows ------------------------------------------------------------------------------------------------------------------------------


def test_rows_are_read_from_json_lines_a_json_list_csv_and_packed_csv(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "rows.jsonl", ROWS)
    listed = tmp_path / "rows.json"
    listed.write_text(json.dumps(ROWS))
    table = tmp_path / "rows.csv"
    with table.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["a", "b", "sum"])
        writer.writeheader()
        writer.writerows(ROWS)
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress(table.read_bytes()))
    archive = tmp_path / "rows.csv.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        stream.write(table, "rows.csv")
    for path in (lines, listed, table, packed, archive):
        rows = read_rows(path, "data.questions.test")
        assert [[row.number(name) for name in ("a", "b", "sum")] for row in rows] == [[1, 2, 3], [2, 2, 5]], path
        assert count_rows(path, "data.questions.test") == 2


def test_a_cell_of_csv_may_be_long_and_hold_line_breaks(tmp_path: Path) -> None:
    note = "fever\n" * 100_000
    path = tmp_path / "notes.csv"
    path.write_text(f'note,gold\n"{note}",1\n')
    assert read_rows(path, "key")[0].text("note") == note


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("rows.jsonl", b"", "holds no row; correct data.questions.test"),
        ("rows.jsonl", b'{"a": 1}\n{"a": \n', "rows.jsonl, line 2: neither a JSON list nor JSON Lines"),
        ("rows.jsonl", b"3\n", "rows.jsonl, row 0: no JSON object"),
        ("rows.jsonl", b"\xff\xfe", "no text in UTF-8"),
        ("rows.csv", b"a,b\n1\n", "rows.csv, row 0: has another number of cells than the header"),
        ("rows.csv", b"a,b,a\n1,2,3\n", "rows.csv: column a occurs more than once"),
        ("rows.csv", b"a,b\n1,2\n3,\0\n", "rows.csv, line 3: no CSV (a character NUL)"),
        ("rows.csv", b'a,b\n1,"2\n', "rows.csv, line 2: no CSV"),
        ("rows.csv", "a,b\n1,2\n".encode("utf-16"), "no text in UTF-8"),
        ("rows.jsonl", b'{"a": 1}\n{"a": 1, "b": 2, "a": 3}\n', "rows.jsonl, line 2: a occurs more than once in an object"),
        ("rows.csv.gz", b"a,b\n1,2\n", "cannot be unpacked"),
        ("rows.csv.zip", b"a,b\n1,2\n", "cannot be unpacked"),
    ],
)
def test_a_damaged_file_is_one_line_with_file_and_key(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as raised:
        read_rows(tmp_path / name, "data.questions.test")
    assert says in str(raised.value)
    assert "data.questions.test" in str(raised.value)


def test_a_value_of_the_wrong_kind_is_one_line_with_row_and_column(tmp_path: Path) -> None:
    row = read_rows(write_lines(tmp_path / "rows.jsonl", [{"a": [1], "b": "", "c": "many", "d": "84.0"}]), "data.data_path")[0]
    for read, says in ((row.text, "row 0: a is no text"), (row.number, "row 0: a is no number")):
        with pytest.raises(UserError, match=says):
            read("a")
    with pytest.raises(UserError, match=r"row 0: has no b; correct data.data_path"):
        row.text("b")
    with pytest.raises(UserError, match="row 0: c is no number"):
        row.number("c")
    assert row.number("d") == 84 and isinstance(row.number("d"), int)
    assert row.text("absent", "default") == "default"


# --- layouts ------------------------------------------------------------------------------------------------------------------------------------


def test_the_published_layout_and_single_files_give_the_same_instances(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "published" / "test_tasks.jsonl", ROWS)
    for number, data in enumerate(({"data_path": str(path.parent)}, {"questions": {"test": str(path)}})):
        config = configured(tmp_path, data)
        assert Sums.count(config) == 2 and Sums.indices(config) == [0, 1] and Sums.sources(config) == [path]
        task = built(tmp_path / str(number), config)
        assert task.instance(0).question == "1 + 2?"
        assert task.manifest["source"] == next(iter(data))


def test_the_first_of_several_published_names_is_read(tmp_path: Path) -> None:
    write_lines(tmp_path / "published" / "train_tasks.jsonl", ROWS)
    config = configured(tmp_path, {"data_path": str(tmp_path / "published")}, mode="train")
    assert Sums.count(config) == 2
    write_lines(tmp_path / "published" / "train_tasks_all.jsonl", [*ROWS, *ROWS])
    assert Sums.count(config) == 4


def test_a_mode_without_a_file_is_one_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "published" / "test_tasks.jsonl", ROWS)
    with pytest.raises(UserError, match=r"train_tasks_all.jsonl or train_tasks.jsonl is missing, so there are no instances for mode train"):
        Sums.count(configured(tmp_path, {"data_path": str(path.parent)}, mode="train"))
    with pytest.raises(UserError, match=r"data.questions.train: is missing, so there are no instances for mode train"):
        Sums.count(configured(tmp_path, {"questions": {"test": str(path)}}, mode="train"))


def test_a_source_that_the_task_cannot_read_is_one_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "published" / "test_tasks.jsonl", ROWS)
    with pytest.raises(UserError, match=r"data.raw_path: task sums reads exactly one of data_path, questions and synthetic"):
        Sums.count(configured(tmp_path, {"raw_path": str(path.parent)}))
    with pytest.raises(UserError, match=r"given: data.data_path and data.questions"):
        Sums.count(configured(tmp_path, {"data_path": str(path.parent), "questions": {"test": str(path)}}))


def test_made_up_rows_are_built_for_both_modes(tmp_path: Path) -> None:
    config = configured(tmp_path, {"synthetic": {"seed": 5, "train": 2, "test": 3}})
    assert Sums.count(config) == 3 and Sums.sources(config) == []
    task = built(tmp_path, config)
    assert task.instance(2).question == "2 + 5?"
    assert {mode: summary["rows"] for mode, summary in task.manifest["questions"].items()} == {"train": 2, "test": 3}


# --- built data ---------------------------------------------------------------------------------------------------------------------------------


def test_an_instance_that_cannot_be_judged_is_told_and_counted(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "tasks.jsonl", ROWS)
    task = built(tmp_path, configured(tmp_path, {"questions": {"test": str(path)}}))
    assert [task.ungradable(task.instance(idx)) for idx in (0, 1)] == [None, "the gold is wrong"]
    assert task.manifest["questions"]["test"]["ungradable"] == 1


def test_a_failed_build_leaves_nothing_behind(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "tasks.jsonl", [*ROWS, {"a": 1}])
    with pytest.raises(UserError, match="row 2: sum is no number"):
        Sums.build(configured(tmp_path, {"questions": {"test": str(path)}}), tmp_path / "data")
    assert [entry.name for entry in tmp_path.iterdir()] == ["tasks.jsonl"]


def test_a_box_shows_the_visible_files_and_no_gold(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "tasks.jsonl", ROWS)
    task = built(tmp_path, configured(tmp_path, {"questions": {"test": str(path)}}))
    mounts = task.mounts(task.instance(0))
    assert [file.name for folder in mounts.values() for file in folder.rglob("*")] == ["numbers.txt"]


def test_another_gold_is_another_instance_only_where_the_gold_can_reach_an_agent(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    digests = []
    for number, gold in enumerate((3, 4)):
        write_lines(path, [{"a": 1, "b": 2, "sum": gold}])
        folder = tmp_path / str(number)
        data = {"questions": {"test": str(path)}}
        submitted = built(folder, configured(tmp_path, data))
        stopped = Sums(folder / "data", configured(tmp_path, data, protocol="oracle_stop"))
        told = Sums(folder / "data", configured(tmp_path, data, agent={"name": "reference"}))
        digests.append([task.instance_digest(0) for task in (submitted, stopped, told)])
    (submit, stop, tell), (other_submit, other_stop, other_tell) = digests
    assert submit == other_submit
    assert stop != other_stop and tell != other_tell
