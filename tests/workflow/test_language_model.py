"""Episodes of a language model through the whole workflow, against a scripted service."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from workflow_project import Project, model

pytestmark = pytest.mark.slow

SECRET = "sk-planted-0123456789abcdefghijklmnop"
OTHER_SECRET = "planted-in-the-environment-9876543210"
READ_WHAT_CAN_BE_READ = """
import os
print(dict(os.environ))
paths = [f"/proc/{process}/{name}" for process in os.listdir("/proc") if process.isdigit() for name in ("environ", "cmdline")]
for folder, folders, files in os.walk("/"):
    paths += [os.path.join(folder, name) for name in files if not name.endswith((".csv", ".sqlite"))]
    skipped = ("dev", "proc", "sys", "usr", "lib", "lib64", "environment", "interpreter")
    folders[:] = [name for name in folders if folder.count("/") < 4 and name not in skipped]
for path in paths:
    try:
        with open(path, "rb") as stream:
            print(path, stream.read(3000))
    except OSError as error:
        print(path, error)
answer = len(paths)
"""


def act(action: str, **params: str) -> str:
    return json.dumps({"action": action, "params": params})


def reference_code(project: Project, idx: int) -> str:
    project.write(result_dir_tag="reference", agent={"name": "reference"}, start_idx=idx, end_idx=idx + 1)
    project.run("episodes")
    return str(project.record(idx, "reference")["steps"][0]["params"]["code"])


def test_a_record_shows_a_lookup_a_malformed_reply_a_timeout_a_wrong_answer_and_a_right_one(project: Project, serve: Any) -> None:
    right = reference_code(project, 0)
    replies = [
        act("request_info", data_path="PATIENTS.csv", info_type="column_names"),
        "Let me think. {'action': validate_code",
        {
            "text": act("validate_code", code="answer = 'a guess that is wrong'"),
            "delay": 3.0,
            "times": 1,
            "then": act("validate_code", code="answer = 'wrong'"),
        },
        act("validate_code", code="print(1/0)"),
        act("validate_code", code=right),
        "That is my answer.",
    ]
    server = serve({"conversations": [{"match": "# Question", "replies": replies}]})
    agent = model(server, timeout_seconds=1.0, price={"prompt": 1.0, "completion": 2.0})
    project.write(agent={**agent, "n_retry": 2}, result_dir_tag="model")
    project.run()
    record = project.record(0, "model")
    assert [step["action"] for step in record["steps"]] == ["request_info", "error", "validate_code", "validate_code", "validate_code", "error"]
    assert "SUBJECT_ID" in record["steps"][0]["observation"]
    assert "ZeroDivisionError" in record["steps"][3]["observation"]
    assert [attempt["verdicts"]["strict"]["correct"] for attempt in record["attempts"]] == [False, True]
    assert (record["result"], record["score"], record["stop_reason"]) == ("success", 1.0, "submitted")
    assert record["usage"]["calls"] == 7 and record["usage"]["retries"] == 1 and record["usage"]["cost"] > 0
    assert [message["role"] for message in record["messages"][:3]] == ["system", "user", "assistant"]
    assert "SUBJECT_ID" in record["messages"][3]["content"]
    assert record["sandbox"]["backend"] == "bubblewrap"


def test_secrets_are_found_nowhere_but_at_the_model_service(project: Project, serve: Any) -> None:
    replies = [act("validate_code", code=READ_WHAT_CAN_BE_READ), act("submit")]
    server = serve({"conversations": [{"match": "# Question", "replies": replies}]})
    (project.folder / "credentials.toml").write_text(f'MODEL_KEY = "{SECRET}"\n', encoding="utf-8")
    project.write(agent=model(server, api_key_name="MODEL_KEY"), result_dir_tag="model", end_idx=2)
    output = project.run(OTHER_API_KEY=OTHER_SECRET)
    assert project.record(0, "model")["steps"][0]["exit_status"] == 0, "the search came to its end"
    assert server.requests and all(request["headers"]["authorization"] == f"Bearer {SECRET}" for request in server.requests)
    holders = [path for path in project.files() if path.name != "credentials.toml" and _holds(path, SECRET, OTHER_SECRET)]
    assert holders == [] and SECRET not in output and OTHER_SECRET not in output
    assert not any(SECRET in json.dumps(request["body"]) or OTHER_SECRET in json.dumps(request["body"]) for request in server.requests)
    assert stat.S_IMODE(os.stat(project.folder / "work").st_mode) == 0o700


def test_a_service_that_echoes_the_key_in_its_error_puts_it_into_no_file(project: Project, serve: Any) -> None:
    server = serve([{"status": 401, "text": f"Incorrect API key provided: {SECRET}"}])
    (project.folder / "credentials.toml").write_text(f'MODEL_KEY = "{SECRET}"\n', encoding="utf-8")
    project.write(agent=model(server, api_key_name="MODEL_KEY"), result_dir_tag="model", end_idx=3)
    output = project.run(status=1)
    assert "401" in output and SECRET not in output
    assert [path for path in project.files() if path.name != "credentials.toml" and _holds(path, SECRET)] == []
    assert project.episodes("model") == {}


def _holds(path: Path, *secrets: str) -> bool:
    content = path.read_bytes()
    return any(secret.encode() in content for secret in secrets)


def test_a_published_configuration_runs_as_it_is_and_means_the_published_protocol(project: Project, serve: Any, tmp_path: Path) -> None:
    built = project.folder / "work" / "data" / "mimic_iii"
    published = tmp_path / "published"
    published.mkdir()
    for table in (built / "database").glob("*.csv"):
        (published / table.name).write_bytes(table.read_bytes())
    rows = [json.loads(line) for line in (built / "test_tasks.jsonl").read_text().splitlines()]
    kept = [{key: row[key] for key in ("template", "question", "query", "answer", "is_impossible", "id")} for row in rows if not row["is_impossible"]]
    for name in ("train", "valid"):
        (published / f"{name}_tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept[:6]))
    (tmp_path / "metadata.json").write_text('{"mimic_iii": {"train": 5, "test": 5}}')
    everything = act("validate_code", code="print(list(range(3000)))")
    server = serve({"conversations": [{"match": "# Question", "replies": [everything]}]})
    (project.folder / "credentials.toml").write_text(f'OPENAI_API_KEY = "{SECRET}"\nAZURE_OPENAI_API_KEY = "{SECRET}"\nAPI_VERSION = "2024-10-21"\n')
    llm = {"model_type": "vLLM", "model_name": "m", "max_total_tokens": 200_000, "max_input_tokens": 80_192, "max_new_tokens": 8192}
    llm |= {"log_probs": False, "temperature": 0.0, "port": server.port}
    config = {
        "Agent": {"llm": llm, "n_retry": 3, "retry_delay": 10},
        "Data": {"metadata_path": str(tmp_path / "metadata.json"), "data_path": str(published)},
        "Debugger": {key: llm[key] for key in llm if key != "port"} | {"port": server.port},
        "Env": {"n_retry": 3},
        "task": "mimic_iii",
        "credentials_path": "./credentials.toml",
        "work_dir": "./workdir/published",
        "result_dir_tag": "train_m-mimiciii",
        "start_idx": 0,
        "end_idx": -1,
        "num_steps": 3,
    }
    (project.folder / "config.yaml").write_text(yaml.safe_dump(config))
    project.run()
    folder = project.folder / "workdir" / "published" / "mimic_iii" / "train_m-mimiciii" / "test"
    records = [json.loads(path.read_text()) for path in sorted(folder.glob("history_*.json"))]
    assert len(records) == 6, "all rows of the task file, not the count of the metadata"
    assert {record["protocol"] for record in records} == {"oracle_stop"} and {record["stop_judge"] for record in records} == {"published"}
    summary = (project.folder / "workdir" / "published" / "reports" / "config" / "summary.md").read_text()
    assert "oracle_stop" in summary
    accepted = [record for record in records if record["stop_reason"] == "accepted"]
    assert accepted, "printing many numbers satisfies the published judge now and then"
    assert not any(attempt["verdicts"]["strict"]["correct"] for record in accepted for attempt in record["attempts"])


@pytest.mark.parametrize("flags", [["--async_run", "--n_jobs", "2", "--parallel_backend", "joblib"], []])
def test_the_module_runs_the_same_workflow_and_both_find_nothing_left_to_do(project: Project, flags: list[str]) -> None:
    command = [sys.executable, "-m", "medagentgym", "--config_path", "config.yaml", "--task", "mimic_iii", "--end_idx", "4", *flags]
    first = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, timeout=200, check=False)
    assert first.returncode == 0, first.stdout + first.stderr
    assert ("runs on Snakemake" in first.stderr) == bool(flags)
    before = project.episodes("reference")
    assert before
    assert "Nothing to be done" in project.run("--config=end_idx=4")
    assert project.episodes("reference") == before


def test_the_published_functions_work_when_called_directly(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from medagentgym.args import async_run_experiments, parse_arguments, run_single_experiment, sequential_run_experiments

    monkeypatch.chdir(project.folder)
    args = parse_arguments(["--config_path", "config.yaml", "--end_idx", "3"])
    assert run_single_experiment(args, args.config, 0) == 1.0
    assert set(project.episodes("reference")) == {"history_0.json"}
    before = project.record(0, "reference")
    result = sequential_run_experiments(args, args.config)
    assert result["success_rate"] == 1.0 and result["missing"] == 0 and result["asked"] == len(project.episodes("reference"))
    assert project.record(0, "reference") == before
    assert async_run_experiments(args, args.config, 2, parallel_backend="joblib")["done"] == result["done"]


def test_credentialed_records_are_not_sent_to_a_hosted_model_that_nobody_acknowledged(project: Project, built_data: Path) -> None:
    (project.folder / "credentials.toml").write_text('OPENAI_API_KEY = "sk-not-a-real-key-0000000000"\n')
    real = {
        "sqlite_path": str(built_data / "mimic_iii/database/mimic_iii.sqlite"),
        "questions": {"test": str(built_data / "mimic_iii/test_tasks.jsonl")},
    }
    hosted = {"name": "llm", "llm": {"model_name": "gpt-4.1-mini"}}
    project.write(work_dir="private", agent=hosted, result_dir_tag="hosted", data=real, end_idx=1)
    output = project.run(status=2)
    assert "api.openai.com" in output and "data_policy" in output and not (project.folder / "private").exists()
    project.write(data_policy={"acknowledged": [{"endpoint": "api.openai.com", "basis": "approved for this test only"}]})
    assert "api.openai.com" not in project.run("--dry-run")
    project.write(data_policy={}, data={**real, "credentialed": False})
    assert "api.openai.com" not in project.run("--dry-run"), "open data may go anywhere"
