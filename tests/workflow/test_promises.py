"""What the workflow promises: nothing is lost, nothing is paid for twice, nothing is counted as what it is not."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from workflow_project import MADE_UP, Project, model, wait_for

pytestmark = pytest.mark.slow

ANSWER = json.dumps({"action": "validate_code", "params": {"code": "answer = 1"}})
SUBMIT = json.dumps({"action": "submit", "params": {}})
ONE_STEP = {"conversations": [{"match": ".", "replies": [ANSWER, SUBMIT]}]}


def summary(project: Project, judge: str = "strict") -> dict[str, str]:
    rows = list(csv.DictReader(project.report("summary.csv").splitlines()))
    return next(row for row in rows if row["judge"] == judge)


def test_the_reference_agent_solves_every_question_and_a_second_run_does_nothing(project: Project) -> None:
    project.run()
    row = summary(project)
    assert row["asked"] == row["done"] == row["successes"] and row["missing"] == "0" and int(row["done"]) > 20
    before = project.episodes("reference")
    assert "Nothing to be done" in project.run()
    assert project.episodes("reference") == before


def test_three_deleted_episodes_are_made_again_and_only_those(project: Project) -> None:
    project.run()
    before = project.episodes("reference")
    gone = sorted(before)[3:6]
    for name in gone:
        (project.episode(0, "reference").parent / name).unlink()
    table = project.report("summary.csv")
    project.run()
    after = project.episodes("reference")
    assert sorted(name for name in after if after[name] != before[name]) == gone and set(after) == set(before)
    assert project.report("summary.csv") == table


def test_one_episode_can_be_asked_for_alone(project: Project) -> None:
    project.run()
    kept = dict(list(project.episodes("reference").items())[:1])
    idx = int(next(iter(kept)).removeprefix("history_").removesuffix(".json"))
    target = f"work/mimic_iii/reference/test/history_{idx}.json"
    for path in project.episode(0, "reference").parent.glob("history_*.json"):
        path.unlink()
    project.run(target)
    assert set(project.episodes("reference")) == {f"history_{idx}.json"}
    assert "not an episode of this configuration" in project.run("work/mimic_iii/reference/test/history_9999.json", status=None)


def test_a_changed_model_stops_the_run_names_the_key_and_spends_nothing(project: Project, serve: Any) -> None:
    server = serve(ONE_STEP)
    project.write(agent=model(server), result_dir_tag="model", end_idx=4)
    project.run()
    asked, records = len(server.requests), project.episodes("model")
    assert asked > 0
    project.write(agent=model(server, model_name="scripted-2"), end_idx=6)
    output = project.run(status=2)
    assert "agent.llm.model_name" in output and "scripted-1" in output and "scripted-2" in output and "Traceback" not in output
    assert len(server.requests) == asked and project.episodes("model") == records


def test_an_extended_run_makes_only_the_new_episodes(project: Project, serve: Any) -> None:
    server = serve(ONE_STEP)
    project.write(agent=model(server), result_dir_tag="model", end_idx=4)
    project.run()
    before, asked = project.episodes("model"), len(server.requests)
    project.write(end_idx=8)
    project.run()
    after = project.episodes("model")
    assert len(after) > len(before) and all(after[name] == before[name] for name in before)
    assert len(server.requests) - asked == 2 * (len(after) - len(before))
    assert summary(project)["asked"] == str(len(after))


def test_another_scoring_judge_scores_again_without_a_model_call(project: Project, serve: Any) -> None:
    server = serve(ONE_STEP)
    project.write(agent=model(server), result_dir_tag="model", end_idx=5)
    project.run()
    records, asked = project.episodes("model"), len(server.requests)
    project.write(scoring={"judges": ["published"]})
    project.run()
    assert project.episodes("model") == records and len(server.requests) == asked
    assert [row["judge"] for row in csv.DictReader(project.report("summary.csv").splitlines())] == ["published"]


def test_an_outage_of_the_model_is_no_verdict_and_the_next_run_tries_again(project: Project, serve: Any) -> None:
    project.write(end_idx=8)
    project.run("episodes")
    questions = {
        name: json.loads((project.episode(0, "reference").parent / name).read_text())["messages"][1]["content"]
        for name in project.episodes("reference")
    }
    unlucky = sorted(questions)[1]
    asked = questions[unlucky].split("# Question")[1].split("#")[0].strip()
    down = {
        "conversations": [
            {"match": "(?s)# Question\\s+" + re.escape(asked), "replies": [{"status": 503, "text": "overloaded"}]},
            *ONE_STEP["conversations"],
        ]
    }
    server = serve(down)
    project.write(agent=model(server), result_dir_tag="model")
    output = project.run(status=1)
    assert "503" in output and "Traceback" not in output
    assert set(project.episodes("model")) == set(questions) - {unlucky}
    before = project.episodes("model")
    server.script = ONE_STEP
    calls = len(server.requests)
    project.run()
    after = project.episodes("model")
    assert set(after) == set(questions) and all(after[name] == before[name] for name in before)
    assert len(server.requests) - calls == 2
    assert summary(project)["missing"] == "0"


def test_a_partial_table_is_made_only_when_asked_for_and_says_so(project: Project) -> None:
    project.run("episodes")
    project.episode(min(_indices(project)), "reference").unlink()
    project.run("--config=partial=true")
    row = summary(project)
    assert row["missing"] == "1" and int(row["asked"]) == int(row["done"]) + 1
    assert "PARTIAL" in project.report("summary.md")
    assert len(project.episodes("reference")) == int(row["done"])
    project.run()
    assert summary(project)["missing"] == "0" and "PARTIAL" not in project.report("summary.md")


def _indices(project: Project) -> list[int]:
    return [int(name.removeprefix("history_").removesuffix(".json")) for name in project.episodes("reference")]


def test_two_runs_give_the_same_tables_and_the_same_records_but_for_times(project: Project) -> None:
    project.run()
    tables = {name: project.report(name) for name in ("summary.csv", "summary.md", "disagreements.csv", "success.svg", "report.html")}
    records = {idx: _timeless(project.record(idx, "reference")) for idx in _indices(project)}
    for folder in ("mimic_iii", "reports", "logs"):
        subprocess.run(["rm", "-r", str(project.folder / "work" / folder)], check=True)
    project.run()
    assert {name: project.report(name) for name in tables} == tables
    assert {idx: _timeless(project.record(idx, "reference")) for idx in _indices(project)} == records


def _timeless(record: dict[str, Any]) -> dict[str, Any]:
    steps = [{key: value for key, value in step.items() if not key.endswith("_seconds")} for step in record["steps"]]
    return {**record, "steps": steps}


@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_kill_minus_nine_loses_no_finished_episode_and_leaves_no_orphan(project: Project, serve: Any, victim: str) -> None:
    server = serve(ONE_STEP, latency=0.15)
    project.write(agent=model(server), result_dir_tag="model", in_flight=2)
    run = project.start()
    wait_for(lambda: len(project.episodes("model")) >= 3)
    workers = [
        child for child in psutil.Process(run.pid).children(recursive=True) if "medagentgym.worker" in child.cmdline() and child.name() != "bash"
    ]
    assert workers
    if victim == "driver":
        os.kill(run.pid, signal.SIGKILL)
    else:
        for worker in workers:
            worker.kill()
    run.communicate(timeout=60)
    wait_for(lambda: not any(worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE for worker in workers))
    calls = len(server.requests)
    time.sleep(0.5)
    assert len(server.requests) == calls, "a worker went on calling the model after its run had ended"
    before = project.episodes("model")
    assert before and all(json.loads(project.episode(0, "model").with_name(name).read_text())["result"] for name in before)
    output = project.run(status=None)
    if victim == "driver" and "unlock" in output:
        project.run("--unlock")
        project.run()
    after = project.episodes("model")
    assert all(after[name] == before[name] for name in before) and summary(project)["missing"] == "0"


def test_ctrl_c_keeps_what_is_finished_and_the_next_run_does_the_rest(project: Project, serve: Any) -> None:
    server = serve(ONE_STEP, latency=0.15)
    project.write(agent=model(server), result_dir_tag="model", in_flight=2)
    run = project.start()
    wait_for(lambda: len(project.episodes("model")) >= 3)
    os.killpg(run.pid, signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode != 0
    before = project.episodes("model")
    assert len(before) >= 3
    project.run()
    after = project.episodes("model")
    assert all(after[name] == before[name] for name in before) and summary(project)["missing"] == "0"


def test_a_second_rollout_keeps_the_first(project: Project, serve: Any) -> None:
    server = serve(ONE_STEP)
    project.write(agent=model(server), result_dir_tag="model", end_idx=4)
    project.run()
    calls, first = len(server.requests), project.episodes("model")
    project.write(training={"num_rollouts": 2})
    project.run()
    assert len(server.requests) - calls == 2 * len(first)
    for name in first:
        stem = name.removesuffix(".json")
        assert project.episode(0, "model").with_name(f"{stem}_0.json").read_bytes() == project.episode(0, "model").with_name(name).read_bytes()
        assert project.episode(0, "model").with_name(f"{stem}_1.json").exists()


def test_data_that_were_built_from_another_configuration_are_refused(project: Project) -> None:
    project.write(data={"synthetic": {**MADE_UP["synthetic"], "seed": 2}})
    output = project.run(status=2)
    assert "data.synthetic" in output and "Traceback" not in output


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_step": 3}, "num_steps"),
        ({"start_idx": 500}, "start_idx"),
        ({"end_idx": 500}, "end_idx"),
        ({"task": "mimic_iv"}, "mimic_iii"),
        ({"agent": {"name": "basline"}}, "baseline"),
        ({"agent": {"name": "llm", "llm": {"model_name": "gpt-4.1-mini"}}}, "OPENAI_API_KEY"),
        ({"agent": {"name": "scripted"}}, "agent.replies"),
    ],
)
def test_a_mistake_in_the_configuration_is_one_line_and_writes_nothing(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    project = Project(tmp_path, {"name": "test", "work_dir": "work", "data": MADE_UP, "agent": {"name": "reference"}, **changes})
    output = project.run(status=2, OPENAI_API_KEY="")
    lines = [line for line in output.splitlines() if line.startswith("medagentgym:")]
    assert len(lines) == 1 and said in lines[0] and "Traceback" not in output
    assert not (tmp_path / "work").exists()


def test_published_results_can_be_tabled_and_not_extended(project: Project) -> None:
    folder = project.episode(0, "published").parent
    folder.mkdir(parents=True)
    for idx, end in enumerate([{"result": "success", "score": 1}, {"result": "failure"}, {"result": "success", "score": 1}]):
        conversation = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}, {"role": "assistant", "content": ANSWER}]
        project.episode(idx, "published").write_text(json.dumps([*conversation, end]))
    project.write(result_dir_tag="published", end_idx=3)
    files = project.episodes("published")
    project.run("--config=partial=true")
    published, strict = summary(project, "published"), summary(project, "strict")
    assert (published["done"], published["scored"], published["successes"]) == ("3", "3", "2")
    assert (strict["scored"], strict["unscorable"], strict["success_rate"]) == ("0", "3", "")
    project.write(end_idx=6)
    assert "import" in project.run(status=2) and project.episodes("published") == files


def test_a_constant_answer_scores_its_floor_and_no_more(project: Project, built_data: Path) -> None:
    rows = [json.loads(line) for line in (built_data / "mimic_iii" / "test_tasks.jsonl").read_text().splitlines()]
    golds = [json.dumps(row["gold"]["rows"]) for row in rows if not row["is_impossible"]]
    commonest = max(set(golds), key=lambda gold: (golds.count(gold), gold))
    replies = [json.dumps({"action": "validate_code", "params": {"code": f"answer = {json.loads(commonest)!r}"}}), SUBMIT]
    (project.folder / "replies.json").write_text(json.dumps(replies))
    project.write(agent={"name": "scripted", "replies": "replies.json"}, result_dir_tag="constant")
    project.run()
    row = summary(project)
    assert float(row["success_rate"]) == float(row["floor"]) > 0
