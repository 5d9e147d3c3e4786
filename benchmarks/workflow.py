"""Whole runs, as a user starts them: one-step episodes against a scripted model, and the plan of a large run.

    python benchmarks/workflow.py                 40 one-step episodes, ours beside a stand-in for the published runner
    python benchmarks/workflow.py --episodes 1000
    python benchmarks/workflow.py --latency       200 episodes of 5 turns at 300 ms, 32 in flight, beside calls x latency / in flight
    python benchmarks/workflow.py --plan 72000    time and memory of a dry run, and of a run with nothing to do

The stand-in does what the published runner is described to do and no more: a process a job, a fresh interpreter a code execution, and a look once a
second whether it has ended.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from joblib import Parallel, delayed

ROOT = Path(__file__).resolve().parent.parent
CODE = "answer = 1"


@contextmanager
def model_service(folder: Path, replies: list[str], latency: float = 0.0) -> Iterator[int]:
    """A scripted model service in a process of its own; gives its port."""
    script = folder / "script.json"
    script.write_text(json.dumps({"conversations": [{"match": ".", "replies": replies}]}))
    command = [sys.executable, str(ROOT / "tests/model_server.py"), "--port", "0", "--script", str(script), "--latency", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.terminate()


def configuration(folder: Path, port: int, episodes: int, **changes: Any) -> None:
    """Write the configuration of a run on made-up patients."""
    config: dict[str, Any] = {
        "name": "benchmark",
        "work_dir": "work",
        "num_steps": 1,
        "data": {"synthetic": {"patients": 60, "train": 0, "test": episodes}, "impossible": "include"},
        "agent": {"name": "llm", "llm": {"model_type": "vLLM", "model_name": "scripted", "port": port}},
        "result_dir_tag": "benchmark",
        **changes,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


def snakemake(folder: Path, *arguments: str) -> tuple[float, float]:
    """Run Snakemake; gives seconds and the peak memory of one of its processes, MiB."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "snakemake", *arguments, "--snakefile", str(ROOT / "Snakefile"), "--cores", "2", "--configfile", "config.yaml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def stand_in_episode(port: int, folder: str, number: int) -> None:
    """One episode of the stand-in: ask the model, run the code in a fresh interpreter, look once a second whether it has ended."""
    body = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "question"}]}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        reply = json.load(response)["choices"][0]["message"]["content"]
    process = subprocess.Popen([sys.executable, "-c", json.loads(reply)["params"]["code"] + "\nprint(answer)"], stdout=subprocess.PIPE)
    time.sleep(1.0)
    while process.poll() is None:
        time.sleep(1.0)
    output = process.communicate()[0].decode()
    Path(folder, f"history_{number}.json").write_text(json.dumps([{"role": "assistant", "content": reply}, {"role": "user", "content": output}]))


def one_step(folder: Path, episodes: int) -> None:
    """One-step episodes: ours (episodes alone, and with the tables) beside the stand-in."""
    with model_service(folder, [json.dumps({"action": "validate_code", "params": {"code": CODE}})]) as port:
        configuration(folder, port, episodes)
        snakemake(folder, "data")
        ours, _ = snakemake(folder, "episodes")
        tables, _ = snakemake(folder)
        of_stand_in = min(episodes, 40)
        start = time.perf_counter()
        Parallel(n_jobs=2)(delayed(stand_in_episode)(port, str(folder), number) for number in range(of_stand_in))
        stand_in = (time.perf_counter() - start) / of_stand_in
    print(f"{'':44}{'seconds':>9}{'ms/episode':>12}{'ratio':>8}")
    for name, seconds in (
        (f"stand-in for the published runner ({of_stand_in})", stand_in * of_stand_in),
        (f"ours, {episodes} episodes", ours),
        ("ours, with tables and report", ours + tables),
    ):
        count = of_stand_in if name.startswith("stand") else episodes
        print(f"{name:44}{seconds:9.2f}{1000 * seconds / count:12.1f}{seconds / count / stand_in:8.3f}")


def with_latency(folder: Path, latency: float = 0.3, episodes: int = 200, turns: int = 5, in_flight: int = 32) -> None:
    """Episodes of several turns against a slow model, beside what the latency alone would take."""
    replies = [json.dumps({"action": "validate_code", "params": {"code": CODE}})] * (turns - 1) + [json.dumps({"action": "submit", "params": {}})]
    with model_service(folder, replies, latency) as port:
        configuration(folder, port, episodes, num_steps=turns, in_flight=in_flight // 2, batch_size=episodes // 2)
        snakemake(folder, "data")
        ours, _ = snakemake(folder, "episodes")
    bound = episodes * turns * latency / in_flight
    print(f"{episodes} episodes of {turns} turns at {1000 * latency:.0f} ms, {in_flight} in flight: {ours:.1f} s")
    print(f"calls x latency / in flight: {bound:.1f} s; ratio {ours / bound:.2f}")


def large_plan(folder: Path, episodes: int) -> None:
    """A run of many episodes: its dry run, and a run when everything is there."""
    configuration(folder, 1, 10)
    snakemake(folder, "data")
    config = yaml.safe_load((folder / "config.yaml").read_text())
    rows = (folder / "work/data/mimic_iii/test_tasks.jsonl").read_text().splitlines()
    questions = folder / "questions.jsonl"
    questions.write_text("\n".join(rows[number % len(rows)] for number in range(episodes)) + "\n")
    config["data"] = {"sqlite_path": "work/data/mimic_iii/database/mimic_iii.sqlite", "questions": {"test": str(questions)}, "credentialed": False}
    config |= {"work_dir": "large", "agent": {"name": "reference"}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    seconds, memory = snakemake(folder, "--dry-run", "--quiet", "all")
    print(f"dry run of {episodes:,} episodes, nothing there: {seconds:.1f} s, {memory:.0f} MiB")


def main() -> None:
    """Run the benchmark that the flags name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--latency", action="store_true")
    parser.add_argument("--plan", type=int, metavar="EPISODES")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="medagentgym-benchmark-") as name:
        folder = Path(name)
        if options.plan:
            large_plan(folder, options.plan)
        elif options.latency:
            with_latency(folder)
        else:
            one_step(folder, options.episodes)


if __name__ == "__main__":
    main()
