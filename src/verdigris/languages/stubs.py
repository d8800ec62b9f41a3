"""What a test needs of source that does not exist yet, as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from verdigris.core.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from verdigris.core.settings import Stack


UNTOLD = "any"
"""The type of a result that is used in a way that does not tell it."""
Kind = Literal["function", "class", "error", "value"]


@value
class Argument:
    name: str
    """What a parameter for it would be called."""
    type: str = ""
    """As its language writes it; empty if it is unknown."""
    keyword: bool = False


@value
class WantedCall:
    arguments: tuple[Argument, ...] = ()
    spread: bool = False
    """With `*args`, whose number is unknown."""
    options: bool = False
    """With `**options`."""
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


@value
class Wanted:
    """A name that a test takes from a module; of a class also the members that it uses."""

    module: str
    """As the test names it."""
    name: str
    kind: Kind
    calls: tuple[WantedCall, ...] = ()
    members: tuple[Wanted, ...] = ()
    of_type: bool = False
    """A member of the class itself, not of what is made of it."""
    type: str = ""
    """Of a value, if it is known."""

    @property
    def signature(self) -> Signature:
        return signature(self.calls)


@value
class Stub:
    """Declarations to add to one file."""

    path: str
    text: str
    whole: str
    """The file with them."""
    new: bool = False
    """There is no such file yet."""
    notes: tuple[str, ...] = ()
    """What could not be told from the test."""


def signature(calls: Sequence[WantedCall]) -> Signature:
    """One that takes every call: what not all of them give is optional."""
    if not calls:
        return Signature()
    given = [[one for one in call.arguments if not one.keyword] for call in calls]
    least = min(map(len, given))
    places = [[row[at] for row in given if len(row) > at] for at in range(max(map(len, given)))]
    parameters: list[Parameter] = []
    for at, place in enumerate(places):
        name = _free(place[0].name, {one.name for one in parameters})
        parameters.append(Parameter(name, _common(one.type for one in place), at >= least))
    parameters += _keywords(calls, {one.name for one in parameters})
    parameters.sort(key=lambda one: one.optional)
    # What one use does not tell another may.
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
    found: dict[str, Parameter] = {}
    for row in named:
        for name, one in row.items():
            if name not in taken:
                always = all(name in other for other in named)
                known = found.get(name)
                type_ = one.type if known is None or known.type == one.type else ""
                found[name] = Parameter(name, type_, not always)
    return list(found.values())


def _common(types: Iterable[str]) -> str:
    found = set(types)
    return found.pop() if len(found) == 1 else ""


def _free(name: str, taken: Iterable[str]) -> str:
    number, found = 1, name
    while found in set(taken):
        number += 1
        found = f"{name}{number}"
    return found


def merge_wanted(wanted: Iterable[Wanted]) -> tuple[Wanted, ...]:
    """One a name: its calls and members together."""
    found: dict[tuple[str, str, bool], Wanted] = {}
    for one in wanted:
        key = (one.module, one.name, one.of_type)
        known = found.get(key)
        if known is None:
            found[key] = replace(one, members=merge_wanted(one.members))
        else:
            rank: tuple[Kind, ...] = ("value", "function", "class", "error")
            found[key] = replace(
                known,
                kind=max(known.kind, one.kind, key=rank.index),
                calls=known.calls + one.calls,
                members=merge_wanted((*known.members, *one.members)),
                type=known.type or one.type,
            )
    return tuple(found.values())


def untold_notes(one: Wanted, known: Collection[str] = ()) -> Iterator[str]:
    """What of a function, or of a class's functions, the test did not tell; `known`: what exists already."""
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
    """The files as they lie in the worktree."""

    @property
    def paths(self) -> frozenset[str]: ...

    @property
    def source(self) -> tuple[str, ...]: ...

    @property
    def is_behaviour_red(self) -> bool:
        """Whether a stub that raises makes a valid red: `red: behaviour`."""

    def is_source(self, path: str) -> bool:
        """Whether a path is source, also of a file that does not exist yet."""

    def text(self, path: str) -> str: ...

    def stack_of(self, path: str) -> Stack:
        """The innermost stack of the file's language around it, or the first of all."""

    def packages(self, stack: Stack) -> Sequence[Path]:
        """The folders with the packages that are installed for a stack; none if they are unknown."""
