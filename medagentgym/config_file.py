"""Reading a configuration file: YAML or JSON, and one line with the line number for a file that is neither."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from medagentgym.config_keys import kind_of
from medagentgym.errors import UserError, one_line


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
        data = json.loads(text, object_pairs_hook=_unique_pairs, parse_constant=_refuse_constant) if is_json else yaml.load(text, ConfigLoader)
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
        raise UserError(f"{path}: expects keys with values (`task: mimic_iii`), not {kind_of(data)}")
    return data


class ConfigLoader(yaml.SafeLoader):
    """YAML as a configuration needs it: a key given twice is a mistake, and a date is text (`api_version: 2024-10-21`)."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping of a node. Raises `ConstructorError` for a key that is given twice or is not text."""
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
