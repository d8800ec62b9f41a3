"""Values to JSON and back: frozen dataclasses, enums, tuples and mappings, by their annotations alone."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_json(value: object) -> Any:
    """Fields that hold their default are left out, so that checkpoints stay small."""
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((f, getattr(value, f.name)) for f in fields(value))
        return {f.name: to_json(v) for f, v in pairs if not _is_default(f, v)}
    match value:
        case Enum():
            return value.value
        case Mapping():
            return {str(k): to_json(v) for k, v in value.items()}
        case tuple() | list():
            return [to_json(item) for item in value]
        case frozenset() | set():
            return sorted(to_json(item) for item in value)
        case _:
            return value


def from_json(kind: type[T], data: Any) -> T:
    """Keys that the type does not know are passed over: a newer writer may have added facts."""
    return cast("T", _decode(kind, data))


def _is_default(f: Any, value: object) -> bool:
    if f.default is not MISSING:
        return bool(value == f.default)
    return f.default_factory is not MISSING and bool(value == f.default_factory())


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode(kind: Any, data: Any) -> Any:
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        known = {f.name for f in fields(kind)}
        return kind(**{k: _decode(hints[k], v) for k, v in data.items() if k in known})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        inner = next(a for a in arguments if a is not types.NoneType)
        return None if data is None else _decode(inner, data)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return tuple(_decode(each, item) for each, item in zip(arguments, data, strict=True))
    if origin is tuple:
        return tuple(_decode(arguments[0], item) for item in data)
    if origin is frozenset:
        return frozenset(_decode(arguments[0], item) for item in data)
    if origin is Mapping:
        return {k: _decode(arguments[1], v) for k, v in data.items()}
    if origin is Literal and data not in arguments:
        raise ValueError(f"{data!r} is none of {arguments!r}")
    return data
