"""Reading a configuration: a YAML or JSON file, the command line over it, both layouts, and one line for whatever is wrong.

`medagentgym.config` says which keys there are. Here a file becomes a `Config` (`load_config`), a `Config` becomes the experiments that it stands for
(`experiments`), and `start_idx` and `end_idx` become a range (`instance_range`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from medagentgym.config import Block, Config
from medagentgym.config_keys import KeyPath, admits_null, annotated, annotation_at, block_of, dotted, expects, must_exist, nearest, nearest_key
from medagentgym.errors import UserError, one_line

PUBLISHED_BLOCKS = {"Agent": "agent", "Data": "data", "Debugger": "debugger", "Env": "env"}
"""Blocks of the published layout and what they are called here; their keys are the same."""

RUN_WIDE_KEYS = ("config_path", "name", "work_dir", "async_run", "n_jobs", "parallel_backend", "experiments")
"""Keys that belong to a whole run, so that an entry of `experiments` cannot have its own."""

DATA_SOURCES = ("raw_path", "sqlite_path", "data_path", "synthetic")
"""Keys of `data`, exactly one of which is given."""

AGENTS_WITHOUT_MODEL = ("baseline", "reference", "scripted")

_NULL_TEXTS = ("", "null", "none", "~")
_SECRET_KEY = re.compile(r"(^|[_-])((api|access|secret|private)[_-]?key|secret|token|password|passwd|pwd|authorization|credentials?)$", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"^(sk-[\w-]{8,}|gh[pousr]_\w{16,}|hf_\w{16,}|AKIA[0-9A-Z]{16}|xox[a-z]-\S{8,}|AIza[\w-]{30,}|Bearer\s+\S{8,}|eyJ[\w-]{8,}\.[\w-]{8,}\.\S*|[0-9a-f]{32,})$"
    r"|^[a-z][a-z0-9+.-]*://[^/\s]*:[^/\s]*@"
    r"|[?&](api[_-]?key|key|token|sig)=\S{8,}",
    re.IGNORECASE,
)


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
    return config


def load_flags(overrides: Mapping[str, Any]) -> Config:
    """The configuration of a command line without a file. Whether it suffices for a run is not asked. Raises `UserError`."""
    return _resolve({}, overrides, None)[0]


def experiments(config: Config) -> list[Config]:
    """The experiments of a run, one configuration each, with `experiments` empty and `result_dir_tag` filled in.

    An entry of `experiments` is merged over the rest of the configuration key by key, blocks within blocks; lists are replaced. Raises `UserError`
    naming the entry and the key, or both entries where two have the same task, tag and mode.
    """
    return [experiment for experiment, _ in _expand(config, _Layers(str(config.config_path or "configuration")))]


def instance_range(config: Config, count: int) -> range:
    """The instances from `start_idx` up to, not including, `end_idx` (-1: all) of a task file with `count` rows.

    Raises `UserError` where either lies beyond the file or nothing is between them.
    """
    where = f"{config.config_path}: " if config.config_path else ""
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


def slug(text: str) -> str:
    """The text as a safe folder name: what is not a letter, digit, `.`, `_` or `-` becomes `-`. Empty where nothing is left."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:200]


# --- files ----------------------------------------------------------------------------------------------------------------------------------------


def read_config_file(path: Path) -> dict[str, Any]:
    """The mapping that a YAML or JSON file holds. Raises `UserError` with the line where the file is not readable as such."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text (byte {error.start}); save the file as UTF-8") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({one_line(getattr(error, 'strerror', None) or error)})") from None
    suffix = path.suffix.lower()
    is_json = suffix == ".json" or (suffix not in (".yaml", ".yml") and text.lstrip().startswith("{"))
    try:
        data = json.loads(text, object_pairs_hook=_unique_pairs, parse_constant=_refuse_constant) if is_json else yaml.load(text, _ConfigLoader)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: line {error.lineno}: not JSON ({error.msg})") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        problem = error.problem or error.context
        if problem and "'\\t'" in problem:
            problem = "a tab where YAML wants spaces"
        raise UserError(f"{path}: {line}not YAML ({one_line(problem)})") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML ({one_line(error)})") from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else one_line(error)
        raise UserError(f"{path}: {reason}") from None
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise UserError(f"{path}: expects keys with values (`task: mimic_iii`), not {_kind(data)}")
    return data


class _ConfigLoader(yaml.SafeLoader):
    """YAML as a configuration needs it: a key given twice is a mistake, and a date is text (`api_version: 2024-10-21`)."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key that is not text", key.start_mark)
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"the key {key} is given twice")
    return dict(pairs)


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")


# --- layers -----------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layers:
    """Where the values of a configuration came from, to name the place of a mistake."""

    where: str
    """The file, or what stands for it in messages."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    published: bool = False
    """Whether the file is in the published layout."""
    entry: Mapping[str, Any] = field(default_factory=dict)
    """The entry of `experiments` that is merged over the rest."""
    entry_number: int | None = None
    entry_published: bool = False

    def name(self, path: KeyPath) -> str:
        """File and dotted key of a value, as its user wrote it: `config.yaml: experiments[1].agent.name`."""
        if _has(self.overrides, path):
            return f"command line: {dotted(path)}"
        if self.entry_number is not None and _has(self.entry, path):
            return f"{self.where}: {dotted(('experiments', self.entry_number, *_as_written(path, self.entry_published)))}"
        return f"{self.where}: {dotted(_as_written(path, self.published))}"

    def place(self) -> str:
        """File and entry, for a mistake that is not that of one value."""
        return self.where if self.entry_number is None else f"{self.where}: experiments[{self.entry_number}]"


def _as_written(path: KeyPath, published: bool) -> KeyPath:
    written = {ours: theirs for theirs, ours in PUBLISHED_BLOCKS.items()}
    return (written.get(str(path[0]), path[0]), *path[1:]) if published and path else path


def _has(data: Any, path: Sequence[str | int]) -> bool:
    for part in path:
        if not _is_member(data, part):
            return False
        data = data[part]
    return bool(path)


def _is_member(data: Any, part: str | int) -> bool:
    return part in data if isinstance(data, Mapping) else isinstance(data, list) and isinstance(part, int) and part < len(data)


def _resolve(source: Path | str | Mapping[str, Any], overrides: Mapping[str, Any], name: str | None) -> tuple[Config, _Layers]:
    if isinstance(source, Mapping):
        where, raw = str(source.get("config_path") or "configuration"), _plain(source)
    else:
        source = Path(source).expanduser()
        where, raw = str(source), read_config_file(source)
        name = name or slug(source.stem) or None
    _refuse_secrets(raw, where)
    given = _plain(overrides)
    _refuse_secrets(given, "command line")
    from_file, published = _from_published(_with_our_names(raw, where), where)
    from_line = _coerce(_from_published(_with_our_names(given, "command line"), "command line")[0])
    if published:
        from_file = {"protocol": "oracle_stop", "stop_judge": "published", **from_file}
    merged = _merge(_without_nulls(from_file, values=False), from_line)
    entries = merged.get("experiments")
    if isinstance(entries, list):
        merged["experiments"] = [_override_entry(entry, from_line) if isinstance(entry, dict) else entry for entry in entries]
    if not isinstance(source, Mapping):
        merged["config_path"] = source
    if name is not None and merged.get("name") is None:
        merged["name"] = name
    layers = _Layers(where, from_line, published)
    return _validate(merged, layers), layers


def _plain(data: Any, path: KeyPath = ()) -> Any:
    """A deep copy in dicts and lists, with text keys."""
    if len(path) > 50:
        raise UserError(f"configuration: {dotted(path[:5])} is nested too deeply")
    if isinstance(data, Mapping):
        for key in data:
            if not isinstance(key, str):
                raise UserError(f"configuration: {dotted((*path, str(key)))}: a key must be text; write it in quotes")
        return {str(key): _plain(value, (*path, str(key))) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value, (*path, number)) for number, value in enumerate(data)]
    return data


def _refuse_secrets(data: Any, where: str, path: KeyPath = ()) -> None:
    if isinstance(data, dict):
        for key, value in data.items():
            if _SECRET_KEY.search(key) and _may_be_secret(value):
                _refuse_secret(where, (*path, key))
            _refuse_secrets(value, where, (*path, key))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            _refuse_secrets(value, where, (*path, number))
    elif isinstance(data, str) and _SECRET_VALUE.search(data):
        _refuse_secret(where, path)


def _may_be_secret(value: Any) -> bool:
    # Short text and small numbers below such keys are sampling parameters (`stop_token: "</s>"`).
    return isinstance(value, str | int | float) and len(str(value).strip()) >= 6 and not isinstance(value, bool)


def _refuse_secret(where: str, path: KeyPath) -> None:
    raise UserError(f"{where}: {dotted(path)}: looks like a secret; put it into the file of credentials_path, where it is not copied into results")


def _with_our_names(data: dict[str, Any], where: str) -> dict[str, Any]:
    """`credential_path` and `num_rollouts` at the places that we have for them."""
    data = dict(data)
    if "credential_path" in data:
        value = data.pop("credential_path")
        if "credentials_path" in data and data["credentials_path"] != value:
            raise UserError(f"{where}: credential_path and credentials_path differ; they are two spellings of one key, so give one")
        data["credentials_path"] = value
    if "num_rollouts" in data:
        value = data.pop("num_rollouts")
        training = data.get("training")
        if isinstance(training, dict) and training.get("num_rollouts", value) != value:
            raise UserError(f"{where}: num_rollouts and training.num_rollouts differ; they are two spellings of one key, so give one")
        data["training"] = {**(training if isinstance(training, dict) else {}), "num_rollouts": value}
    return data


def _from_published(data: dict[str, Any], where: str) -> tuple[dict[str, Any], bool]:
    """The mapping in our layout, and whether it was in the published one."""
    if not PUBLISHED_BLOCKS.keys() & data.keys():
        return data, False
    converted: dict[str, Any] = {}
    for key, value in data.items():
        ours = PUBLISHED_BLOCKS.get(key, key)
        if ours in converted:
            theirs = next(name for name, other in PUBLISHED_BLOCKS.items() if other == ours)
            raise UserError(f"{where}: {theirs} and {ours} are the same block; give one")
        converted[ours] = value
    # Published files leave plain keys empty, too (`port:`).
    return _without_nulls(converted, values=True), True


def _without_nulls(data: dict[str, Any], path: KeyPath = (), *, values: bool) -> dict[str, Any]:
    """Without keys that are null where nothing can be: blocks and lists of which only the key is written, and with `values` plain values too."""
    kept = {}
    for key, value in data.items():
        here = (*path, key)
        annotation = annotation_at(here)
        known = value is None and annotation is not None
        if known and not admits_null(annotation) and (values or block_of(annotation) is not None or _base(annotation) in (list, dict)):
            continue
        kept[key] = _without_nulls(value, here, values=values) if isinstance(value, dict) else value
    return kept


def _base(annotation: Any) -> Any:
    """The class of the values, constraints and null left aside; None where there is a choice."""
    options = [annotation]
    while options and not isinstance(options[0], type):
        origin = get_origin(options[0])
        if origin in (list, dict):
            return origin
        if origin is Literal or origin is None:
            return None
        arguments = get_args(options[0])
        if hasattr(options[0], "__metadata__"):
            arguments = arguments[:1]
        options = [part for part in arguments if part is not type(None)]
    return options[0] if len(options) == 1 else None


def _coerce(data: Any, path: KeyPath = ()) -> Any:
    """The values of a command line as what their keys expect: they may arrive as text, numbers in place of text included."""
    annotation = annotation_at(path) if path else Config
    if isinstance(data, str):
        stripped = data.strip()
        if stripped.lower() in _NULL_TEXTS and admits_null(annotation):
            return None
        if annotation is Any or stripped[:1] in ("{", "["):
            try:
                parsed = yaml.load(data, _ConfigLoader)
            except yaml.YAMLError:
                return data
            return parsed if annotation is Any else _coerce(_plain(parsed), path)
        return data
    if isinstance(data, int | float) and not isinstance(data, bool) and _base(annotation) is str:
        return str(data)
    if isinstance(data, dict):
        return {key: _coerce(value, (*path, key)) for key, value in data.items()}
    if isinstance(data, list):
        return [_coerce(value, (*path, number)) for number, value in enumerate(data)]
    return data


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` over `base`, key by key; blocks are merged, anything else is replaced."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _merge(below, value) if isinstance(below, dict) and isinstance(value, Mapping) else value
    return merged


def _override_entry(entry: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of `experiments` without the keys that the command line gives: it wins over the file, entries included."""
    published = bool(PUBLISHED_BLOCKS.keys() & entry.keys())
    kept = {}
    for key, value in entry.items():
        ours = PUBLISHED_BLOCKS.get(key, key) if published else key
        over = overrides.get(ours)
        if ours in overrides and not (isinstance(over, Mapping) and isinstance(value, dict)):
            continue
        kept[key] = _override_entry(value, over) if isinstance(over, Mapping) and isinstance(value, dict) else value
    return kept


def _expand(config: Config, layers: _Layers) -> Iterator[tuple[Config, _Layers]]:
    if not config.experiments:
        yield config.model_copy(update={"result_dir_tag": config.result_dir_tag or _tag(config, layers)}), layers
        return
    base = config.model_dump(exclude={"experiments"}, exclude_unset=True)
    seen: dict[tuple[str, str | None, str], int] = {}
    for number, raw in enumerate(config.experiments):
        where = f"{layers.where}: experiments[{number}]"
        entry, published = _from_published(_with_our_names(raw, where), where)
        entry = _without_nulls(entry, values=False)
        if published:
            entry = {"protocol": "oracle_stop", "stop_judge": "published", **entry}
        for key in RUN_WIDE_KEYS:
            if key in entry:
                raise UserError(f"{where}.{key}: belongs to the whole run; write it outside of experiments")
        here = _Layers(layers.where, layers.overrides, layers.published, entry, number, published)
        experiment = _validate(_merge(base, entry), here)
        experiment = experiment.model_copy(update={"result_dir_tag": experiment.result_dir_tag or _tag(experiment, here)})
        folder = (experiment.task, experiment.result_dir_tag, experiment.mode)
        if folder in seen:
            both = f"experiments[{seen[folder]}] and experiments[{number}]"
            raise UserError(f"{layers.where}: {both} would both write to {'/'.join(map(str, folder))}; give each its own result_dir_tag")
        seen[folder] = number
        yield experiment, here


def _tag(config: Config, layers: _Layers) -> str:
    model = config.agent.llm.model_name if uses_model(config) else ""
    tag = slug("-".join(part for part in ("" if config.agent.name == "llm" else config.agent.name, model) if part))
    if not tag:
        raise UserError(f"{layers.name(('agent', 'llm', 'model_name'))}: makes no folder name; give result_dir_tag")
    return tag


# --- checks -----------------------------------------------------------------------------------------------------------------------------------------


def _validate(data: dict[str, Any], layers: _Layers) -> Config:
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


def _explain(detail: ErrorDetails, data: dict[str, Any], layers: _Layers) -> tuple[KeyPath, str]:
    here: Any = data
    path: KeyPath = ()
    unknown = detail["type"] == "extra_forbidden"
    for part in detail["loc"]:
        if _is_member(here, part):
            here = here[part]
        elif part == "[key]":
            unknown = True
            continue
        elif detail["type"] != "missing":
            continue  # pydantic names the member of a union here
        path = (*path, part)
    if unknown:
        near = nearest_key(path)
        if near is not None and layers.published:
            first, *rest = near.split(".")
            near = ".".join((str(_as_written((first,), True)[0]), *rest)) if len(rest) else near
        return path, f"{layers.name(path)}: unknown key" + (f"; did you mean {near}?" if near else "")
    expected = expects(annotation_at(path))
    if detail["type"] == "missing":
        return path, f"{layers.name(path[:-1])}.{path[-1]}: is missing; expects {expected}"
    hint = ""
    if isinstance(here, str):
        near = nearest(here, [choice for choice in re.findall(r"`([^`]+)`", expected) if len(choice) > 1])
        hint = f"; did you mean {near}?" if near else ""
    elif isinstance(here, int | float) and not isinstance(here, bool) and _base(annotation_at(path)) is str:
        hint = "; write it in quotes"
    return path, f"{layers.name(path)}: expects {expected}, not {_shown(here)}{hint}"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return _kind(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = one_line(repr(str(value)) if isinstance(value, str | Path) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _kind(value: Any) -> str:
    return {dict: "a block of keys", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}.get(type(value), "this")


def _check_data_source(config: Config, layers: _Layers) -> None:
    given = [key for key in DATA_SOURCES if getattr(config.data, key) is not None]
    if len(given) == 1:
        return
    block = dotted(_as_written(("data",), layers.published if layers.entry_number is None else layers.entry_published))
    keys = ", ".join(f"{block}.{key}" for key in DATA_SOURCES)
    if not given:
        raise UserError(f"{layers.place()}: says nowhere where the data come from; give exactly one of {keys}")
    both = " and ".join(layers.name(("data", key)).rpartition(": ")[2] for key in given)
    raise UserError(f"{layers.place()}: {both} are given; give exactly one of {keys}, and null for one that is inherited")


def _check_paths(config: Config, layers: _Layers) -> None:
    for path, kind, value in _read_paths(config):
        place = layers.name(path)
        if not value.exists():
            raise UserError(f"{place}: {value} does not exist; a relative path starts at the current folder, {Path.cwd()}")
        if kind == "folder" and not value.is_dir():
            raise UserError(f"{place}: {value} is not a folder")
        if kind == "file" and value.is_dir():
            raise UserError(f"{place}: {value} is a folder, not a file")
        if not os.access(value, os.R_OK):
            raise UserError(f"{place}: {value} cannot be read (permission denied)")


def _read_paths(block: Block, prefix: KeyPath = ()) -> Iterator[tuple[KeyPath, Literal["file", "folder"], Path]]:
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
