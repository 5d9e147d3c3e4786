"""Reading a configuration: a YAML or JSON file, the command line over it, both layouts, and one line for whatever is wrong.

`medagentgym.config` says which keys there are. Here a file becomes a `Config` (`load_config`), a `Config` becomes the experiments that it stands for
(`experiments`), and `start_idx` and `end_idx` become a range (`instance_range`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from medagentgym.config import Block, Config, ModelConfig, ReadKind
from medagentgym.config_file import read_config_file
from medagentgym.config_keys import KeyPath, annotated, annotation_at, base_class, dotted, expects, kind_of, must_exist, nearest, nearest_key
from medagentgym.config_layers import Layers, coerce, from_published, in_our_layout, is_member, merge, plain, with_our_names, without_overridden
from medagentgym.config_secrets import refuse_secrets
from medagentgym.errors import UserError, one_line

RUN_WIDE_KEYS = ("config_path", "name", "work_dir", "async_run", "n_jobs", "parallel_backend", "experiments")
"""Keys that belong to a whole run, so that an entry of `experiments` cannot have its own."""

DATA_SOURCES = ("raw_path", "sqlite_path", "data_path", "synthetic")
"""Keys of `data`, exactly one of which is given; tasks that are made of task files alone take `data.questions` instead."""

COMMAND_LINE = "command line"

AGENTS_WITHOUT_MODEL = ("baseline", "reference", "scripted")


def load_config(source: Path | str | Mapping[str, Any], overrides: Mapping[str, Any] | None = None, *, name: str | None = None) -> Config:
    """Read a configuration.

    `source` is a YAML or JSON file, or the mapping that such a file holds; in our own layout or in the published one (blocks `Agent`, `Data`,
    `Debugger`, `Env`), which means `protocol: oracle_stop` with `stop_judge: published` unless it says otherwise. `overrides` come from the command
    line and win over the file, key by key; their values may be text (`"3"`, `"true"`, `"null"`, or JSON for blocks and lists). `name` is the name of
    the run where neither says one; for a file it is the file's stem.

    Raises `UserError`, one line with file and dotted key: an unreadable file, an unknown key, a wrong value, a secret, a path that does not exist,
    not exactly one source of data, or experiments that would write to the same folder.
    """
    config, layers = _resolve(source, overrides or {}, name)
    for experiment, origin in _expand(config, layers):
        _check_data_source(experiment, origin)
        _check_paths(experiment, origin)
    _check_work_dir(config.work_dir, layers.name(("work_dir",)))
    return config


def load_flags(overrides: Mapping[str, Any]) -> Config:
    """The configuration of a command line without a file. Whether it suffices for a run is not asked. Raises `UserError`."""
    return _resolve({}, overrides, None)[0]


def experiments(config: Config) -> list[Config]:
    """The experiments of a run, one configuration each, with `experiments` empty and `result_dir_tag` filled in.

    An entry of `experiments` is merged over the rest of the configuration key by key, blocks within blocks; lists are replaced. Raises `UserError`
    naming the entry and the key, or both entries where two have the same task, tag and mode.
    """
    return [experiment for experiment, _ in _expand(config, Layers(str(config.config_path or "configuration")))]


def instance_range(config: Config, count: int) -> range:
    """The instances from `start_idx` up to, not including, `end_idx` (-1: all) of a task file with `count` rows.

    Raises `UserError` where either lies beyond the file or nothing is between them.
    """
    where = f"{config.config_path}: " if config.config_path else ""
    if count == 0:
        key = f"data.synthetic.{config.mode}" if config.data.synthetic is not None else "mode"
        raise UserError(f"{where}{key}: task {config.task} has no {config.mode} instance; ask for some, or choose the other mode")
    size = f"the {config.mode} file of {config.task} has {count} instances"
    if config.start_idx >= count:
        raise UserError(f"{where}start_idx: {config.start_idx} is beyond the last instance; {size}, counted from 0")
    if config.end_idx > count:
        raise UserError(f"{where}end_idx: {config.end_idx} is too large; {size}; write -1 for all")
    end = count if config.end_idx == -1 else config.end_idx
    if config.start_idx >= end:
        raise UserError(f"{where}end_idx: {end} leaves nothing to do after start_idx {config.start_idx}; end_idx is not included, -1 means all")
    return range(config.start_idx, end)


def uses_model(config: Config) -> bool:
    """Whether the agent calls the model of `agent.llm`. Of a third-party agent it is believed where the block is written."""
    return config.agent.name not in AGENTS_WITHOUT_MODEL and (config.agent.name == "llm" or "llm" in config.agent.model_fields_set)


def models_in_use(config: Config) -> list[tuple[str, ModelConfig]]:
    """The models that may be called, by key: the agent's own, and the debug model where one is configured.

    Every agent may ask the debug model for an explanation, also one without a model of its own; only `reference` never does.
    """
    models = [("agent.llm", config.agent.llm)] if uses_model(config) else []
    if config.debugger is not None and config.agent.name != "reference":
        models.append(("debugger", config.debugger))
    return models


def slug(text: str) -> str:
    """The text as a safe folder name: what is not a letter, digit, `.`, `_` or `-` becomes `-`. Empty where nothing is left."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:200]


# --- resolving --------------------------------------------------------------------------------------------------------------------------------------


def _resolve(source: Path | str | Mapping[str, Any], overrides: Mapping[str, Any], name: str | None) -> tuple[Config, Layers]:
    if isinstance(source, Mapping):
        where = str(source.get("config_path") or "configuration")
        raw = plain(source, where)
    else:
        source = Path(source).expanduser()
        where = str(source)
        raw = plain(read_config_file(source), where)
        name = name or slug(source.stem) or None
    refuse_secrets(raw, where)
    given = plain(overrides, COMMAND_LINE)
    refuse_secrets(given, COMMAND_LINE)
    from_line = coerce(from_published(with_our_names(given, COMMAND_LINE), COMMAND_LINE)[0])
    from_file, published = in_our_layout(raw, where)
    merged = merge(from_file, from_line)
    published_entries = set()
    if isinstance(merged.get("experiments"), list):
        for number, entry in enumerate(merged["experiments"]):
            if isinstance(entry, dict):
                entry, entry_published = in_our_layout(entry, f"{where}: experiments[{number}]")
                merged["experiments"][number] = without_overridden(entry, from_line)
                published_entries |= {number} if entry_published else set()
    if not isinstance(source, Mapping):
        merged["config_path"] = source
    if name is not None and merged.get("name") is None:
        merged["name"] = name
    layers = Layers(where, from_line, published, frozenset(published_entries))
    return _validate(merged, layers), layers


def _expand(config: Config, layers: Layers) -> Iterator[tuple[Config, Layers]]:
    if not config.experiments:
        yield config.model_copy(update={"result_dir_tag": config.result_dir_tag or _tag(config, layers)}), layers
        return
    base = config.model_dump(exclude={"experiments"}, exclude_unset=True)
    seen: dict[tuple[str, str | None, str], int] = {}
    for number, entry in enumerate(config.experiments):
        here = replace(layers, entry=entry, entry_number=number)
        for key in RUN_WIDE_KEYS:
            if key in entry:
                raise UserError(f"{here.name((key,))}: belongs to the whole run; write it outside of experiments")
        experiment = _validate(merge(base, entry), here)
        experiment = experiment.model_copy(update={"result_dir_tag": experiment.result_dir_tag or _tag(experiment, here)})
        folder = (experiment.task, experiment.result_dir_tag, experiment.mode)
        if folder in seen:
            both = f"experiments[{seen[folder]}] and experiments[{number}]"
            raise UserError(f"{layers.where}: {both} would both write to {'/'.join(map(str, folder))}; give each its own result_dir_tag")
        seen[folder] = number
        yield experiment, here


def _tag(config: Config, layers: Layers) -> str:
    model = config.agent.llm.model_name if uses_model(config) else ""
    tag = slug("-".join(part for part in ("" if config.agent.name == "llm" else config.agent.name, model) if part))
    if not tag:
        raise UserError(f"{layers.name(('agent', 'llm', 'model_name'))}: makes no folder name; give result_dir_tag")
    return tag


# --- checks -----------------------------------------------------------------------------------------------------------------------------------------


def _validate(data: dict[str, Any], layers: Layers) -> Config:
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        mistakes: dict[KeyPath, str] = {}
        for detail in error.errors(include_url=False, include_context=False):
            path, message = _explain(detail, data, layers)
            if path not in mistakes:
                mistakes[path] = message
    # A mistyped key explains what else is wrong, so it comes first.
    lines = sorted(mistakes.values(), key=lambda line: "unknown key" not in line)
    more = len(lines) - 1
    raise UserError(lines[0] + (f" (and {more} more mistake{'s' if more > 1 else ''})" if more else "")) from None


def _explain(detail: ErrorDetails, data: dict[str, Any], layers: Layers) -> tuple[KeyPath, str]:
    here: Any = data
    path: KeyPath = ()
    unknown = detail["type"] == "extra_forbidden"
    for part in detail["loc"]:
        if is_member(here, part):
            here = here[part]
        elif part == "[key]":
            unknown = True
            continue
        elif detail["type"] != "missing":
            continue  # pydantic names the member of a union here
        path = (*path, part)
    if unknown:
        meant = nearest_key(path)
        return path, f"{layers.name(path)}: unknown key" + (f"; did you mean {dotted(layers.written(meant))}?" if meant else "")
    expected = expects(annotation_at(path))
    if detail["type"] == "missing":
        return path, f"{layers.name(path[:-1])}.{path[-1]}: is missing; expects {expected}"
    hint = ""
    if isinstance(here, str):
        near = nearest(here, [choice for choice in re.findall(r"`([^`]+)`", expected) if len(choice) > 1])
        hint = f"; did you mean {near}?" if near else ""
    elif isinstance(here, int | float) and not isinstance(here, bool) and base_class(annotation_at(path)) is str:
        hint = "; write it in quotes"
    return path, f"{layers.name(path)}: expects {expected}, not {_shown(here)}{hint}"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return kind_of(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = one_line(repr(str(value)) if isinstance(value, str | Path) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_data_source(config: Config, layers: Layers) -> None:
    given = [key for key in DATA_SOURCES if getattr(config.data, key) is not None]
    if len(given) == 1:
        return
    keys = ", ".join(dotted(layers.written(("data", key))) for key in DATA_SOURCES)
    if not given:
        if config.data.questions:
            return  # a task that is made of task files alone; every other one refuses it
        raise UserError(f"{layers.place()}: says nowhere where the data come from; give exactly one of {keys}, or questions alone")
    both = " and ".join(layers.name(("data", key)).rpartition(": ")[2] for key in given)
    raise UserError(f"{layers.place()}: {both} are given; give exactly one of {keys}, and null for one that is inherited")


def _check_paths(config: Config, layers: Layers) -> None:
    for path, kind, value in _read_paths(config):
        place = layers.name(path)
        try:
            value.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise UserError(f"{place}: {value} does not exist; a relative path starts at the current folder, {Path.cwd()}") from None
        except OSError as error:
            raise UserError(f"{place}: {_shown(value)} cannot be read ({error.strerror})") from None
        if kind == "folder" and not value.is_dir():
            raise UserError(f"{place}: {value} is not a folder")
        if kind == "file" and value.is_dir():
            raise UserError(f"{place}: {value} is a folder, not a file")
        if not os.access(value, os.R_OK):
            raise UserError(f"{place}: {value} cannot be read (permission denied)")


def _check_work_dir(folder: Path, place: str) -> None:
    # In the names of files that Snakemake makes, braces are wildcards.
    if re.search(r"[{}\x00-\x1f\x7f]", str(folder)):
        raise UserError(f"{place}: {_shown(folder)} has a brace, a tab or a line break in its name; choose another folder")
    existing = next((path for path in (folder, *folder.parents) if os.path.exists(path)), folder)
    if not os.path.isdir(existing):
        raise UserError(f"{place}: {existing} is not a folder; choose another one")


def _read_paths(block: Block, prefix: KeyPath = ()) -> Iterator[tuple[KeyPath, ReadKind, Path]]:
    """Every path of the configuration that is read, with what it must be."""
    for name, field_info in type(block).model_fields.items():
        value = getattr(block, name)
        kind = must_exist(annotated(field_info))
        if isinstance(value, Block):
            yield from _read_paths(value, (*prefix, name))
        elif kind is not None and isinstance(value, Path):
            yield (*prefix, name), kind, value
        elif kind is not None and isinstance(value, dict):
            for key, inner in value.items():
                yield (*prefix, name, key), kind, inner
