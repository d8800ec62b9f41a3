"""`value`: a frozen dataclass that is cheap to define.

`dataclasses` loads `inspect`, which takes as long as Python itself takes to start, and compiles six functions
for every frozen class. Here classes share their methods, and the library is loaded only when somebody asks it
about a value. Every shell call of an agent loads this module, so it does not load `typing` either.
"""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import Field
    from dataclasses import field as field  # noqa: PLC0414 - mypy checks the arguments of these two
    from dataclasses import replace as replace  # noqa: PLC0414
    from typing import Any, NoReturn, TypeVar, dataclass_transform

    T = TypeVar("T")
else:

    def dataclass_transform(**_: object) -> Callable[[Any], Any]:
        """Only type checkers read what `typing` would note."""
        return lambda decorator: decorator

    def field(*, default_factory: Callable[[], Any]) -> Factory:
        return Factory(default_factory)

    def replace(old: Any, /, **changes: Any) -> Any:
        """The same value but for `changes`; works with every dataclass, as the library's own."""
        kind = type(old)
        if not is_value(kind):
            import dataclasses

            return dataclasses.replace(old, **changes)
        fields, values = kind.__value_fields__, old.__dict__
        if kind.__init__ is not _init or len(values) != len(fields) or not changes.keys() <= fields.keys():
            return kind(**{name: values[name] for name in fields} | changes)
        new = kind.__new__(kind)
        new.__dict__.update(values, **changes)  # a fold makes thousands: nothing is left for `_init` to find
        return new


def take_fields(kind: type[T], given: object, **others: Any) -> T:
    """A value of this kind: the fields that `given` has under the same names, and the others."""
    values = given.__dict__
    make: Callable[..., T] = kind
    return make(**{name: values[name] for name in defaults(kind) if name in values} | others)


REQUIRED: Any = object()
"""Stands for a default where there is none."""


class Factory:
    """Makes the default of a field for each value. `Field` of `dataclasses` has the same attribute."""

    __slots__ = ("default_factory",)

    def __init__(self, default_factory: Callable[[], Any]) -> None:
        self.default_factory = default_factory


class _LibraryFields:
    """The fields as `dataclasses` describes them, made when it asks."""

    def __get__(self, one: object, kind: type) -> dict[str, Field[Any]]:
        return _describe_for_library(kind)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """Fields, defaults, `replace`, `match` and equality work as with `dataclass(frozen=True)`."""
    decorated: Any = mutable(cls)
    if decorated.__setattr__ is not _refuse_change:
        decorated.__eq__ = _eq
        decorated.__hash__ = _hash
        decorated.__repr__ = _repr
        decorated.__setattr__ = decorated.__delattr__ = _refuse_change
    return cls


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """Its fields can be changed, and it equals only itself."""
    decorated: Any = cls
    fields = _collect_fields(cls)
    decorated.__value_fields__ = fields
    decorated.__value_open__ = tuple(n for n, d in fields.items() if d is REQUIRED or type(d) is Factory)
    decorated.__match_args__ = tuple(fields)  # type: ignore[misc]  # mypy knows no other way to have them
    if not is_value(cls.__mro__[1]):
        decorated.__dataclass_fields__ = _LibraryFields()
        if "__init__" not in cls.__dict__:
            decorated.__init__ = _init
    return cls


def is_value(kind: type) -> bool:
    return hasattr(kind, "__value_fields__")


def defaults(kind: type) -> Mapping[str, Any]:
    """The default of each field, or REQUIRED, or a Factory."""
    fields: Mapping[str, Any] = kind.__value_fields__  # type: ignore[attr-defined]
    return fields


def _collect_fields(cls: type) -> dict[str, Any]:
    """Default by name: the fields of the classes above first, as `dataclasses` orders them."""
    fields: dict[str, Any] = {}
    for base in cls.__mro__[-1:0:-1]:
        if is_value(base):
            fields |= defaults(base)
    body = cls.__dict__
    for name, kind in cls.__annotations__.items():
        if str(kind).startswith("ClassVar"):
            continue
        default = fields[name] = body.get(name, REQUIRED)
        if hasattr(default, "default_factory"):
            fields[name] = Factory(default.default_factory)
            delattr(cls, name)
        elif default.__class__.__hash__ is None:
            raise ValueError(f"the default of {cls.__name__}.{name} can be changed: use a factory")
    return fields


def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    fields, values = self.__value_fields__, self.__dict__
    if not kwargs and len(args) == len(fields):
        values.update(zip(fields, args, strict=True))
        return
    values.update(fields)  # whole dictionaries at once: a fold makes thousands of values
    if args:
        values.update(zip(fields, args, strict=False))
    values.update(kwargs)
    twice = args and kwargs and not kwargs.keys().isdisjoint(islice(fields, len(args)))
    if twice or len(values) > len(fields) or len(args) > len(fields):
        raise TypeError(f"{type(self).__name__} {_describe_misuse(fields, args, kwargs)}")
    for name in self.__value_open__:
        default = values[name]
        if default is REQUIRED:
            raise TypeError(f"{type(self).__name__} needs {name}")
        if type(default) is Factory:
            values[name] = default.default_factory()


def _describe_misuse(fields: Mapping[str, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    if len(args) > len(fields):
        return f"takes {len(fields)} values, not {len(args)}"
    twice, unknown = (
        kwargs.keys() & fields.keys() & {*islice(fields, len(args))},
        kwargs.keys() - fields.keys(),
    )
    return f"got {', '.join(sorted(twice))} twice" if twice else f"has no {', '.join(sorted(unknown))}"


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(map(self.__dict__.__getitem__, self.__value_fields__))


def _eq(self: Any, other: object) -> bool:
    if type(self) is not type(other):
        return NotImplemented  # type: ignore[no-any-return]
    return bool(_values(self) == _values(other))


def _hash(self: Any) -> int:
    return hash((type(self), _values(self)))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__value_fields__)
    return f"{type(self).__qualname__}({shown})"


def _refuse_change(self: Any, name: str, *_: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot change {name} of a {type(self).__name__}")


_described: dict[type, dict[str, Field[Any]]] = {}


def _describe_for_library(kind: type) -> dict[str, Field[Any]]:
    if kind in _described:
        return _described[kind]
    import dataclasses

    defaults_of = defaults(kind)
    plain = {name: default for name, default in defaults_of.items() if default is not REQUIRED}
    body = {
        name: dataclasses.field(default_factory=d.default_factory) if type(d) is Factory else d
        for name, d in plain.items()
    }
    body |= {"__annotations__": dict.fromkeys(defaults_of, object), "__doc__": kind.__doc__ or kind.__name__}
    twin: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(type(kind.__name__, (), body))
    _described[kind] = twin.__dataclass_fields__
    return _described[kind]
