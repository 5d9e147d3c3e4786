"""Write what the typed configuration knows of itself: `config/schema.json` for editors and `docs/configuration.md` for readers.

`python -m medagentgym.reference_page` writes both; with `--check` it writes nothing and fails where one of them is not current.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from medagentgym.config import Block, Config, ModelConfig
from medagentgym.config_keys import annotated, block_of, expects
from medagentgym.config_layers import PUBLISHED_BLOCKS
from medagentgym.configuration import DATA_SOURCES
from medagentgym.record import write_text

PROJECT = Path(__file__).resolve().parent.parent

INTRODUCTION = """\
# Configuration

A run is described by one YAML or JSON file. Every key has a default but the source of the data, so a file says only what is its own:

```yaml
task: mimic_iii
data:
  raw_path: /data/mimic-iii        # the directory of *.csv.gz files
  questions: {test: questions.json}
agent:
  llm: {model_name: gpt-4.1-mini}
```

- **The command line wins.** `snakemake --configfile FILE --config end_idx=20 'agent={"llm": {"temperature": null}}'` merges into the file, block by
  block; `python -m medagentgym --config_path FILE --end_idx 20` does the same with the published flags.
- **Paths** start at the current folder, not at the file; `~` is the home folder.
- **Mistakes** are one line with file and key, before anything is written or spent.
- **Secrets** are refused here. They belong into the file of `credentials_path`, or into environment variables.
- **Several experiments** in one run: each entry of `experiments` is merged over the rest of the file, block by block. Two experiments must differ in
  `task`, `result_dir_tag` or `mode`; without a tag, agent and model make one.

  ```yaml
  experiments:
    - agent: {name: reference}
    - agent: {llm: {model_name: gpt-4.1-mini}}
    - agent: {llm: {model_name: o4-mini, temperature: null, token_param: max_completion_tokens}}
  ```

- **The published layout** (blocks `Agent`, `Data`, `Debugger`, `Env`) is read as it is and means `protocol: oracle_stop` with
  `stop_judge: published`, unless it says otherwise.
  `credential_path` and `num_rollouts` are accepted beside `credentials_path` and `training.num_rollouts`.

`config/schema.json` is this page for editors: begin a file with `# yaml-language-server: $schema=schema.json`.

This page is made from `medagentgym/config.py` by `python -m medagentgym.reference_page`.
"""


def configuration_page() -> str:
    """The reference page in Markdown: a section a block, a row a key."""
    sections = [INTRODUCTION]
    for prefix, block, listed in _blocks(Config, ""):
        title = "Top level" if not prefix else f"`{prefix}`" + (" (each item)" if listed else "")
        sections.append(f"## {title}\n\n{_first_paragraph(block)}\n\n{_table(block)}\n")
    return "\n".join(sections)


def schema() -> str:
    """The JSON Schema of a configuration file, with the accepted second spellings and the blocks of the published layout."""
    data = Config.model_json_schema()
    properties = data["properties"]
    for theirs, ours in PUBLISHED_BLOCKS.items():
        properties[theirs] = {**properties[ours], "description": f"Published layout: as `{ours}`."}
    properties["credential_path"] = {**properties["credentials_path"], "description": "As `credentials_path`."}
    properties["num_rollouts"] = {"type": "integer", "minimum": 1, "description": "As `training.num_rollouts`."}
    properties["experiments"]["items"] = {"$ref": "#"}
    data = {"$schema": "https://json-schema.org/draft/2020-12/schema", **data}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write both files, or with `--check` say which one is not current; exit status 1 where one is not."""
    parser = argparse.ArgumentParser(prog="python -m medagentgym.reference_page", description=main.__doc__, allow_abbrev=False)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    status = 0
    for path, text in ((PROJECT / "config" / "schema.json", schema()), (PROJECT / "docs" / "configuration.md", configuration_page())):
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if options.check:
            print(f"{path.relative_to(PROJECT)}: not current; run python -m medagentgym.reference_page", file=sys.stderr)
            status = 1
        else:
            write_text(path, text)
    return status


def _blocks(block: type[Block], prefix: str, listed: bool = False) -> Iterator[tuple[str, type[Block], bool]]:
    yield prefix, block, listed
    for name, field in block.model_fields.items():
        inner = block_of(field.annotation) or _item_block(field.annotation)
        # The debug model has the keys of `agent.llm`; they are described once.
        if inner is not None and not (inner is ModelConfig and not prefix):
            yield from _blocks(inner, f"{prefix}.{name}" if prefix else name, block_of(field.annotation) is None)


def _item_block(annotation: Any) -> type[Block] | None:
    return block_of(get_args(annotation)[0]) if get_origin(annotation) is list else None


def _table(block: type[Block]) -> str:
    rows = ["| key | expects | default | meaning |", "| --- | --- | --- | --- |"]
    for name, field in block.model_fields.items():
        cells = (f"`{name}`", expects(annotated(field)), _default(block, name, field), field.description or "")
        rows.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def _default(block: type[Block], name: str, field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    default = field.get_default(call_default_factory=True)
    if block_of(field.annotation) is ModelConfig and default is None:
        return "null; keys as `agent.llm`"
    if isinstance(default, BaseModel):
        return "see below"
    if name in DATA_SOURCES and "data_path" in block.model_fields:
        return "one is given"
    return f"`{json.dumps(str(default) if isinstance(default, PurePath) else default, ensure_ascii=False)}`"


def _first_paragraph(block: type[Block]) -> str:
    return " ".join((block.__doc__ or "").split("\n\n")[0].split())


if __name__ == "__main__":
    sys.exit(main())
