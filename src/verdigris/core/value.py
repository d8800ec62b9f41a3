"""`value`: a frozen, slotted dataclass that is cheap to define.

`dataclasses` compiles six functions for every frozen class, and searches each annotation for words of its
own: together a third of what a hook takes that says no, and a fifth of a short test, on every command.
"""

from __future__ import annotations

import inspect  # `dataclasses` has loaded it
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from types import MemberDescriptorType
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_set = object.__setattr__


@dataclass(init=False, repr=False, eq=False)
class _Pattern:
    """What `dataclasses` itself puts on a class, to have it without its private names."""

    one: int


_PARAMETERS = _Pattern.__dataclass_params__  # type: ignore[attr-defined]  # typeshed has it not
_PLAIN = _Pattern.__dataclass_fields__["one"]._field_type  # type: ignore[attr-defined]  # noqa: SLF001 - no name of it is public


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """Fields, defaults, `replace`, `match` and equality work as with `dataclass(frozen=True, slots=True)`."""
    # Else `dataclasses` asks for a signature, to have something to say: two thirds of the time it takes.
    cls.__doc__ = cls.__doc__ or cls.__name__
    described = _describe(cls)
    made: Any = _with_slots(cls, described)
    made.__init__ = _init
    made.__eq__ = _eq
    made.__hash__ = _hash
    made.__repr__ = _repr
    made.__setattr__ = made.__delattr__ = _refuse_change
    made._names = tuple(described)  # noqa: SLF001 - our own class
    made.__match_args__ = made._names  # type: ignore[misc]  # noqa: SLF001 - same
    made._described = made.__dataclass_fields__ = described  # noqa: SLF001
    made.__dataclass_params__ = _PARAMETERS
    return made  # type: ignore[no-any-return]


def _describe(cls: type) -> dict[str, Field[Any]]:
    """The fields by name: those of the classes above first, as `dataclasses` orders them."""
    found: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        found |= getattr(base, "__dataclass_fields__", {})
    for name, kind in inspect.get_annotations(cls).items():
        if str(kind).startswith("ClassVar"):
            continue
        default = getattr(cls, name, MISSING)
        one: Any = default if isinstance(default, Field) else field(default=_plain(default))
        if one.default.__class__.__hash__ is None:
            raise ValueError(f"the default of {cls.__name__}.{name} can be changed: use a factory")
        one.name, one.type, one.kw_only, one._field_type = name, kind, False, _PLAIN  # noqa: SLF001 - as above
        found[name] = one
    return found


def _plain(default: Any) -> Any:
    """A slot of a class above is no default."""
    return MISSING if isinstance(default, MemberDescriptorType) else default


def _with_slots(cls: type, described: dict[str, Field[Any]]) -> type:
    """The same class once more: slots are given when a class is made."""
    above = {name for base in cls.__mro__[1:] for name in getattr(base, "__slots__", ())}
    body = dict(cls.__dict__)
    for name in ("__dict__", "__weakref__", *described):
        body.pop(name, None)
    body["__slots__"] = tuple(name for name in described if name not in above)
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


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
