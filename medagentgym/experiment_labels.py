"""What experiments are called in tables and figures: what they share is said once, what tells them apart stands in each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def shared_heading(rows: Sequence[Mapping[str, Any]]) -> str:
    """Task and mode where all rows share them, for example `task mimic_iii, mode test`; empty where they share neither."""
    return ", ".join(f"{name} {rows[0][name]}" for name in ("task", "mode") if rows and _shared(rows, name))


def experiment_labels(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One label a row: the tag, with task and mode where the rows differ in them."""
    parts = [name for name in ("task", "tag", "mode") if name == "tag" or not _shared(rows, name)]
    return ["/".join(str(row[name]) for name in parts) for row in rows]


def _shared(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return len({row[name] for row in rows}) == 1
