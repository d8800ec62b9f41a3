"""A record of the log: its fields, its JSON form, the reading of older versions; the base of all events."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from verdigris.core.errors import HarnessError, UserError
from verdigris.core.value import REQUIRED, Factory, defaults, is_value, replace, value

if TYPE_CHECKING:
    Upcaster = Callable[[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]]

S = TypeVar("S")

GENESIS = "0" * 64
"""The `prev` of the first record."""
CHECKPOINT = "checkpoint"
REPAIRED = "log_repaired"
ENVELOPE = frozenset({"seq", "ts", "worktree", "branch", "actor", "v", "prev", "type", "more"})

_HIGHEST_SEQ = 2**63 - 1


@value
class Record:
    seq: int
    ts: int
    """Milliseconds since the epoch."""
    worktree: str
    branch: str | None
    actor: Mapping[str, str]
    """`role`, `context` and `client`."""
    v: int
    prev: str
    """SHA-256 of the line before, in hex."""
    type: str
    data: Mapping[str, Any]
    more: int = 0
    """How many records of the same batch still follow."""


AGENT = "agent"
"""The role of an actor whom the law binds; a person's own acts are kept."""


@value
class Actor:
    """Who acts: a role, in a context, through a client."""

    role: str = "person"
    context: str = ""
    client: str = "cli"


@value
class Draft:
    """A record before the log has given it its number, time and place in the chain."""

    type: str
    data: Mapping[str, Any]
    worktree: str
    branch: str | None
    actor: Mapping[str, str]


class Folding(Protocol[S]):
    """How a log becomes a state; `step` never sees a checkpoint."""

    def initial(self) -> S: ...

    def step(self, state: S, record: Record) -> S: ...

    def dump(self, state: S) -> Any: ...

    def load(self, data: Any) -> S: ...


def flatten(record: Record) -> dict[str, Any]:
    """The fields of a record's line, in the order of the format."""
    if clash := ENVELOPE & record.data.keys():
        raise ValueError(
            f"event {record.type} has data under the log's own names: {', '.join(sorted(clash))}"
        )
    fields = {**vars(record), "actor": dict(record.actor)}
    data, more = fields.pop("data"), fields.pop("more")
    return {**fields, **data, **({"more": more} if more else {})}


def unflatten(fields: dict[str, Any]) -> Record:
    """The record with these fields; ValueError if one is missing or wrong."""
    match fields:
        case {
            "seq": int(seq),
            "ts": int(ts),
            "worktree": str(worktree),
            "branch": str() | None as branch,
            "actor": dict(actor),
            "v": int(v),
            "prev": str(prev),
            "type": str(kind),
            **rest,
        } if 0 < seq <= _HIGHEST_SEQ and isinstance(more := rest.pop("more", 0), int):
            return Record(seq, ts, worktree, branch, actor, v, prev, kind, rest, more)
        case _:
            raise ValueError("it lacks a field that every event has")


T = TypeVar("T")


def to_json(value: object) -> Any:
    """Fields that hold their default are left out, so that checkpoints stay small."""
    if is_value(type(value)):
        triples = ((name, getattr(value, name), default) for name, default in defaults(type(value)).items())
        return {name: to_json(item) for name, item, default in triples if not _is_default(item, default)}
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
    """Ignores keys that the type does not have: a newer version may have added them."""
    return cast("T", _decode(kind, data))


def _is_default(value: object, default: Any) -> bool:
    if type(default) is Factory:
        return bool(value == default.default_factory())
    return default is not REQUIRED and bool(value == default)


_AS_IT_IS = frozenset(
    {"str", "int", "bool", "float", "str | None", "int | None", "bool | None", "float | None"}
)


@cache
def _type_of(kind: type, name: str) -> Any:
    """The type of a field. Evaluating an annotation takes long, so plain ones are known by their text."""
    base = next(base for base in kind.__mro__ if name in getattr(base, "__annotations__", ()))
    text = base.__annotations__[name]
    if text in _AS_IT_IS:
        return Any
    only = types.SimpleNamespace(__annotations__={name: text})
    return get_type_hints(only, vars(sys.modules[base.__module__]))[name]


@cache
def _parts_of(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(kind), get_args(kind)


def _decode(kind: Any, data: Any) -> Any:
    if kind is Any:
        return data
    if isinstance(kind, type) and is_value(kind):
        fields = defaults(kind)
        types_of = {k: _type_of(kind, k) for k in data if k in fields}
        return kind(**{k: data[k] if of is Any else _decode(of, data[k]) for k, of in types_of.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    origin, arguments = _parts_of(kind)
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


CURRENT = 1
UPCASTERS: Mapping[int, Upcaster] = {}
"""From each older version to the one after it."""


@value
class Schema:
    current: int
    upcasters: Mapping[int, Upcaster]

    def lift(self, record: Record) -> Record:
        if record.v > self.current:
            raise UserError(
                f"event {record.seq} was written by a newer version of tdd "
                f"(schema {record.v}; this one knows {self.current})",
                hint="upgrade tdd",
            )
        if record.v == self.current or record.type == CHECKPOINT:
            return record
        kind, data = record.type, record.data
        for version in range(record.v, self.current):
            if version not in self.upcasters:
                raise HarnessError(f"event {record.seq} has schema {record.v}, which no version of tdd wrote")
            kind, data = self.upcasters[version](kind, data)
        return replace(record, v=self.current, type=kind, data=data)

    def reads_checkpoint(self, record: Record) -> bool:
        return record.type == CHECKPOINT and record.v == self.current


SCHEMA = Schema(CURRENT, UPCASTERS)


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).removeprefix("_")


@value
class Event:
    """One fact. Its name in the log is its class name in snake case."""

    kinds: ClassVar[dict[str, type[Event]]] = {}

    def __init_subclass__(cls, **_: object) -> None:
        Event.kinds[_snake(cls.__name__)] = cls

    @classmethod
    def kind(cls) -> str:
        return _snake(cls.__name__)


@value
class Announcement(Event):
    """An intent: an effect on the tree follows it, and then its outcome, also after a kill."""


@value
class Outcome(Event):
    """The effect that an announcement stood for is done, or undone."""


def encode(event: Event) -> tuple[str, dict[str, Any]]:
    return event.kind(), to_json(event)


def decode(kind: str, data: Mapping[str, Any]) -> Event | None:
    """None for a type that this version does not know: such an event changes no state."""
    cls = Event.kinds.get(kind)
    return None if cls is None else from_json(cls, data)
