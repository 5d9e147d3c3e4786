"""The report of a run: one HTML file with tables, figure and explanations, which needs nothing but itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup

MOST_DISAGREEMENTS = 25
"""Disagreements shown in the report; the CSV file has all of them."""

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
  tr:last-child td { border-bottom: 0; }
  svg { display: block; width: 100%; max-width: 860px; height: auto; margin: 0 auto 16px; }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 0; font-size: 13px; }
  dt { font-family: "DejaVu Sans Mono", Menlo, monospace; font-size: 12px; line-height: 1.65; }
  dd { margin: 0; color: var(--soft); }
  p.soft { color: var(--soft); margin: 8px 0 0; font-size: 13px; }
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
{% if disagreements is not none %}<section>
<h2>Where the judges disagree</h2>
{{ table(disagreements) }}
{% if hidden %}<p class="soft">{{ hidden }} more in disagreements.csv.</p>{% endif %}
</section>
{% endif %}<section>
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
<div class="scroll"><table>
<thead><tr>{% for name in names %}<th>{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in rows %}<tr>{% for cell in row %}<td class="{{ 'figure' if cell|length < 18 else 'wide' }}">{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody>
</table></div>"""


def render_report(
    title: str,
    success: pd.DataFrame,
    episodes: pd.DataFrame,
    disagreements: Sequence[Mapping[str, Any]],
    figure: Path,
    *,
    heading: str,
    remarks: Sequence[str],
    columns: Mapping[str, str],
) -> str:
    """The HTML text. `success` and `episodes` are tables of text, `figure` an SVG file, `columns` explains the columns of `summary.csv`."""
    environment = Environment(autoescape=True, trim_blocks=True)
    table_template = environment.from_string(_TABLE)

    def table(content: pd.DataFrame) -> Markup:
        rows = [["" if pd.isna(cell) else str(cell) for cell in row] for row in content.to_numpy().tolist()]
        return Markup(table_template.render(names=[str(name).replace("_", " ") for name in content.columns], rows=rows))

    return environment.from_string(_TEMPLATE).render(
        title=title,
        heading=heading,
        remarks=remarks,
        success=success,
        episodes=episodes,
        disagreements=None if not disagreements else pd.DataFrame(list(disagreements[:MOST_DISAGREEMENTS]), dtype=object),
        hidden=max(0, len(disagreements) - MOST_DISAGREEMENTS),
        columns=columns,
        figure=Markup(_inline_svg(figure.read_text(encoding="utf-8"))),
        table=table,
    )


def _inline_svg(text: str) -> str:
    """An SVG document without what only a file of its own may have: declaration, document type and metadata."""
    return re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
