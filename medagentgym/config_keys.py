"""The keys of the configuration in words: what a key expects, which keys a block has, and which one a typo meant.

Error messages and the reference page both speak through this module, so they cannot disagree.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import StringConstraints
from pydantic.fields import FieldInfo
from rapidfuzz import fuzz, process

from medagentgym.config import Block, Config, CredentialName, HostName, IndexAddress, MustExist, Name, ReadKind

KeyPath = tuple[str | int, ...]
"""Where a value lies in the configuration, for example `("experiments", 1, "agent", "llm")`."""


def dotted(path: Sequence[str | int]) -> str:
    """The path as it is written in messages: `experiments[1].agent.llm`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def block_of(annotation: Any) -> type[Block] | None:
    """The block class that an annotation admits, or None."""
    if isinstance(annotation, type):
        return annotation if issubclass(annotation, Block) else None
    if get_origin(annotation) in (Annotated, Union, types.UnionType):
        return next((block for part in get_args(annotation) if (block := block_of(part)) is not None), None)
    return None


def admits_null(annotation: Any) -> bool:
    """Whether a value of this annotation may be null."""
    return annotation in (None, type(None), Any) or (
        get_origin(annotation) in (Annotated, Union, types.UnionType) and any(admits_null(part) for part in get_args(annotation))
    )


def annotation_at(path: Sequence[str | int], root: Any = Config) -> Any:
    """The annotation of the value at a path; `Any` below free-form mappings, None where there is no such key.

    Constraints of the field are kept, as `Annotated`.
    """
    here = root
    for part in path:
        here = _step(here, part)
        if here is None or here is Any:
            return here
    return here


def _step(annotation: Any, part: str | int) -> Any:
    block = block_of(annotation)
    if block is not None:
        field = block.model_fields.get(str(part))
        return None if field is None else annotated(field)
    origin = get_origin(annotation)
    if origin in (Annotated, Union, types.UnionType):
        candidates = (_step(option, part) for option in get_args(annotation) if isinstance(option, type) or get_origin(option) is not None)
        return next((found for found in candidates if found is not None), None)
    if origin is list and isinstance(part, int):
        return get_args(annotation)[0]
    if origin is dict and isinstance(part, str):
        keys, values = get_args(annotation)
        return values if keys is str or part in get_args(keys) else None
    return None


def annotated(field: FieldInfo) -> Any:
    """The annotation of a field with its constraints."""
    annotation: Any = field.annotation
    return Annotated[(annotation, *field.metadata)] if field.metadata else annotation


def keys_at(path: Sequence[str | int], root: Any = Config) -> list[str]:
    """The keys that the mapping at a path may have; empty where they are free."""
    return _keys(annotation_at(path, root))


def _keys(annotation: Any) -> list[str]:
    block = block_of(annotation)
    if block is not None:
        return list(block.model_fields)
    if get_origin(annotation) in (Annotated, Union, types.UnionType):
        return [key for part in get_args(annotation) for key in _keys(part)]
    if get_origin(annotation) is dict:
        return [str(key) for key in get_args(get_args(annotation)[0])]
    return []


def all_keys(block: type[Block] = Config, prefix: KeyPath = ()) -> Iterator[KeyPath]:
    """Every key of the configuration, blocks included, in the order of the model."""
    for name, field in block.model_fields.items():
        path = (*prefix, name)
        yield path
        inner = block_of(field.annotation)
        if inner is not None:
            yield from all_keys(inner, path)


def nearest(word: str, choices: Sequence[str]) -> str | None:
    """The choice that a mistyped word most likely meant, or None where nothing is near."""
    found = process.extractOne(word.lower(), choices, scorer=fuzz.ratio, processor=str.lower, score_cutoff=72)
    return None if found is None else str(found[0])


def nearest_key(path: KeyPath) -> KeyPath | None:
    """The valid key that an unknown one most likely meant: of the same block, or of the same name elsewhere."""
    *parent, last = path
    near = nearest(str(last), keys_at(parent))
    if near is not None:
        return (*parent, near)
    elsewhere = [key for key in all_keys() if key[-1] == last]
    return elsewhere[0] if elsewhere else None


def must_exist(annotation: Any) -> ReadKind | None:
    """Whether values of this annotation are paths that are read, and of which kind."""
    if get_origin(annotation) is None:
        return None
    for part in get_args(annotation):
        if isinstance(part, MustExist):
            return part.kind
        found = must_exist(part)
        if found is not None:
            return found
    return None


def expects(annotation: Any) -> str:
    """What a value must be, in words: `an integer, at least 1, or null`."""
    if annotation == Name:
        return "a name of letters, digits, `.`, `_` and `-`"
    if annotation == HostName:
        return "a host"
    if annotation == IndexAddress:
        return "the address of a package index, without credentials"
    if annotation == CredentialName:
        return "the name of a credential"
    origin = get_origin(annotation)
    if origin is Annotated:
        base, *constraints = get_args(annotation)
        existing = must_exist(annotation)
        if existing is not None and base is Path:
            return f"the path of a {existing}"
        null = admits_null(base)
        words = _joined(base) + _bounds(constraints)
        return f"{words}{',' if ',' in words else ''} or null" if null else words
    if origin is Literal:
        choices = [f"`{choice}`" for choice in get_args(annotation)]
        return choices[0] if len(choices) == 1 else "one of " + ", ".join(choices)
    if origin in (Union, types.UnionType):
        words = _joined(annotation)
        return f"{words}{',' if ',' in words else ''} or null" if admits_null(annotation) else words
    if origin is list:
        return f"a list, each item {expects(get_args(annotation)[0])}"
    if origin is dict:
        keys, values = get_args(annotation)
        return "a mapping" if values is Any else f"a mapping from {expects(keys)} to {expects(values)}"
    if block_of(annotation) is not None:
        return "a block of keys"
    return {bool: "true or false", int: "an integer", float: "a number", str: "text", Path: "a path"}.get(annotation, "any value")


def _joined(annotation: Any) -> str:
    """What a value must be, null left aside."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return expects(annotation)
    options = [expects(part) for part in get_args(annotation) if part is not type(None)]
    comma = "," if any("," in option for option in options) and len(options) > 1 else ""
    return f"{comma} or ".join(options)


def _bounds(constraints: Sequence[Any]) -> str:
    words = []
    for constraint in constraints:
        match constraint:
            case Ge(ge=bound):
                words.append(f"at least {bound}")
            case Gt(gt=bound):
                words.append(f"more than {bound}")
            case Le(le=bound):
                words.append(f"at most {bound}")
            case Lt(lt=bound):
                words.append(f"less than {bound}")
            case MinLen(min_length=length):
                words.append(f"at least {length} long")
            case MaxLen(max_length=length):
                words.append(f"at most {length} long")
            case StringConstraints(pattern=pattern) if pattern is not None:
                words.append(f"matching {pattern}")
    return "".join(f", {word}" for word in words)


def base_class(annotation: Any) -> Any:
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


def kind_of(value: Any) -> str:
    """What a value is, in words."""
    return {dict: "a block of keys", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}.get(type(value), "this")
