"""Reading what a build left in its folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

Table = list[dict[str, str]]


def table(folder: Path, name: str) -> Table:
    """The rows of a table, as its CSV file has them."""
    with (folder / "database" / f"{name}.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def manifest(folder: Path) -> dict[str, Any]:
    """What the build says of itself."""
    content = json.loads((folder / "build.json").read_text())
    assert isinstance(content, dict)
    return content
