"""Varies the surroundings of a verdict's runs, and names those on which a test depends.

The true run of a set is the witness: it is made in other surroundings than the run of the suite. Only when
a test fails there are more runs made, each with one other part.
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.report import Failure, Status, TestReport
from verdigris.core.surroundings import (
    DESCRIPTIONS,
    NAMES,
    PARTS,
    Caller,
    Part,
    draw_surroundings,
    merge_surroundings,
)
from verdigris.core.test_ids import function_of, split_id
from verdigris.core.value import replace, value
from verdigris.execution.places import find_places_of_users
from verdigris.languages.registry import reader_of
from verdigris.sandbox.notes import names_in
from verdigris.storage.draws import lot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from verdigris.execution.room import Layer
    from verdigris.storage.project import Project

_ZONEINFO = "/usr/share/zoneinfo"
_ZONES = (("Pacific/Kiritimati", "<+14>-14", 14), ("Pacific/Pago_Pago", "<-11>11", -11))
"""Together they have another day than any zone at any time."""
_LOCALES = ("C.UTF-8", "en_GB.UTF-8", "en_US.UTF-8", "de_DE.UTF-8", "fr_FR.UTF-8")
_INSTALLED = "/usr/lib/locale"
_HOMES = "/home"
_TRACED: frozenset[Part] = frozenset({"hash-seed", "files"})
"""Parts that matter to an interpreter: compilers have caches and modules in many places."""
_UNLOADED = frozenset({"ImportError", "ModuleNotFoundError"})
"""Such a failure shows what we hid, and not what the code depends on."""


_UNRAISED = ("DID NOT RAISE", "not raised")
"""What tools say of an exception that did not come."""


class OtherSurroundings:
    """Other surroundings for the runs of a set, drawn by lot: the same tree gets the same again."""

    def __init__(
        self, project: Project, room: Layer, changed: Iterable[str], *, traced: bool, draw: str = ""
    ) -> None:
        """`changed`: paths of the source that the turn changed. `traced`: an interpreter runs it.

        `draw`: another name has another result.
        """
        self.project, self.room = project, room
        self.sources = [path for path in changed if reader_of(path).source.reads(path)] if traced else []
        varied = [part for part in PARTS if part not in project.settings.room_same]
        self.parts = tuple(part for part in varied if traced or part not in _TRACED)
        lot = lot_of(project, room.wanted, "surroundings", draw)
        self.drawn = draw_surroundings(lot, _find_caller(os.environ, away=traced), self.parts)

    def layer(self, parts: Collection[Part], on: Layer | None = None) -> Layer:
        """The room, or another layer, with these parts of its surroundings replaced."""
        room = on or self.room
        around = merge_surroundings(other for part, other in self.drawn.items() if part in parts)
        tree = self._rewrite(room.wanted, {"layout", "asserts"}.intersection(parts))
        return replace(room, wanted=tree, around=around)

    def _rewrite(self, tree: str, parts: Collection[str]) -> str:
        if not parts or not self.sources:
            return tree
        workspace = self.project.workspace
        modes = {entry.path: entry.mode for entry in workspace.files(tree)}
        contents: dict[str, tuple[str, bytes] | None] = {}
        for path, data in workspace.read_many(tree, self.sources).items():
            text, source = data, reader_of(path).source
            if text is not None and "asserts" in parts:
                text = source.without_asserts(text) or text
            if text is not None and "layout" in parts:
                text = source.lay_out_anew(text) or text
            if text is not None and text != data:
                contents[path] = (modes[path], text)
        return workspace.compose(tree, contents) if contents else tree


@value
class Dependences:
    """What tests depend on, as texts."""

    hollow: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()


def find_dependences(
    asked: Sequence[str], parts: Sequence[Part], run: Callable[[Collection[Part]], TestReport]
) -> Mapping[str, tuple[Part, Failure | None]]:
    """Finds, for each test that fails in other surroundings only, a part that it takes, and its failure.

    `run`: runs the tests where these parts are other.
    """

    def fails(test: str, some: Collection[Part]) -> bool:
        return bool(find_failures(run(some), [test]))

    usual = find_failures(run(()), asked) if parts else asked
    left = [test for test in asked if test not in usual]
    found: dict[str, tuple[Part, Failure | None]] = {}
    while left:
        part = _narrow(parts, partial(fails, left[0]))
        failing = find_failures(run((part,)), left)
        found |= {test: (part, failure) for test, failure in failing.items()}
        left = [test for test in left[1:] if test not in failing]
    return found


def _narrow(parts: Sequence[Part], fails: Callable[[Sequence[Part]], bool]) -> Part:
    """The part in which a test fails, if it fails where all are other."""
    while len(parts) > 1:
        half = len(parts) // 2
        parts = parts[:half] if fails(parts[:half]) else parts[half:]
    return parts[0]


def describe_dependences(
    found: Mapping[str, tuple[Part, Failure | None]], old: Collection[str] = ()
) -> Dependences:
    """What depended on it before this turn is only noted; and a test that expects an AssertionError."""
    hollow, noted = list[str](), list[str]()
    for test, (part, failure) in found.items():
        awaited = part == "asserts" and failure is not None and _is_awaited(failure)
        (noted if awaited or test in old else hollow).append(describe_dependence(test, part))
    return Dependences(tuple(hollow), tuple(noted))


def describe_dependence(test: str, part: Part) -> str:
    return (
        f"{test} passes only with {DESCRIPTIONS[part]}: make the code independent of it, or, if the project"
        f" needs it, have a person add `room: {{same: [{part}]}}` to tdd.yaml"
    )


def _is_awaited(failure: Failure) -> bool:
    unraised = any(words in failure.message for words in _UNRAISED)
    return unraised and "AssertionError" in failure.message


def find_failures(report: TestReport, asked: Sequence[str]) -> dict[str, Failure | None]:
    """How those of the tests failed that ran; a module that could not be loaded says nothing."""
    found: dict[str, Failure | None] = {}
    for test in asked:
        results = [r for r in report.results if test in {r.native_id, function_of(r.native_id)}]
        failed = [r.failure for r in results if r.status in {Status.FAIL, Status.ERROR}]
        kinds = [error.kind for error in report.errors if error.path == split_id(test).path]
        failed = [failure for failure in failed if failure is None or failure.kind not in _UNLOADED]
        if failed:
            found[test] = failed[0]
        elif not results and kinds and not _UNLOADED.intersection(kinds):
            found[test] = None
    return found


def _find_caller(environ: Mapping[str, str], *, away: bool) -> Caller:
    """`away`: whether a home can be where users have theirs; what these have there is hidden then."""
    now = time.time()
    zones = {
        name if Path(_ZONEINFO, name).exists() else rule: time.gmtime(now + hours * 3600).tm_mday
        for name, rule, hours in _ZONES
    }
    installed = {name.lower().replace("-", "") for name in names_in(_INSTALLED)}
    locales = [name for name in _LOCALES if name.lower().replace("-", "") in installed]
    homes = "/tmp"  # noqa: S108 - a room's own
    if away and _HOMES in find_places_of_users(environ.get("HOME", "")):
        homes = _HOMES
    names = [name for name in NAMES if not os.path.lexists(f"{homes}/{name}")]
    return Caller(environ, time.localtime(now).tm_mday, zones, locales, names or NAMES[:1], homes)
