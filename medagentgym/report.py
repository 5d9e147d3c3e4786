"""The report of a run: one HTML file with tables, figure and explanations, which needs nothing but itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup

from medagentgym.errors import one_line

MOST_LISTED = 25
"""Episodes that a list in the report shows; its CSV file has all of them."""
LONGEST_WORD = 40
"""Characters that may be given up so as not to cut a word; what is longer is cut."""
LONG_QUESTION = 120
"""Characters of a shown question from which on its column is wider than the others."""
LONGEST_CELL = 240
"""Characters of a question, an answer, a gold or a reason in the report; the CSV file has up to `medagentgym.answers.LONGEST_TEXT`."""


@dataclass(frozen=True)
class EpisodeList:
    """Single episodes that a report shows, and what it says of them."""

    title: str
    words: str
    """A sentence on what is listed."""
    file: str
    """The CSV file beside the report that holds all of them, with whole texts."""
    rows: Sequence[Mapping[str, Any]]
    """By column: `episode` and `instance_id`, `<judge>_verdict`, and where they may be shown `question`, `answer`, `gold` and
    `<judge>_reason`."""

    @property
    def shown(self) -> list[Mapping[str, Any]]:
        """At most `MOST_LISTED` of them in their order, the first ones of every experiment."""
        number: dict[tuple[Any, ...], int] = {}
        ranked = []
        for position, row in enumerate(self.rows):
            experiment = (row["task"], row["tag"], row["mode"])
            number[experiment] = number.get(experiment, 0) + 1
            ranked.append((number[experiment], position))
        return [self.rows[position] for position in sorted(position for _, position in sorted(ranked)[:MOST_LISTED])]

    @property
    def hidden(self) -> int:
        """How many there are besides."""
        return max(0, len(self.rows) - MOST_LISTED)

    @property
    def table(self) -> pd.DataFrame:
        """What is shown, shortened: the file of an episode with the name of its instance, then the texts, then a column a judge."""
        cells = []
        for row in self.shown:
            texts = {name: _cell(row[name]) for name in ("question", "answer", "gold") if name in row}
            judges = [name.removesuffix("_verdict") for name in row if name.endswith("_verdict")]
            said = {f"judge {judge}": ": ".join(_cell(row[key]) for key in (f"{judge}_verdict", f"{judge}_reason") if key in row) for judge in judges}
            cells.append({"episode": f"{row['episode']}\n{row['instance_id']}", **texts, **said})
        return pd.DataFrame(cells, dtype=object)

    @property
    def kind(self) -> str:
        """The table's classes in the page."""
        return "listed long" if any(len(_cell(row.get("question"))) > LONG_QUESTION for row in self.shown) else "listed"


def _cell(value: Any) -> str:
    return "" if value is None else _between_words(one_line(value), LONGEST_CELL)


def _between_words(text: str, width: int) -> str:
    """Text of at most `width` characters: the middle of a longer one is left out, from the end of a word on, unless that word is a long one."""
    if len(text) <= width:
        return text
    kept = (width - 3) // 2
    head, tail = text[:kept], text[-kept:]
    whole_head, _, of_head = head.rpartition(" ")
    of_tail, _, whole_tail = tail.partition(" ")
    if text[kept] != " " and len(of_head) <= LONGEST_WORD:
        head = whole_head
    if text[-kept - 1] != " " and len(of_tail) <= LONGEST_WORD:
        tail = whole_tail
    return f"{head.rstrip()} … {tail.lstrip()}"


_TEMPLATE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
  :root { --ink: #1c2733; --soft: #5b6875; --line: #dde3e8; --paper: #ffffff; --accent: #0072B2; }
  * { box-sizing: border-box; }
  body { margin: 0; background: #f4f6f8; color: var(--ink); font: 15px/1.5 system-ui, "DejaVu Sans", Helvetica, Arial, sans-serif; }
  main { max-width: 1200px; margin: 0 auto; padding: 28px 16px 60px; }
  h1 { font-size: 26px; margin: 0 0 4px; }
  h2 { font-size: 18px; margin: 0 0 12px; }
  section { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 20px; margin-top: 18px; }
  .remark { border-left: 4px solid #E69F00; padding: 6px 12px; margin: 10px 0 0; background: #fdf6e7; }
  .scroll { overflow-x: auto; }
  table { border-collapse: collapse; width: 100%; font-size: 11.5px; font-variant-numeric: tabular-nums; }
  th, td { text-align: left; padding: 6px 8px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
  th { color: var(--soft); font-weight: 600; border-bottom-width: 2px; vertical-align: bottom; }
  td.wide { min-width: 7em; overflow-wrap: anywhere; }
  td.figure { white-space: nowrap; }
  table.listed { table-layout: fixed; min-width: 900px; }
  table.listed td { white-space: pre-line; overflow-wrap: anywhere; }
  table.listed th, table.listed td { padding-right: 14px; }
  table.listed th:first-child { width: 23.5%; }
  table.long th:nth-child(2) { width: 32%; }
  table.listed td:first-child { font: 10.5px/1.5 "DejaVu Sans Mono", Menlo, monospace; }
  tr:last-child td { border-bottom: 0; }
  svg { display: block; width: 100%; max-width: 860px; height: auto; margin: 0 auto 16px; }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 0; font-size: 13px; }
  dt { font-family: "DejaVu Sans Mono", Menlo, monospace; font-size: 12px; line-height: 1.65; }
  dd { margin: 0; color: var(--soft); }
  p.soft { color: var(--soft); margin: 8px 0 0; font-size: 13px; }
  p.lead { margin: -6px 0 12px; }
  @media print {
    body { background: none; }
    main { max-width: none; padding: 0; }
    section { border: 0; padding: 0; }
    tr, svg { break-inside: avoid; }
    h2, p.lead, thead { break-after: avoid; }
    .scroll { overflow: visible; }
    table.listed { min-width: 0; }
  }
</style>
</head>
<body>
<main>
<h1>{{ title }}</h1>
{% if heading %}<p class="soft">{{ heading }}</p>{% endif %}

{% for remark in remarks %}<p class="remark">{{ remark }}</p>
{% endfor %}
<section>
<h2>Success</h2>
{{ figure }}
{{ table(success) }}
</section>
<section>
<h2>Episodes</h2>
{{ table(episodes) }}
</section>
{% for list in lists if list.rows %}<section>
<h2>{{ list.title }}</h2>
<p class="soft lead">{{ list.words }}
{%- if list.hidden %} {{ list.shown | length }} of {{ list.rows | length }} are shown; the other {{ list.hidden }} are in {{ list.file }}, beside \
this report.{% endif %}
{%- if note %} {{ note }}{% endif %}</p>
{{ table(list.table, list.kind) }}
<p class="soft">Files of episodes lie below the working folder; medagentgym show FILE prints one. Long texts are shortened here, and whole in \
{{ list.file }}.</p>
</section>
{% endfor %}<section>
<h2>What the figures of summary.csv mean</h2>
<dl>
{% for name, meaning in columns.items() %}<dt>{{ name }}</dt><dd>{{ meaning | replace("`", "") }}</dd>
{% endfor %}</dl>
</section>
</main>
</body>
</html>
"""

_TABLE = """\
<div class="scroll"><table class="{{ kind }}">
<thead><tr>{% for name in names %}<th>{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in rows %}<tr>{% for cell in row %}<td class="{{ 'figure' if cell|length < 18 else 'wide' }}">{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody>
</table></div>"""


def render_report(
    title: str,
    success: pd.DataFrame,
    episodes: pd.DataFrame,
    lists: Sequence[EpisodeList],
    figure: Path,
    *,
    heading: str,
    remarks: Sequence[str],
    columns: Mapping[str, str],
    note: str = "",
) -> str:
    """The HTML text. `success` and `episodes` are tables of text, `lists` what is shown of single episodes and `note` what is said of all of these.

    `figure` is an SVG file, `columns` explains the columns of `summary.csv`.
    """
    environment = Environment(autoescape=True, trim_blocks=True)
    table_template = environment.from_string(_TABLE)

    def table(content: pd.DataFrame, kind: str = "figures") -> Markup:
        rows = [["" if pd.isna(cell) else str(cell) for cell in row] for row in content.to_numpy().tolist()]
        return Markup(table_template.render(names=[str(name).replace("_", " ") for name in content.columns], rows=rows, kind=kind))

    return environment.from_string(_TEMPLATE).render(
        title=title,
        heading=heading,
        remarks=remarks,
        success=success,
        episodes=episodes,
        lists=lists,
        note=note,
        columns=columns,
        figure=Markup(_inline_svg(figure.read_text(encoding="utf-8"))),
        table=table,
    )


def _inline_svg(text: str) -> str:
    """An SVG document without what only a file of its own may have: declaration, document type and metadata."""
    return re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
