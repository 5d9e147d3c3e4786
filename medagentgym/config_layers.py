"""The layers of a configuration: the file, the command line over it, an entry of `experiments` over both; each in our layout or the published one.

Values keep the place where their user wrote them (`Layers.name`), so that a mistake can be found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from medagentgym.config import Config
from medagentgym.config_file import ConfigLoader
from medagentgym.config_keys import KeyPath, admits_null, annotation_at, base_class, block_of, dotted
from medagentgym.errors import UserError

PUBLISHED_BLOCKS = {"Agent": "agent", "Data": "data", "Debugger": "debugger", "Env": "env"}
"""Blocks of the published layout and what they are called here; their keys are the same."""

DEEPEST = 50
"""Blocks within blocks that a configuration may have."""

_NULL_TEXTS = ("", "null", "none", "~")


@dataclass(frozen=True)
class Layers:
    """Where the values of a configuration came from, to name the place of a mistake."""

    where: str
    """The file, or what stands for it in messages."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """The command line, in our layout."""
    published: bool = False
    """Whether the file is in the published layout."""
    published_entries: frozenset[int] = frozenset()
    """Which entries of `experiments` are."""
    entry: Mapping[str, Any] = field(default_factory=dict)
    """The entry of `experiments` that is merged over the rest, in our layout."""
    entry_number: int | None = None

    def name(self, path: KeyPath) -> str:
        """File and dotted key of a value, as its user wrote it: `config.yaml: experiments[1].agent.name`."""
        if _has(self.overrides, path):
            return f"command line: {dotted(path)}"
        if self.entry_number is not None and _has(self.entry, path):
            return f"{self.where}: {dotted(('experiments', self.entry_number, *self.written(path)))}"
        return f"{self.where}: {dotted(_in_layout(path, self.published))}"

    def place(self) -> str:
        """File and entry, for a mistake that is not that of one value."""
        return self.where if self.entry_number is None else f"{self.where}: experiments[{self.entry_number}]"

    def written(self, path: KeyPath) -> KeyPath:
        """The path in the layout of the entry, or of the file where there is none."""
        return _in_layout(path, self.published if self.entry_number is None else self.entry_number in self.published_entries)


def _in_layout(path: KeyPath, published: bool) -> KeyPath:
    written = {ours: theirs for theirs, ours in PUBLISHED_BLOCKS.items()}
    return (written.get(str(path[0]), path[0]), *path[1:]) if published and path else path


def _has(data: Any, path: KeyPath) -> bool:
    for part in path:
        if not is_member(data, part):
            return False
        data = data[part]
    return bool(path)


def is_member(data: Any, part: str | int) -> bool:
    """Whether a mapping has a key, or a list an item."""
    return part in data if isinstance(data, Mapping) else isinstance(data, list) and isinstance(part, int) and part < len(data)


def plain(data: Any, where: str, path: KeyPath = ()) -> Any:
    """A deep copy in dicts and lists. Raises `UserError` for keys that are not text and for data that contain themselves."""
    if len(path) > DEEPEST:
        raise UserError(f"{where}: {dotted(path[:3])}: is nested too deeply")
    if isinstance(data, Mapping):
        for key in data:
            if not isinstance(key, str):
                raise UserError(f"{where}: {dotted((*path, str(key)))}: a key must be text; write it in quotes")
        return {str(key): plain(value, where, (*path, str(key))) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value, where, (*path, number)) for number, value in enumerate(data)]
    return data


def in_our_layout(data: dict[str, Any], where: str) -> tuple[dict[str, Any], bool]:
    """A file or an entry of `experiments` in our layout, and whether it was in the published one, which then says which protocol it means."""
    converted, published = from_published(with_our_names(data, where), where)
    if published:
        converted = {"protocol": "oracle_stop", "stop_judge": "published", "scoring": {"judges": ["published", "strict"]}, **converted}
    return without_nulls(converted, values=False), published


def with_our_names(data: dict[str, Any], where: str) -> dict[str, Any]:
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


def from_published(data: dict[str, Any], where: str) -> tuple[dict[str, Any], bool]:
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
    return without_nulls(converted, values=True), True


def without_nulls(data: dict[str, Any], path: KeyPath = (), *, values: bool) -> dict[str, Any]:
    """Without keys that are null where nothing can be: blocks and lists of which only the key is written, and with `values` plain values too."""
    kept = {}
    for key, value in data.items():
        here = (*path, key)
        annotation = annotation_at(here)
        known = value is None and annotation is not None
        if known and not admits_null(annotation) and (values or block_of(annotation) is not None or base_class(annotation) in (list, dict)):
            continue
        kept[key] = without_nulls(value, here, values=values) if isinstance(value, dict) else value
    return kept


def coerce(data: Any, path: KeyPath = ()) -> Any:
    """The values of a command line as what their keys expect: they may arrive as text, numbers in place of text included."""
    annotation = annotation_at(path) if path else Config
    if isinstance(data, str):
        stripped = data.strip()
        if stripped.lower() in _NULL_TEXTS and admits_null(annotation):
            return None
        if annotation is Any or stripped[:1] in ("{", "["):
            try:
                parsed = yaml.load(data, ConfigLoader)
            except yaml.YAMLError:
                return data
            return parsed if annotation is Any else coerce(plain(parsed, "command line"), path)
        return data
    if isinstance(data, int | float) and not isinstance(data, bool) and base_class(annotation) is str:
        return str(data)
    if isinstance(data, dict):
        return {key: coerce(value, (*path, key)) for key, value in data.items()}
    if isinstance(data, list):
        return [coerce(value, (*path, number)) for number, value in enumerate(data)]
    return data


def merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` over `base`, key by key; blocks are merged, anything else is replaced."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, Mapping) else value
    return merged


def without_overridden(entry: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of `experiments` without the keys that the command line gives, which wins over the whole file."""
    kept = {}
    for key, value in entry.items():
        over = overrides.get(key)
        if isinstance(over, Mapping) and isinstance(value, dict):
            kept[key] = without_overridden(value, over)
        elif key not in overrides:
            kept[key] = value
    return kept
