"""The figure of a summary: success rates with their intervals, fit for a paper, the same bytes for the same figures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from medagentgym.experiment_labels import experiment_labels, shared_heading
from medagentgym.scores import records

MADE_UP = "made up"
"""What stands under `data` in a row of `summary.csv` whose data are made up."""
JUDGE_COLOURS = {"strict": "#0072B2", "published": "#E69F00"}
"""Judges that have the same colour in every figure. Colours are those of Okabe and Ito, which people with any kind of colour vision tell apart."""
OTHER_COLOURS = ("#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Colours of the other judges, in the order of their names."""

_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "medagentgym",
    "hatch.linewidth": 0.6,
}
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
}
_BAR_INCHES = 0.24
_LABEL_CHARACTERS = 34
_MADE_UP_MARK = "made-up data"
_AXIS_END = 134
"""Per cent at the right end of the axis: beyond 100 stand the figures."""


def draw_success(summary: pd.DataFrame, folder: Path) -> None:
    """Write `success.png`, `.pdf` and `.svg`: one bar an experiment and judge, its 95 % interval, the floor, and the bounds where they differ.

    `summary` has the rows of `summary.csv`. Widths are those of a two-column page (7 inches).
    """
    with matplotlib.rc_context(_STYLE):
        figure = _draw(summary)
        for kind, metadata in _METADATA.items():
            figure.savefig(folder / f"success.{kind}", dpi=200, metadata=metadata)


def _draw(summary: pd.DataFrame) -> Figure:
    colours = judge_colours(summary["judge"])
    groups = [records(group) for _, group in summary.groupby(["task", "tag", "mode"], sort=False)]
    names = experiment_labels([group[0] for group in groups])
    all_made_up = all(group[0]["data"] == MADE_UP for group in groups)
    bars = sum(len(group) for group in groups)
    figure = Figure(figsize=(7.0, 1.15 + _BAR_INCHES * (bars + 0.8 * len(groups))), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    labels: list[tuple[float, str]] = []
    handles: dict[str, Any] = {}
    position = 0.0
    for group, name in zip(groups, names, strict=True):
        first = position
        for row in group:
            handles |= _draw_row(axes, position, row, colours[row["judge"]])
            position += 1
        labels.append(((first + position - 1) / 2, _label(name, group[0], marked=not all_made_up)))
        position += 0.8
    axes.set_yticks([place for place, _ in labels], [text for _, text in labels])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(position - 1.1, -0.7)
    axes.set_xlim(0, _AXIS_END)
    axes.set_xticks(range(0, 101, 20))
    axes.spines["bottom"].set_bounds(0, 100)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_xlabel("success rate, % of scored episodes", x=50 / _AXIS_END)
    title = [shared_heading([group[0] for group in groups]), _MADE_UP_MARK if all_made_up else ""]
    figure.suptitle(", ".join(part for part in title if part), fontsize=9)
    if handles:
        order = sorted(handles, key=lambda name: not name.startswith("judge "))
        figure.legend(
            [handles[name] for name in order],
            order,
            loc="outside lower center",
            ncols=min(len(order), 5),
            numpoints=2,
            columnspacing=1.2,
            frameon=False,
        )
    return figure


def _draw_row(axes: Any, position: float, row: dict[str, Any], colour: str) -> dict[str, Any]:
    """Draw one bar; gives what the legend explains."""
    if row["success_rate"] is None:
        axes.text(1, position, f"{row['judge']}: no scored episode", va="center", color="#555555")
        return {}
    rate, upper = 100 * row["success_rate"], 100 * row["rate_upper"]
    low, high = 100 * row["ci_low"], 100 * row["ci_high"]
    handles = {f"judge {row['judge']}": axes.barh(position, rate, height=0.86, color=colour)}
    if upper > rate:
        handles["unknown (censored)"] = axes.barh(
            position, upper - rate, left=rate, height=0.86, facecolor="white", edgecolor="#777777", hatch="////", linewidth=0.6
        )
    handles["95 % interval"] = axes.plot(
        [low, high], [position, position], color="black", linewidth=1.1, solid_capstyle="butt", marker="|", markersize=5
    )[0]
    if row["floor"] is not None:
        floor = 100 * row["floor"]
        axes.plot([floor, floor], [position - 0.43, position + 0.43], color="white", linewidth=2.8, solid_capstyle="butt")
        handles["best constant answer"] = axes.plot(
            [floor, floor], [position - 0.43, position + 0.43], color="black", linewidth=1.4, linestyle=(0, (1.2, 0.8))
        )[0]
    text = f"{rate:.1f} %" if upper == rate else f"{rate:.1f} to {upper:.1f} %"
    axes.text(max(high, upper, 100) + 1.5, position, f"{text} ({row['successes']}/{row['scored']})", va="center")
    return handles


def judge_colours(judges: Iterable[str]) -> dict[str, str]:
    """Judge -> the colour of its bars, whichever of them leads."""
    others = sorted(set(judges) - set(JUDGE_COLOURS))
    return JUDGE_COLOURS | {judge: OTHER_COLOURS[place % len(OTHER_COLOURS)] for place, judge in enumerate(others)}


def _label(name: str, row: dict[str, Any], *, marked: bool) -> str:
    """The experiment's name, broken rather than cut, what is missing of it and, where they are to be `marked`, that its data are made up."""
    lines = textwrap.wrap(name, _LABEL_CHARACTERS)
    partial = [f"PARTIAL: {row['done']} of {row['asked']}"] if row["missing"] else []
    made_up = [_MADE_UP_MARK] if marked and row["data"] == MADE_UP else []
    return "\n".join([*lines, *partial, *made_up])
