"""Parses YAML to plain values, with the line of each."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError

if TYPE_CHECKING:
    import yaml


NAME = "tdd.yaml"

Places = dict[str, int]
"""Path of a key, as `stacks[0].root`, to its line; the empty path is the file."""


def parse(data: bytes) -> tuple[dict[Any, Any], Places]:
    """The mapping at the top, empty for an empty file."""
    from copy import deepcopy

    value, places = _parse(data)
    return deepcopy(value), dict(places)


@lru_cache(32)
def _parse(data: bytes) -> tuple[dict[Any, Any], Places]:
    """Cached: each driver reads its own section of the same file, at each of its steps."""
    import yaml

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{NAME}:{line}: it is not UTF-8 text", hint="save the file as UTF-8") from None
    places: Places = {"": 1}
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return {}, places
        _note(node, "", places, ())
        value = loader.construct_document(node)
    except yaml.YAMLError as error:
        raise _broken_yaml(error) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{NAME}:1: a value cannot be read: {error}", hint="quote it: 'text'") from None
    if not isinstance(value, dict):
        if value is None:
            return {}, places
        raise wrong(places, "", "a mapping of keys is expected at the top", "write `key: value` lines")
    return value, places


def wrong(places: Places, at: str, what: str, hint: str) -> ConfigError:
    """An error at a key, or at the nearest one around it that has a line."""
    near = at
    while near not in places:
        near = near[: max(near.rfind("."), near.rfind("["), 0)]
    where = f" {at}:" if at else ""
    return ConfigError(f"{NAME}:{places[near]}:{where} {what}", hint=hint)


def _note(node: yaml.Node, at: str, places: Places, above: tuple[yaml.Node, ...]) -> None:
    import yaml

    if node in above:
        return
    match node:
        case yaml.MappingNode():
            seen: dict[str, int] = {}
            for key, value in node.value:
                line = key.start_mark.line + 1
                name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
                if name in seen:
                    what = f"`{name}` is given twice, first on line {seen[name]}"
                    raise wrong({"": line}, "", what, "keep one of the two")
                seen[name] = line
                path = f"{at}.{name}" if at else name
                places[path] = line
                _note(value, path, places, (*above, node))
        case yaml.SequenceNode():
            for index, item in enumerate(node.value):
                places[f"{at}[{index}]"] = item.start_mark.line + 1
                _note(item, f"{at}[{index}]", places, (*above, node))


def _broken_yaml(error: yaml.YAMLError) -> ConfigError:
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark is not None else 1
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    what = problem.replace("'\\t'", "a tab")
    return ConfigError(
        f"{NAME}:{line}: broken YAML: {what}", hint="indent with spaces; quote text with : # [ { * & !"
    )
