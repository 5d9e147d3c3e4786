"""A project folder in which the real workflow runs as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from model_server import ModelServer

ROOT = Path(__file__).resolve().parent.parent
MADE_UP = {"synthetic": {"patients": 30, "seed": 1, "train": 5, "test": 30}}


class Project:
    """A folder with a configuration file, in which Snakemake is started as a user starts it."""

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        self.folder = folder
        self.config: dict[str, Any] = dict(config)
        self.write()

    def write(self, **changes: Any) -> None:
        self.config |= changes
        (self.folder / "config.yaml").write_text(yaml.safe_dump(self.config), encoding="utf-8")

    def command(self, *arguments: str, cores: int = 2) -> list[str]:
        targets = [argument for argument in arguments if not argument.startswith("-")]
        flags = [argument for argument in arguments if argument.startswith("-")]
        snakemake = [sys.executable, "-m", "snakemake", *targets, "--snakefile", str(ROOT / "Snakefile")]
        return [*snakemake, "--cores", str(cores), "--configfile", "config.yaml", *flags]

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, status: int | None = 0, **environment: str) -> str:
        """Run the workflow; gives what it said. `status` None: any."""
        done = subprocess.run(
            self.command(*arguments), cwd=self.folder, env=os.environ | environment, capture_output=True, text=True, timeout=280, check=False
        )
        output = done.stdout + done.stderr
        assert status is None or done.returncode == status, output
        return output

    def episode(self, idx: int, tag: str) -> Path:
        return self.folder / "work" / "mimic_iii" / tag / "test" / f"history_{idx}.json"

    def record(self, idx: int, tag: str) -> dict[str, Any]:
        return dict(json.loads(self.episode(idx, tag).read_text(encoding="utf-8")))

    def episodes(self, tag: str) -> dict[str, bytes]:
        """Name of every record -> what it holds. An episode that was made again differs, because a record holds how long its steps took."""
        return {path.name: path.read_bytes() for path in (self.folder / "work" / "mimic_iii" / tag / "test").glob("history_*.json")}

    def report(self, name: str) -> str:
        return (self.folder / "work" / "reports" / "test" / name).read_text(encoding="utf-8")

    def files(self) -> Iterator[Path]:
        return (path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())


def model(server: ModelServer, **settings: Any) -> dict[str, Any]:
    """The block `agent` of a language model at a scripted service."""
    llm = {"model_name": "scripted-1", "base_url": server.base_url, "max_new_tokens": 1000, **settings}
    return {"name": "llm", "llm": llm, "n_retry": 1, "retry_delay": 0.05}


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """What `condition` gives, once it gives something true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("what was waited for did not happen")
