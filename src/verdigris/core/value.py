"""`value`: a frozen, slotted dataclass that is cheap to define.

`dataclasses` compiles six functions for every frozen class: half a millisecond, which for all the events and
states of the core is a fifth of what a short test takes, on every command.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_set = object.__setattr__


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """Fields, defaults, `replace`, `match` and equality work as with `dataclass(frozen=True, slots=True)`."""
    # Else `dataclasses` asks for a signature, to have something to say: two thirds of the time it takes.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    made.__init__ = _init
    made.__eq__ = _eq
    made.__hash__ = _hash
    made.__repr__ = _repr
    made.__setattr__ = made.__delattr__ = _refuse_change
    made._names = tuple(f.name for f in fields(made))  # noqa: SLF001 - our own class
    made._described = {f.name: f for f in fields(made)}  # noqa: SLF001
    return made  # type: ignore[no-any-return]


def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    names = self._names
    if len(args) > len(names):
        raise TypeError(f"{type(self).__name__} takes {len(names)} values, not {len(args)}")
    given = dict(zip(names, args, strict=False))
    if twice := given.keys() & kwargs.keys():
        raise TypeError(f"{type(self).__name__} got {', '.join(sorted(twice))} twice")
    given |= kwargs
    for name in names:
        _set(self, name, given.pop(name) if name in given else _default(self, name))
    if given:
        raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(given))}")


def _default(self: Any, name: str) -> Any:
    described = self._described[name]
    if described.default is not MISSING:
        return described.default
    if described.default_factory is MISSING:
        raise TypeError(f"{type(self).__name__} needs {name}")
    return described.default_factory()


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name in self._names)


def _eq(self: Any, other: object) -> bool:
    if type(self) is not type(other):
        return NotImplemented  # type: ignore[no-any-return]
    return bool(_values(self) == _values(other))


def _hash(self: Any) -> int:
    return hash((type(self), _values(self)))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names)
    return f"{type(self).__qualname__}({shown})"


def _refuse_change(self: Any, name: str, *_: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot change {name} of a {type(self).__name__}")
