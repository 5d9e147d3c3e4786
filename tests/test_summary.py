"""The summary of a run: every rate with its denominator, and the same bytes for the same episodes."""

from __future__ import annotations

import csv
import json
import os
import re
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scored_episodes import SmallTask, TaskWithImpossible, abstention, attempt, write_episode, write_published_episode

from medagentgym.config import Config
from medagentgym.errors import UserError
from medagentgym.figures import judge_colours
from medagentgym.report import LONGEST_CELL, MOST_LISTED
from medagentgym.scores import score_episodes, timings_file, write_csv, write_scored, wrong_file
from medagentgym.summary import SUMMARY_COLUMNS, append_running_record, balanced_accuracy, experiment_key, print_summary, summarize, wilson_interval
from medagentgym.tasks.base import Instance
from medagentgym.workflow import read_summary


def config_of(tag: str, **keys: Any) -> Config:
    return Config.model_validate({"task": "small", "result_dir_tag": tag, "mode": "test", "agent": {"name": "scripted"}} | keys)


def score_table(folder: Path, *files: Path, judges: tuple[str, ...] = ("strict", "published"), task: SmallTask | None = None, **options: Any) -> Path:
    out = folder.parent / f"scores_{folder.name}.parquet"
    write_scored(score_episodes(files, task or SmallTask(), judges, **options), out)
    return out


def summary_rows(out: Path) -> dict[str, dict[str, str]]:
    """The rows of `summary.csv` by tag and judge."""
    with (out / "summary.csv").open(encoding="utf-8") as stream:
        return {f"{row['tag']} {row['judge']}": row for row in csv.DictReader(stream)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "small" / "my-model" / "test"


def test_a_run_is_summed_up_in_one_row_an_experiment_and_judge(tmp_path: Path, folder: Path) -> None:
    files = [write_episode(folder, 0, attempt(10), attempt(1)), write_episode(folder, 1, attempt(["iv"])), write_episode(folder, 2, attempt(True))]
    files += [write_episode(folder, 3, attempt(None)), write_episode(folder, 4, stop_reason="out_of_steps")]
    summarize([config_of("my-model")], [score_table(folder, *files)], {"small/my-model/test": 5}, tmp_path / "demo", False)
    strict, published = summary_rows(tmp_path / "demo").values()
    expected = {
        "asked": "5", "done": "5", "missing": "0", "scored": "5", "unscorable": "0", "successes": "3", "success_rate": "0.6", "censored": "0",
        "ci_low": "0.230724", "ci_high": "0.882379", "first_successes": "2", "first_scored": "5", "first_rate": "0.4",
        "usable": "3", "usable_successes": "2", "usable_rate": "0.666667", "floor": "0.4", "floor_instances": "5", "usable_floor": "0.666667",
        "pass_at_k": "",
        "disagreements": "1", "compared": "5", "mean_steps": "2.0", "mean_attempts": "1.0", "calls": "10", "prompt_tokens": "5000",
        "cost": "unknown", "stop_reasons": "out_of_steps 1, submitted 4", "sandbox": "bubblewrap (namespaces)", "protocol": "submit",
    }  # fmt: skip
    assert {name: strict[name] for name in expected} == expected
    assert (published["successes"], published["first_successes"], published["floor"], published["disagreements"]) == ("4", "4", "", "1")
    assert list(strict) == list(SUMMARY_COLUMNS)


def test_the_disagreements_are_listed_with_what_each_judge_said(tmp_path: Path, folder: Path) -> None:
    files = [write_episode(folder, 0, attempt(1)), write_episode(folder, 1, attempt(["iv"]))]
    summarize([config_of("my-model", **OPEN)], [score_table(folder, *files)], {"small/my-model/test": 2}, tmp_path / "demo", False)
    with (tmp_path / "demo" / "disagreements.csv").open(encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert (row["idx"], row["strict_verdict"], row["published_verdict"]) == ("1", "wrong", "correct")
    assert "1 of the gold's 2 distinct rows missing" in row["strict_reason"]
    assert "'iv'" in row["published_reason"]


@pytest.mark.parametrize("constant", [1, True, 0, None, [], ["iv"], ["iv", "po"], "1", [0, 1], list(range(100))])
def test_no_constant_answer_scores_above_the_floor(tmp_path: Path, folder: Path, constant: Any) -> None:
    files = [write_episode(folder, idx, attempt(constant)) for idx in range(5)]
    summarize([config_of("my-model")], [score_table(folder, *files)], {"small/my-model/test": 5}, tmp_path / "demo", False)
    row = summary_rows(tmp_path / "demo")["my-model strict"]
    assert float(row["success_rate"]) <= float(row["floor"]) == 0.4


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([("yes", True), ("yes", True), ("yes", True), ("no", False)], 0.5),
        ([("yes", True), ("yes", False), ("no", True)], 0.75),
        ([("yes", True), ("no", None)], 1.0),
        ([], None),
    ],
)
def test_balanced_accuracy_counts_every_answer_alike(verdicts: list[tuple[str, bool | None]], expected: float | None) -> None:
    assert balanced_accuracy([{"gold_key": key, "correct": correct} for key, correct in verdicts]) == expected


USABLE = ("usable", "usable_successes", "usable_rate", "usable_floor")


def test_in_a_task_of_few_answers_balanced_accuracy_stands_in_place_of_the_figures_on_usable_golds(tmp_path: Path) -> None:
    scores, configs, asked = [], [], {}
    for task in ("ehrcon", "small"):
        folder = tmp_path / task / "my-model" / "test"
        files = [write_episode(folder, idx, attempt(1)) for idx in (0, 3)]
        scores.append(score_table(folder, *files))
        configs.append(config_of("my-model", task=task))
        asked[f"{task}/my-model/test"] = 2
    summarize(configs[:1], scores[:1], asked, tmp_path / "yes-no", False)
    for row in summary_rows(tmp_path / "yes-no").values():
        assert [row[name] for name in USABLE] == [""] * 4 and row["balanced_accuracy"] == "0.5"
    tables = (tmp_path / "yes-no" / "summary.md").read_text().partition("## What the figures")[0]
    assert "usable" not in tables and "balanced accuracy" in tables
    summarize(configs, scores, asked, tmp_path / "both", False)
    header, _, yes_no, _, other, *_ = [
        line.split("|") for line in (tmp_path / "both" / "summary.md").read_text().splitlines() if line.startswith("|")
    ]
    columns = [[cell.strip() for cell in header].index(name) for name in ("on usable golds", "usable floor", "balanced accuracy")]
    assert [yes_no[column].strip() for column in columns] == ["-", "-", "50.0 %"]
    assert [other[column].strip() for column in columns] == ["1/1 = 100.0 %", "100.0 %", "-"]


ABSTAINING = ("answerable", "answerable_successes", "answerable_rate", "wrongly_abstained", "wrongly_abstained_rate")
ABSTAINING += ("impossible", "abstained", "abstained_rate", "abstain_floor")


def test_both_rates_stand_in_the_tables_of_a_run_with_impossible_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "small" / "my-model" / "test"
    files = [write_episode(folder, 0, attempt(1)), write_episode(folder, 1, attempt(["iv"])), write_episode(folder, 2, abstention())]
    files += [write_episode(folder, 5, abstention()), write_episode(folder, 6, attempt(None)), write_episode(folder, 7, abstention())]
    summarize([config_of("my-model")], [score_table(folder, *files, task=TaskWithImpossible())], {"small/my-model/test": 6}, tmp_path / "demo", False)
    rows = summary_rows(tmp_path / "demo")
    strict, published = rows["my-model strict"], rows["my-model published"]
    assert [strict[name] for name in ABSTAINING] == ["3", "1", "0.333333", "1", "0.333333", "3", "2", "0.666667", "0.5"]
    assert [published[name] for name in ABSTAINING] == ["3", "2", "0.666667", "1", "0.333333", "3", "2", "0.666667", ""]
    # The best constant answer is right on two of the six, usable golds are those of answerable questions.
    assert (strict["successes"], strict["scored"], strict["floor"], strict["usable"], strict["usable_floor"]) == (
        "3",
        "6",
        "0.333333",
        "3",
        "0.666667",
    )
    text, page = (tmp_path / "demo" / "summary.md").read_text(), (tmp_path / "demo" / "report.html").read_text()
    for part in (
        "on answerable",
        "abstained from answerable",
        "abstained from impossible",
        "abstain floor",
        "1/3 = 33.3 %",
        "2/3 = 66.7 %",
        "50.0 %",
    ):
        assert part in text and part in page
    assert "abstaining is the only right answer" in text and "The published judge knows no abstaining" in text
    print_summary(tmp_path / "demo")
    printed = capsys.readouterr().out
    assert re.search(r"rightly abstained +abstain floor\n.*\nmy-model +1/3 +1/3 +2/3 +50\.0 %", printed)


@pytest.mark.parametrize("golds", [range(5, 8), range(8)])
def test_abstaining_always_scores_its_floor_and_no_constant_answer_more_than_the_other(tmp_path: Path, folder: Path, golds: range) -> None:
    rates = {}
    for name, made in {"abstain": abstention(), "none": attempt(None), "one": attempt(1)}.items():
        path = folder.parent.with_name(name) / "test"
        files = [write_episode(path, idx, made) for idx in golds]
        scores = score_table(path, *files, task=TaskWithImpossible())
        summarize([config_of(name)], [scores], {f"small/{name}/test": len(golds)}, tmp_path / name, False)
        rates[name] = summary_rows(tmp_path / name)[f"{name} strict"]
    assert rates["abstain"]["success_rate"] == rates["abstain"]["abstain_floor"] == str(round(3 / len(golds), 6))
    assert max(float(rates[name]["success_rate"]) for name in ("none", "one")) == float(rates["one"]["floor"]) == (len(golds) == 8) * 0.25


def test_the_tables_of_a_run_without_impossible_questions_say_nothing_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "small" / "my-model" / "test"
    scores = score_table(folder, write_episode(folder, 0, attempt(1)), task=TaskWithImpossible())
    summarize([config_of("my-model")], [scores], {"small/my-model/test": 1}, tmp_path / "demo", False)
    for row in summary_rows(tmp_path / "demo").values():
        assert {row[name] for name in ABSTAINING} == {""}
    text, page = (tmp_path / "demo" / "summary.md").read_text(), (tmp_path / "demo" / "report.html").read_text()
    assert "abstain" not in text.partition("## What the figures")[0] and "abstain" not in page.partition("What the figures")[0]
    print_summary(tmp_path / "demo")
    assert "abstain" not in capsys.readouterr().out


def test_a_run_with_and_one_without_impossible_questions_stand_in_one_table(tmp_path: Path) -> None:
    scores = []
    for tag, task, idx in (("with", TaskWithImpossible(), 5), ("without", SmallTask(), 0)):
        folder = tmp_path / "small" / tag / "test"
        scores.append(score_table(folder, write_episode(folder, idx, abstention() if tag == "with" else attempt(1)), task=task))
    summarize([config_of("with"), config_of("without")], scores, {"small/with/test": 1, "small/without/test": 1}, tmp_path / "demo", False)
    lines = [line for line in (tmp_path / "demo" / "summary.md").read_text().splitlines() if line.startswith(("| with ", "| without "))]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines[:4]]
    columns = (-5, -4, -3, -2)
    assert [cells[0][column] for column in columns] == ["-", "-", "1/1 = 100.0 %", "100.0 %"]
    assert [cells[2][column] for column in columns] == ["-"] * 4


def test_a_report_from_before_there_were_abstentions_can_be_printed(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summarize(
        [config_of("my-model")], [score_table(folder, write_episode(folder, 0, attempt(1)))], {"small/my-model/test": 1}, tmp_path / "demo", False
    )
    rows = list(summary_rows(tmp_path / "demo").values())
    with (tmp_path / "demo" / "summary.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [name for name in rows[0] if name not in ABSTAINING], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    print_summary(tmp_path / "demo")
    assert "1/1 = 100.0 %" in capsys.readouterr().out


def test_two_summaries_of_the_same_episodes_have_the_same_bytes_timings_aside(tmp_path: Path) -> None:
    for run, seconds in (("first", 0.25), ("second", 7.5)):
        folder = tmp_path / run / "small" / "my-model" / "test"
        files = [write_episode(folder, idx, attempt(idx)) for idx in range(4)]
        for file in files:
            file.write_text(file.read_text().replace('"wall_seconds": 0.25', f'"wall_seconds": {seconds}'))
        summarize([config_of("my-model")], [score_table(folder, *files)], {"small/my-model/test": 4}, tmp_path / run / "reports" / "demo", False)
    names = sorted(path.name for path in (tmp_path / "first" / "reports" / "demo").iterdir())
    assert names == [
        "disagreements.csv", "report.html", "success.pdf", "success.png", "success.svg", "summary.csv", "summary.md", "timings.csv",
        "wrong_answers.csv",
    ]  # fmt: skip
    different = [name for name in names if len({(tmp_path / run / "reports" / "demo" / name).read_bytes() for run in ("first", "second")}) > 1]
    assert different == ["timings.csv"]


def test_missing_episodes_make_no_table_unless_it_is_asked_for(tmp_path: Path, folder: Path) -> None:
    scores = score_table(folder, write_episode(folder, 0, attempt(1)))
    with pytest.raises(UserError, match="small/my-model/test: 2 of 3 episodes are missing"):
        summarize([config_of("my-model")], [scores], {"small/my-model/test": 3}, tmp_path / "demo", False)
    assert not (tmp_path / "demo").exists()


def test_a_partial_table_says_so_everywhere(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = score_table(folder, write_episode(folder, 0, attempt(1)))
    summarize([config_of("my-model")], [scores], {"small/my-model/test": 3}, tmp_path / "demo", True)
    row = summary_rows(tmp_path / "demo")["my-model strict"]
    assert (row["asked"], row["done"], row["missing"], row["scored"], row["success_rate"]) == ("3", "1", "2", "1", "1.0")
    text = (tmp_path / "demo" / "summary.md").read_text()
    assert text.startswith("# PARTIAL: demo\n")
    assert "2 of the 3 episodes asked for are missing" in text
    assert "<h1>PARTIAL: demo</h1>" in (tmp_path / "demo" / "report.html").read_text()
    print_summary(tmp_path / "demo")
    assert capsys.readouterr().out.startswith("PARTIAL")


def test_an_experiment_without_any_episode_has_a_row_without_rates(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summarize([config_of("my-model")], [score_table(folder)], {"small/my-model/test": 3}, tmp_path / "demo", True)
    rows = summary_rows(tmp_path / "demo")
    assert list(rows) == ["my-model strict", "my-model published"]
    row = rows["my-model strict"]
    assert (row["done"], row["missing"], row["success_rate"], row["ci_low"], row["cost"]) == ("0", "3", "", "", "unknown")
    print_summary(tmp_path / "demo")
    assert "0/3" in capsys.readouterr().out


def test_more_episodes_than_asked_for_are_a_mistake(tmp_path: Path, folder: Path) -> None:
    scores = score_table(folder, write_episode(folder, 0, attempt(1)), write_episode(folder, 1, attempt(1)))
    with pytest.raises(UserError, match="holds 2 episodes where 1 were asked for"):
        summarize([config_of("my-model")], [scores], {"small/my-model/test": 1}, tmp_path / "demo", False)


def test_censored_episodes_give_bounds(tmp_path: Path, folder: Path) -> None:
    rules = {"protocol": "oracle_stop", "stop_judge": "published"}
    files = [
        write_episode(folder, 0, attempt(1), stop_reason="accepted", **rules),
        write_episode(folder, 1, attempt(["iv"]), stop_reason="accepted", **rules),
    ]
    files += [write_episode(folder, 2, attempt(0), stop_reason="out_of_steps", **rules)]
    config = config_of("my-model", **rules)
    summarize([config], [score_table(folder, *files)], {experiment_key(config): 3}, tmp_path / "demo", False)
    strict, published = summary_rows(tmp_path / "demo").values()
    assert (strict["successes"], strict["censored"], strict["rate_lower"], strict["rate_upper"]) == ("1", "1", "0.333333", "0.666667")
    assert (float(strict["ci_low"]), float(strict["ci_high"])) == (wilson_interval(1, 3)[0], wilson_interval(2, 3)[1])
    assert (published["censored"], published["rate_lower"], published["rate_upper"]) == ("0", "0.666667", "0.666667")
    assert (strict["protocol"], strict["stop_judge"]) == ("oracle_stop", "published")
    text = (tmp_path / "demo" / "summary.md").read_text()
    assert "oracle_stop (published)" in text
    assert "33.3 to 66.7 %" in text
    assert "leaks the label" in text


def test_published_records_are_in_no_rate_of_the_strict_judge(tmp_path: Path, folder: Path) -> None:
    files = [write_published_episode(folder, idx, {"result": result}) for idx, result in enumerate(("success", "failure"))]
    summarize([config_of("my-model")], [score_table(folder, *files)], {"small/my-model/test": 2}, tmp_path / "demo", False)
    strict, published = summary_rows(tmp_path / "demo").values()
    assert (strict["done"], strict["scored"], strict["unscorable"], strict["success_rate"], strict["compared"]) == ("2", "0", "2", "", "0")
    assert (published["scored"], published["success_rate"], published["first_rate"], published["calls"]) == ("2", "0.5", "", "")
    assert published["sandbox"] == "not known"


def test_rollouts_are_counted_by_instance(tmp_path: Path, folder: Path) -> None:
    answers = {0: (1, 2, 2), 1: (0, 0, 0), 2: (True, True, True), 3: (0, [], 0)}
    files = [write_episode(folder, idx, attempt(answer), rollout=rollout) for idx, row in answers.items() for rollout, answer in enumerate(row)]
    config = config_of("my-model", training={"num_rollouts": 3})
    summarize([config], [score_table(folder, *files)], {"small/my-model/test": 12}, tmp_path / "demo", False)
    row = summary_rows(tmp_path / "demo")["my-model strict"]
    assert (row["scored"], row["instances"], row["successes"], row["pass_at_k"], row["rollouts"]) == ("12", "4", "5", "0.75", "3")
    assert (float(row["ci_low"]), float(row["ci_high"])) == wilson_interval(2, 4)
    assert "75.0 % of 4, k = 3" in (tmp_path / "demo" / "summary.md").read_text()


def test_costs_are_summed_where_they_are_known(tmp_path: Path, folder: Path) -> None:
    files = [write_episode(folder, idx, attempt(1), usage={"calls": 1, "cost": 0.125}) for idx in range(2)]
    summarize([config_of("my-model")], [score_table(folder, *files)], {"small/my-model/test": 2}, tmp_path / "demo", False)
    row = summary_rows(tmp_path / "demo")["my-model strict"]
    assert (row["cost"], row["calls"], row["prompt_tokens"]) == ("0.25", "2", "")


def test_an_agent_without_a_model_costs_nothing(tmp_path: Path, folder: Path) -> None:
    files = [write_episode(folder, 0, attempt(1), usage={"calls": 0, "cost": None}), write_episode(folder, 1, attempt(1), usage={"calls": 0})]
    summarize([config_of("my-model")], [score_table(folder, *files)], {"small/my-model/test": 2}, tmp_path / "demo", False)
    assert summary_rows(tmp_path / "demo")["my-model strict"]["cost"] == "0.0"


def test_an_audit_is_told_from_a_result(tmp_path: Path, folder: Path) -> None:
    scores = score_table(folder, write_episode(folder, 0, attempt(1)), sees_reference=True)
    summarize([config_of("my-model")], [scores], {"small/my-model/test": 1}, tmp_path / "demo", False)
    assert "an audit of the task and no result: small/my-model/test" in (tmp_path / "demo" / "summary.md").read_text()


SYNTHETIC = {"data": {"synthetic": {}}}


def svg_texts(out: Path) -> str:
    """The figure's texts, which are comments in an SVG whose letters are drawn."""
    return " / ".join(re.findall(r"<!-- (.*?) -->", (out / "success.svg").read_text(), flags=re.DOTALL))


def test_made_up_data_are_told_from_given_ones_in_tables_report_and_figure(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = score_table(folder, write_episode(folder, 0, attempt(1)))
    for name, keys, expected in (("demo", SYNTHETIC, True), ("real", {}, False)):
        out = tmp_path / name
        summarize([config_of("my-model", **keys)], [scores], {"small/my-model/test": 1}, out, False)
        assert {row["data"] for row in summary_rows(out).values()} == {"made up" if expected else "given"}
        print_summary(out)
        for text in ((out / "summary.md").read_text(), (out / "report.html").read_text(), capsys.readouterr().out):
            assert ("Made-up data (data.synthetic), so no result on real data: small/my-model/test." in text) is expected
        assert ("task small, mode test, made-up data" in svg_texts(out)) is expected
        assert svg_texts(out).count("made-up data") == expected


def test_where_only_some_data_are_made_up_the_figure_marks_these_experiments_and_not_the_whole(tmp_path: Path) -> None:
    scores = []
    for tag in ("demo", "real"):
        folder = tmp_path / "small" / tag / "test"
        scores.append(score_table(folder, write_episode(folder, 0, attempt(1))))
    configs = [config_of("demo", **SYNTHETIC), config_of("real")]
    summarize(configs, scores, {"small/demo/test": 1, "small/real/test": 1}, tmp_path / "both", False)
    assert "no result on real data: small/demo/test." in (tmp_path / "both" / "summary.md").read_text()
    texts = svg_texts(tmp_path / "both")
    assert texts.count("made-up data") == 1 and "task small, mode test, made-up data" not in texts


def test_a_judge_has_one_colour_whichever_leads() -> None:
    assert judge_colours(["published", "strict"]) == judge_colours(["strict", "published"])
    with_others = judge_colours(["other", "published", "another"])
    assert with_others == judge_colours(["another", "published", "other"])
    assert (with_others["strict"], with_others["published"]) == (judge_colours(["strict"])["strict"], judge_colours(["published"])["published"])
    assert len(set(with_others.values())) == 4


def test_the_figure_gives_rates_as_the_tables_do_and_names_its_lines(tmp_path: Path, folder: Path) -> None:
    files = [write_episode(folder, idx, attempt(1)) for idx in range(3)]
    summarize([config_of("my-model")], [score_table(folder, *files)], {"small/my-model/test": 3}, tmp_path / "demo", False)
    rate = "66.7 %"
    assert rate in (tmp_path / "demo" / "summary.md").read_text()
    texts = svg_texts(tmp_path / "demo")
    for text in (f"{rate} (2/3)", "95 % interval", "best constant answer"):
        assert text in texts, texts


def test_the_report_needs_nothing_but_itself_and_shows_text_as_text(tmp_path: Path, folder: Path) -> None:
    files = [write_episode(folder, 1, attempt(["iv"]), instance_id="<script>alert(1)</script>")]
    summarize([config_of("my-model")], [score_table(folder, *files)], {"small/my-model/test": 1}, tmp_path / "demo", False)
    text = (tmp_path / "demo" / "report.html").read_text()
    assert "<svg" in text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"(src|href)=\"(?!#)", text)


def test_the_printed_table_fits_a_hundred_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tag = "a-model-with-a-very-long-name-and-its-revision-2026-01-01-and-more"
    folder = tmp_path / "small" / tag / "test"
    config = config_of(tag)
    summarize([config], [score_table(folder, write_episode(folder, 0, attempt(1)))], {experiment_key(config): 1}, tmp_path / "demo", False)
    print_summary(tmp_path / "demo")
    printed = capsys.readouterr().out
    assert max(map(len, printed.rpartition("\n\n")[0].splitlines())) <= 100
    assert "1/1 = 100.0 %" in printed
    assert str(tmp_path / "demo" / "report.html") in printed
    with pytest.raises(UserError, match="there is no summary"):
        print_summary(tmp_path / "nowhere")


def test_a_run_appends_a_line_to_the_private_running_records(tmp_path: Path, folder: Path) -> None:
    scores = score_table(folder, write_episode(folder, 0, attempt(1)))
    summary = summarize([config_of("my-model")], [scores], {"small/my-model/test": 1}, tmp_path / "demo", False)
    for day in (1, 2):
        append_running_record(tmp_path, "demo", summary, time=datetime(2026, 1, day, tzinfo=UTC))
    path = tmp_path / "running_records.jsonl"
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert (first["time"], second["time"]) == ("2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00")
    assert {name: first[name] for name in ("name", "task", "tag", "mode", "asked", "done", "missing", "judge", "success_rate")} == {
        "name": "demo", "task": "small", "tag": "my-model", "mode": "test", "asked": 1, "done": 1, "missing": 0, "judge": "strict",
        "success_rate": 1.0,
    }  # fmt: skip
    assert first["success_rates"] == {"strict": 1.0, "published": 1.0}
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


@pytest.mark.parametrize(
    ("successes", "count", "interval"), [(0, 0, (None, None)), (0, 10, (0.0, 0.277533)), (5, 10, (0.236593, 0.763407)), (10, 10, (0.722467, 1.0))]
)
def test_the_interval_is_wilsons(successes: int, count: int, interval: tuple[float | None, float | None]) -> None:
    assert wilson_interval(successes, count) == interval


def test_the_interval_is_that_of_scipy() -> None:
    from scipy.stats import binomtest

    for count in (1, 2, 7, 100, 5811):
        for successes in {0, 1, count // 3, count - 1, count}:
            expected = binomtest(successes, count).proportion_ci(confidence_level=0.95, method="wilson")
            assert wilson_interval(successes, count) == pytest.approx((expected.low, expected.high), abs=1e-6)


# --- single episodes --------------------------------------------------------------------------------------------------------------------------------

OPEN = {"data": {"credentialed": False}}


def listed(out: Path, name: str) -> list[dict[str, str]]:
    with (out / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def section(out: Path, title: str) -> str:
    """The part of the report under a heading."""
    return (out / "report.html").read_text().partition(f"<h2>{title}</h2>")[2].partition("</section>")[0]


def test_the_report_shows_wrong_answers_and_disagreements_with_question_answer_and_gold(tmp_path: Path, folder: Path) -> None:
    files = [write_episode(folder, 0, attempt(52)), write_episode(folder, 1, attempt(["iv"])), write_episode(folder, 2, attempt(True))]
    out = tmp_path / "reports" / "demo"
    summarize([config_of("my-model", **OPEN)], [score_table(folder, *files)], {"small/my-model/test": 3}, out, False)
    wrong, disagreements = section(out, "Wrong answers"), section(out, "Where the judges disagree")
    for shown in ("Which of the 100?", '<td class="figure">52</td>', "small/my-model/test/history_0.json", "wrong: another row than the gold"):
        assert shown in wrong, shown
    assert "Which of the 102?" not in wrong
    assert "Which of the 101?" in disagreements and "[&#39;iv&#39;, &#39;po&#39;]" in disagreements and "Which of the 100?" not in disagreements
    assert [(row["idx"], row["question"], row["gold"]) for row in listed(out, "wrong_answers.csv")] == [
        ("0", "Which of the 100?", "1"),
        ("1", "Which of the 101?", "['iv', 'po']"),
    ]
    assert [(row["idx"], row["answer"], row["published_verdict"]) for row in listed(out, "disagreements.csv")] == [("1", "['iv']", "correct")]


def test_the_report_of_credentialed_records_names_episodes_and_says_where_the_texts_are(tmp_path: Path, folder: Path) -> None:
    files = [write_episode(folder, 1, attempt(["iv", "a word of the agent"]))]
    out = tmp_path / "reports" / "demo"
    scores = score_table(folder, *files)
    summarize([config_of("my-model", data={"credentialed": True})], [scores], {"small/my-model/test": 1}, out, False)
    wrong = section(out, "Wrong answers")
    assert "history_1.json" in wrong and "judge strict" in wrong
    assert "small/my-model/scores_test_wrong.csv" in wrong
    for file in out.iterdir():
        content = file.read_bytes()
        assert b"Which of the 101?" not in content and b"a word of the agent" not in content and b"the gold" not in content, file.name
    kept = wrong_file(scores).read_text()
    assert "the gold" in kept and "Which of the 101?" in kept and "a word of the agent" in kept


def test_a_task_that_is_no_longer_installed_is_not_quoted_unless_its_records_are_said_to_be_open(tmp_path: Path, folder: Path) -> None:
    scores = score_table(folder, write_episode(folder, 0, attempt(5)))
    for name, keys, expected in (("unknown", {}, False), ("open", OPEN, True)):
        summarize([config_of("my-model", **keys)], [scores], {"small/my-model/test": 1}, tmp_path / name, False)
        assert ("Which of the 100?" in (tmp_path / name / "report.html").read_text()) is expected


def test_a_long_list_is_cut_in_the_report_shows_every_experiment_and_says_where_the_rest_is(tmp_path: Path) -> None:
    configs, scores, asked = [], [], {}
    for tag, count in (("bad", 2 * MOST_LISTED), ("better", 3)):
        folder = tmp_path / "small" / tag / "test"
        files = [write_episode(folder, 0, attempt(5), rollout=rollout) for rollout in range(count)]
        configs.append(config_of(tag, training={"num_rollouts": count}, **OPEN))
        scores.append(score_table(folder, *files))
        asked[f"small/{tag}/test"] = count
    summarize(configs, scores, asked, tmp_path / "demo", False)
    wrong = section(tmp_path / "demo", "Wrong answers")
    assert wrong.count("history_0_") == MOST_LISTED and wrong.count("small/better/test/") == 3
    assert f"{MOST_LISTED} of {2 * MOST_LISTED + 3} are shown; the other {MOST_LISTED + 3} are in wrong_answers.csv" in wrong
    assert len(listed(tmp_path / "demo", "wrong_answers.csv")) == 2 * MOST_LISTED + 3


def test_a_long_text_is_shortened_in_the_report_and_whole_in_its_file(tmp_path: Path, folder: Path) -> None:
    answer = f"begin {'x' * 5000} end"
    scores = score_table(folder, write_episode(folder, 0, attempt(answer)))
    summarize([config_of("my-model", **OPEN)], [scores], {"small/my-model/test": 1}, tmp_path / "demo", False)
    assert answer not in section(tmp_path / "demo", "Wrong answers") and "begin xxx" in section(tmp_path / "demo", "Wrong answers")
    assert listed(tmp_path / "demo", "wrong_answers.csv")[0]["answer"] == answer


def test_a_long_question_is_cut_between_its_words_and_has_a_wide_column(tmp_path: Path, folder: Path) -> None:
    words = [f"word{place}" for place in range(200)]

    class LongQuestions(SmallTask):
        def instance(self, idx: int) -> Instance:
            return replace(super().instance(idx), question=" ".join(words))

    for name, task, is_long in (("long", LongQuestions(), True), ("short", SmallTask(), False)):
        scores = score_table(folder, write_episode(folder, 0, attempt(5)), task=task)
        summarize([config_of("my-model", **OPEN)], [scores], {"small/my-model/test": 1}, tmp_path / name, False)
        assert ('<table class="listed long">' in section(tmp_path / name, "Wrong answers")) is is_long
    (shown,) = re.findall(r">(word0 [^<]*)<", section(tmp_path / "long", "Wrong answers"))
    head, tail = shown.split(" … ")
    assert 200 < len(shown) <= LONGEST_CELL and {*head.split(), *tail.split()} < set(words) and tail.endswith("word199")


# --- damage -----------------------------------------------------------------------------------------------------------------------------------------


def without_last_line(text: str) -> str:
    return text[: text.rstrip("\n").rindex("\n") + 1]


DAMAGE = {
    "cut within a row": lambda text: text[:-9],
    "cut between rows": without_last_line,
    "empty": lambda text: "",
    "another table": lambda text: "nothing\n1\n",
    "a row too long": lambda text: text.rstrip("\n") + ",more\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("which", [wrong_file, timings_file])
def test_a_damaged_table_beside_the_scores_is_told_in_one_line_and_makes_no_report(tmp_path: Path, folder: Path, damage: str, which: Any) -> None:
    scores = score_table(folder, *(write_episode(folder, idx, attempt(5)) for idx in (0, 1)))
    path = which(scores)
    path.write_text(DAMAGE[damage](path.read_text()))
    with pytest.raises(UserError, match=rf"{path.name}: .*; delete the file to have it made again$") as told:
        summarize([config_of("my-model")], [scores], {"small/my-model/test": 2}, tmp_path / "demo", False)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "demo").exists()


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-9], lambda text: "", lambda text: text.replace("submit", "submit,submit"), lambda text: "a\n1\n"]
)
def test_a_damaged_summary_is_told_in_one_line(tmp_path: Path, folder: Path, damage: Any, capsys: pytest.CaptureFixture[str]) -> None:
    config = config_of("my-model", work_dir=str(tmp_path), name="demo")
    out = tmp_path / "reports" / "demo"
    summarize([config], [score_table(folder, write_episode(folder, 0, attempt(1)))], {"small/my-model/test": 1}, out, False)
    (out / "summary.csv").write_text(damage((out / "summary.csv").read_text()))
    for read in (lambda: print_summary(out), lambda: read_summary(config)):
        with pytest.raises(UserError, match=r"summary\.csv: not a readable summary \(.*\); delete the file and run the workflow again"):
            read()
    assert capsys.readouterr().out == ""


def test_a_figure_of_a_summary_that_is_none_is_told_in_one_line(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = config_of("my-model", work_dir=str(tmp_path), name="demo")
    out = tmp_path / "reports" / "demo"
    summarize([config], [score_table(folder, write_episode(folder, 0, attempt(1)))], {"small/my-model/test": 1}, out, False)
    rows = listed(out, "summary.csv")
    for name, value in (("success_rate", "banana"), ("asked", "many")):
        changed = [{**row, name: value} for row in rows]
        write_csv(pd.DataFrame(changed), out / "summary.csv")
        with pytest.raises(UserError, match=r"summary\.csv: not a readable summary"):
            print_summary(out) if name == "success_rate" else read_summary(config)
    assert capsys.readouterr().out == ""
