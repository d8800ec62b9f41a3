"""Values for the declarations that a test needs and source does not have yet."""

from __future__ import annotations

from itertools import chain, count
from string import ascii_lowercase
from typing import TYPE_CHECKING, Literal, Protocol

from verdigris.core.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from verdigris.core.settings import Stack


UNTOLD = "any"
"""The type of a result whose use in the test does not show its type."""
Kind = Literal["function", "class", "error", "value"]


@value
class Argument:
    name: str
    """The name that a parameter for it would have."""
    type: str = ""
    """The type as the language writes it; empty if it is unknown."""
    keyword: bool = False


@value
class WantedCall:
    arguments: tuple[Argument, ...] = ()
    spread: bool = False
    """True if the call passes `*args`, so that the number of its arguments is unknown."""
    options: bool = False
    """True if the call passes `**options`."""
    awaited: bool = False
    result: tuple[str, ...] = ()
    """The types of its results, as far as they are known."""


@value
class Parameter:
    name: str
    type: str = ""
    optional: bool = False


@value
class Signature:
    parameters: tuple[Parameter, ...] = ()
    spread: bool = False
    options: bool = False
    awaited: bool = False
    result: tuple[str, ...] = ()

    @property
    def takes_any(self) -> bool:
        return bool(self.parameters) or self.spread or self.options


@value
class Wanted:
    """A name that a test uses from a module; for a class, also the members that the test uses."""

    module: str
    """The module as the test names it."""
    name: str
    kind: Kind
    calls: tuple[WantedCall, ...] = ()
    members: tuple[Wanted, ...] = ()
    of_type: bool = False
    """True for a member that is used on the class itself, not on an object of it."""
    type: str = ""
    """The type of a value; empty if it is unknown."""

    @property
    def signature(self) -> Signature:
        return signature(self.calls)


@value
class Stub:
    """Declarations to add to one file."""

    path: str
    text: str
    whole: str
    """The text of the file with these declarations."""
    new: bool = False
    """True if the file does not exist yet."""
    notes: tuple[str, ...] = ()
    """What the test does not show, such as types."""


def signature(calls: Sequence[WantedCall]) -> Signature:
    """The signature that accepts every call; an argument that some calls leave out is optional."""
    if not calls:
        return Signature()
    given = [[one for one in call.arguments if not one.keyword] for call in calls]
    least = min(map(len, given))
    places = [[row[at] for row in given if len(row) > at] for at in range(max(map(len, given)))]
    names = _distinct_names([place[0].name for place in places])
    parameters = [
        Parameter(name, _common_type(one.type for one in place), at >= least)
        for at, (name, place) in enumerate(zip(names, places, strict=True))
    ]
    parameters += _keywords(calls, {one.name for one in parameters})
    parameters.sort(key=lambda one: one.optional)
    # The call whose use shows the most types of its results decides.
    results = sorted((call.result for call in calls if call.result), key=lambda types: types.count(UNTOLD))
    return Signature(
        parameters=tuple(parameters),
        spread=any(call.spread for call in calls),
        options=any(call.options for call in calls),
        awaited=any(call.awaited for call in calls),
        result=results[0] if results else (),
    )


def _keywords(calls: Sequence[WantedCall], taken: set[str]) -> list[Parameter]:
    named = [{one.name: one for one in call.arguments if one.keyword} for call in calls]
    parameters: dict[str, Parameter] = {}
    for row in named:
        for name, one in row.items():
            if name not in taken:
                always = all(name in other for other in named)
                earlier = parameters.get(name)
                type_ = one.type if earlier is None or earlier.type == one.type else ""
                parameters[name] = Parameter(name, type_, not always)
    return list(parameters.values())


def _common_type(types: Iterable[str]) -> str:
    distinct = set(types)
    return distinct.pop() if len(distinct) == 1 else ""


def _distinct_names(names: Sequence[str]) -> list[str]:
    """Letters stand for arguments that would share a name: `sub(a, b)` for `sub(5, 3)`."""
    letters = (letter for letter in chain(ascii_lowercase, map("p{}".format, count())) if letter not in names)
    return [next(letters) if names.count(name) > 1 else name for name in names]


def merge_wanted(wanted: Iterable[Wanted]) -> tuple[Wanted, ...]:
    """Joins all entries of one name: their calls and members together."""
    merged: dict[tuple[str, str, bool], Wanted] = {}
    for one in wanted:
        key = (one.module, one.name, one.of_type)
        earlier = merged.get(key)
        if earlier is None:
            merged[key] = replace(one, members=merge_wanted(one.members))
        else:
            rank: tuple[Kind, ...] = ("value", "function", "class", "error")
            merged[key] = replace(
                earlier,
                kind=max(earlier.kind, one.kind, key=rank.index),
                calls=earlier.calls + one.calls,
                members=merge_wanted((*earlier.members, *one.members)),
                type=earlier.type or one.type,
            )
    return tuple(merged.values())


def by_file(wanted: Iterable[Wanted], file_of: Callable[[str], str | None]) -> dict[str, list[Wanted]]:
    """Groups names by the file of their module; leaves out those of modules without a file."""
    groups: dict[str, list[Wanted]] = {}
    for one in wanted:
        if (at := file_of(one.module)) is not None:
            groups.setdefault(at, []).append(one)
    return groups


def untold_notes(one: Wanted, known: Collection[str] = ()) -> Iterator[str]:
    """Lists the types of functions and methods that the test does not show. `known`: names that exist."""
    for each in (one, *one.members):
        if each.kind != "function" or each.name in known or f"{one.name}.{each.name}" in known:
            continue
        if unknown := [parameter.name for parameter in each.signature.parameters if not parameter.type]:
            yield f"the type of {', '.join(unknown)} in {each.name}"
        if UNTOLD in each.signature.result and not each.of_type:
            yield f"what {each.name} returns"


def data_of(path: str, files: WorktreeFiles) -> bytes:
    return files.text(path).encode("utf-8", "surrogateescape")


class WorktreeFiles(Protocol):
    """The files of the worktree."""

    @property
    def paths(self) -> frozenset[str]: ...

    @property
    def source(self) -> tuple[str, ...]: ...

    @property
    def is_behaviour_red(self) -> bool:
        """Whether a test that fails because a stub raises is a valid red (`red: behaviour`)."""

    def is_source(self, path: str) -> bool:
        """Whether a path is source; the file need not exist."""

    def text(self, path: str) -> str: ...

    def stack_of(self, path: str) -> Stack:
        """The innermost stack of the file's language around it; if there is none, the first stack."""

    def packages(self, stack: Stack) -> Sequence[Path]:
        """The folders with the packages that a stack has installed; empty if they are unknown."""
