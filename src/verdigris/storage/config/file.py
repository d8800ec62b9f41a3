"""Parses YAML to plain values, with the line of each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import yaml


NAME = "tdd.yaml"

Places = dict[str, int]
"""Path of a key, as `stacks[0].root`, to its line; the empty path is the file."""


def parse(data: bytes) -> tuple[dict[Any, Any], Places]:
    """The mapping at the top, empty for an empty file."""
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


_AT = "room.env"
_FORMS = "write NAME to hand it on, or NAME=VALUE"
_WORD = re.compile(r"[^\s\0=]+")


def entries(given: Sequence[Any] | Mapping[Any, Any], places: Places) -> tuple[str, ...]:
    """`NAME` and `NAME=VALUE`; as a mapping, a name without a value is handed on."""
    if isinstance(given, dict):
        return tuple(_pair(name, value, places) for name, value in given.items())
    return tuple(_entry(entry, f"{_AT}[{index}]", places) for index, entry in enumerate(given))


def plugins(given: Sequence[str] | None, places: Places) -> tuple[str, ...] | None:
    for index, name in enumerate(given or ()):
        if not _WORD.fullmatch(name):
            what = f"{name!r} is not the name of a plugin"
            raise wrong(places, f"room.plugins[{index}]", what, "write what `pytest -p` takes")
    return None if given is None else tuple(given)


def writable_paths(given: Sequence[str], places: Places) -> tuple[str, ...]:
    """Paths that an agent's shell may write."""
    for index, path in enumerate(given):
        at = f"sandbox.write[{index}]"
        if not path.startswith(("/", "~/")) or "\0" in path:
            raise wrong(places, at, f"{path!r} is no absolute path", "begin it with / or ~/")
        if {".", ".."} & set(path.split("/")) or not path.strip("~/"):
            raise wrong(places, at, f"{path!r} is too much, or not plain", "name one folder or file outright")
    return tuple(given)


def _pair(name: Any, value: Any, places: Places) -> str:
    at = f"{_AT}.{name}"
    if not isinstance(name, str):
        raise wrong(places, at, f"{str(name)!r} is not the name of a variable", "quote it: 'text'")
    match value:
        case None:
            return _entry(name, at, places)
        case bool() | float():
            raise wrong(places, at, "its value is not text", "quote it: 'text'")
        case str() | int():
            _check_name(name, at, places)
            return _entry(f"{name}={value}", at, places)
        case _:
            raise wrong(places, at, "its value is not text", _FORMS)


def _entry(entry: Any, at: str, places: Places) -> str:
    if not isinstance(entry, str):
        raise wrong(places, at, "it is not text", _FORMS)
    if "\0" in entry:
        raise wrong(places, at, "no variable can hold a zero byte", "leave it out")
    _check_name(entry.partition("=")[0], at, places)
    return entry


def _check_name(name: str, at: str, places: Places) -> None:
    if not name:
        raise wrong(places, at, "it has no name", _FORMS)
    if not _WORD.fullmatch(name):
        raise wrong(places, at, f"{name!r} is not the name of a variable", _FORMS)
