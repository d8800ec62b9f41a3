"""What follows from the files that a run used: which are frozen with the oracle, and which speak against it.

A file of the project that is executed is source, whatever its name. One that test code reads is part of the
oracle. One that only source reads may be what an honest fix changes: its change is told, with its reader.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.classify import Classes, is_transient
from verdigris.core.globs import compile_glob
from verdigris.core.pathclass import PathClass
from verdigris.core.runnerkeys import MIXED
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from verdigris.core.report import FileUse

FEW = 40
"""Frozen files that are named one by one; of more, the folders are."""
EXPECTED = "changed in this turn, and the tests read it: write it before the claim, or put it back"
UNSEEN = "is executed by the tests, and no snapshot holds it: nobody can tell what it was"


@value
class Objections:
    broken: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()


def read_by_tests(uses: Sequence[FileUse], classes: Classes, cls: Callable[[str], PathClass]) -> list[str]:
    """Files of no class that test code opened; not what the run wrote itself, nor what configures tools."""
    written = {use.path for use in uses if use.how == "wrote"}
    read = dict.fromkeys(use.path for use in uses if use.how == "read" and cls(use.by) is PathClass.TEST)
    return [
        path
        for path in read
        if cls(path) is PathClass.OTHER
        and path not in written
        and path.rpartition("/")[2] not in MIXED
        and not is_transient(path, classes)
    ]


def with_frozen(classes: Classes, paths: Sequence[str]) -> Classes:
    """The same, and files of no other class are test data where they are among `paths`."""
    if not paths:
        return classes
    return Classes((*classes.rules, (PathClass.TEST, _regex(paths))))


def _regex(paths: Sequence[str]) -> str:
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    parts: list[str] = []
    for folder, inside in folders.items():
        whole = folder and len(paths) > FEW and len(inside) > 1
        parts += [rf"{re.escape(folder)}/[^/]*\Z"] if whole else [rf"{re.escape(path)}\Z" for path in inside]
    return "|".join(parts)


def without(paths: Iterable[str], globs: Iterable[str]) -> tuple[str, ...]:
    """What a person says is no oracle, though tests read it."""
    excluded = [re.compile(compile_glob(glob), re.DOTALL) for glob in globs]
    return tuple(path for path in paths if not any(regex.fullmatch(path) for regex in excluded))


def objections(
    uses: Sequence[FileUse],
    classes: Classes,
    cls: Callable[[str], PathClass],
    *,
    seen: Collection[str],
    changed: Collection[str],
    known: Collection[str] = (),
    expected: Iterable[str] = (),
) -> Objections:
    """`seen`: what the snapshot holds; `changed`: in this turn; `known`: as it was at the red.

    `expected`: what test code read. A test that was red before it came to read it has frozen nothing.
    """
    broken: dict[str, None] = {}
    blocking = dict.fromkeys(f"{path} {EXPECTED}" for path in expected if path in changed)
    noted: dict[str, None] = {}
    for use in uses:
        odd = cls(use.path) not in {PathClass.SOURCE, PathClass.TEST}
        if use.how == "executed" and use.path not in seen:
            (noted if use.path in known or is_transient(use.path, classes) else broken)[
                f"{use.path} {UNSEEN}"
            ] = None
        elif use.how == "executed" and odd:
            told = f"{use.path}: code: it is executed{_by(use)}, and is no source by its name"
            (blocking if use.path in changed else noted)[told] = None
        elif use.how == "read" and use.path in changed and odd and cls(use.by) is PathClass.SOURCE:
            noted[f"{use.path} changed in this turn, and {use.by} reads it"] = None
    made = [use for use in uses if use.how == "made" and cls(use.path) is PathClass.SOURCE]
    data = [path for path in _read_by_source(uses, cls) if path in changed or path not in seen]
    for use in made:
        told = f"{use.by}: code: it runs what stands in no file of code"
        if data:
            blocking[f"{told}, and {', '.join(data[:FEW])} changed in this turn"] = None
        else:
            noted[told] = None
    return Objections(tuple(broken), tuple(blocking), tuple(noted))


def _read_by_source(uses: Sequence[FileUse], cls: Callable[[str], PathClass]) -> list[str]:
    return list(
        dict.fromkeys(
            use.path
            for use in uses
            if use.how == "read"
            and cls(use.by) is PathClass.SOURCE
            and cls(use.path) not in {PathClass.SOURCE, PathClass.TEST}
        )
    )


def _by(use: FileUse) -> str:
    return f" by {use.by}" if use.by else ""
