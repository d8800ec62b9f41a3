"""What `room` and `sandbox` of `tdd.yaml` may name: variables of the environment, plugins, and paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from verdigris.storage.config.configfile import wrong

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.storage.config.configfile import Places

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


def written(given: Sequence[str], places: Places) -> tuple[str, ...]:
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
