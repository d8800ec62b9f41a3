"""Audits a range: replays each change once and keeps its answer, so that a killed audit can go on."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from verdigris import __version__
from verdigris.core.errors import HarnessError, StorageError, TimedOut, UserError, VerdigrisError
from verdigris.core.paths import Classes
from verdigris.core.records import Actor
from verdigris.core.settings import Settings
from verdigris.core.value import replace, value
from verdigris.drivers.answer_keys import answer_key
from verdigris.drivers.audit.outcome import UnitFacts, judge_unit
from verdigris.drivers.audit.replay import Replayed, replay
from verdigris.drivers.audit.report import AuditOutcome, AuditReport, UnitReport, parse_unit, render_unit
from verdigris.drivers.audit.schedule import Judgement, judge_at_once, judge_in_turn
from verdigris.drivers.audit.tree_runs.configuration import check_out
from verdigris.drivers.audit.tree_runs.environment import PRESENT, UV, present_environment, require_rooms
from verdigris.drivers.audit.tree_runs.folder import AuditFolder, KnownSuites, find_folder
from verdigris.drivers.audit.tree_runs.suite import Builder, TestRuns, open_runs, plain_snapshot
from verdigris.drivers.audit.units import Range, Selection, Unit, find_units
from verdigris.storage.project import Project, open_log
from verdigris.storage.repository import Repository, find_repository

_KIND = "units"
TIMEOUT = 600.0
_OBJECTS = 300_000
"""New objects before the garbage collector runs: the syntax trees of about three long modules."""


@value
class AuditRequest:
    selection: Selection
    deep: bool = False
    timeout: float = TIMEOUT
    """Seconds for one change."""
    fresh: bool = False
    """Take no answer of an earlier audit."""
    suite: tuple[str, ...] = ()
    """Ids, paths, or `-m MARK`, which are run instead of the suite that a commit's settings name."""
    env: str = PRESENT
    """`present`, or built from the files of each commit: `lock` for all languages, `uv` for Python alone."""
    jobs: int = 1
    """How many processes judge at once."""
    whole: bool = False
    """Run each tree's suite whole: carry no result from one tree to the next."""


class AuditWatcher(Protocol):
    """Hears how the audit goes."""

    def began(self, total: int, known: int) -> None: ...

    def running(self, what: str) -> None: ...

    def judged(self, unit: UnitReport) -> None: ...


class SilentWatcher:
    def began(self, total: int, known: int) -> None:
        """Shows nothing."""

    def running(self, what: str) -> None:
        """Shows nothing."""

    def judged(self, unit: UnitReport) -> None:
        """Shows nothing."""


SILENT = SilentWatcher()


def audit(start: Path, asked: AuditRequest, watcher: AuditWatcher = SILENT) -> AuditReport:
    repo = find_repository(start)
    found = find_units(repo, asked.selection)
    folder = find_folder(repo)
    auditor = Auditor(folder.repository(repo), folder, asked)
    auditor.require_tools()
    known = ((unit, auditor.known(unit)) for unit in found.units)
    judged = {unit: one for unit, one in known if one is not None}
    watcher.began(len(found.units), len(judged))
    for one in judged.values():
        watcher.judged(one)
    left = [unit for unit in found.units if unit not in judged]
    apart = partial(_judge_in_turn, repo, folder, asked, SILENT)
    judge = partial(_judge_in_turn, repo, folder, asked, watcher)
    for unit, one in judge_at_once(left, apart, asked.jobs) if asked.jobs > 1 else judge(0, left):
        if one.outcome is not AuditOutcome.INFRASTRUCTURE:
            if unit not in judged:  # else it is judged again, because a carried result was wrong
                watcher.judged(one)
            judged[unit] = one
    # Units at which the machine failed, and those that a lost job left, are tried once more.
    for unit, one in judge(0, [unit for unit in left if unit not in judged]):
        judged[unit] = one
        watcher.judged(one)
    return _report(found, asked, tuple(judged[unit] for unit in found.units))


def _judge_in_turn(
    repo: Repository,
    folder: AuditFolder,
    asked: AuditRequest,
    watcher: AuditWatcher,
    job: int,
    units: Sequence[Unit],
) -> Iterator[tuple[Unit, UnitReport]]:
    with _collect_rarely():
        yield from judge_in_turn(Auditor(folder.repository(repo, job), folder, asked, watcher), units)


@contextlib.contextmanager
def _collect_rarely() -> Iterator[None]:
    """Syntax trees have many objects and no cycles; the search for cycles took half of our own time."""
    usual = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _report(found: Range, asked: AuditRequest, units: tuple[UnitReport, ...]) -> AuditReport:
    selection = asked.selection
    said = {
        "deep": "yes" if asked.deep else "",
        "env": "" if asked.env == PRESENT else asked.env,
        "suite": " ".join(asked.suite),
        "shard": "" if selection.shard == (1, 1) else f"{selection.shard[0]}/{selection.shard[1]}",
        "since": selection.since,
        "author": selection.author,
        "path": " ".join(selection.paths),
        "merged": "yes" if selection.merged else "",
        "whole": "yes" if asked.whole else "",
    }
    return AuditReport(
        found.text,
        found.base,
        found.head,
        units,
        selection.squash,
        __version__,
        {name: text for name, text in said.items() if text},
    )


class Auditor:
    """Judges units one after another; several may work at once, each with a repository of its own."""

    def __init__(
        self, repo: Repository, folder: AuditFolder, asked: AuditRequest, watcher: AuditWatcher = SILENT
    ) -> None:
        self._watcher = watcher
        self._repo = repo
        self._folder = folder
        self._suites = KnownSuites(folder)
        self._shown: dict[tuple[str, str], str] = {}
        self._asked = asked
        self._curable: set[Unit] = set()
        # Reads trees before a commit's own settings are known; path classes do not matter for that.
        self._plain = Project(repo, open_log(repo), Actor(client="audit"), Settings(), Classes(()))

    def require_tools(self) -> None:
        """A commit's code runs in a room or not at all."""
        require_rooms(self._plain)
        if self._asked.env == UV:
            from verdigris.drivers.audit.tree_runs.packages import find_uv

            find_uv()

    def known(self, unit: Unit) -> UnitReport | None:
        """Returns the answer of an earlier audit, or None."""
        if self._asked.fresh:
            return None
        data = self._folder.read(_KIND, self._key(unit))
        try:
            return None if data is None else parse_unit(data)
        except UserError:
            return None

    def _key(self, unit: Unit) -> str:
        return answer_key(
            unit.before,
            unit.after,
            unit.commit.id,
            self._asked.deep,
            self._asked.timeout,
            self._asked.suite,
            self._asked.env,
            self._asked.whole,
            self._environment(),
        )

    def _environment(self) -> str:
        return present_environment(self._plain) if self._asked.env == PRESENT else ""

    def _show(self, tree: str, worktree: str) -> str:
        """The tree after one change is the tree before the next, so it is made once."""
        if (tree, worktree) not in self._shown:
            self._shown[tree, worktree] = check_out(self._plain, tree, worktree)
        return self._shown[tree, worktree]

    def keep(self, unit: Unit, judged: UnitReport) -> None:
        """Keeps an answer for later audits, unless the machine failed or lacked something."""
        if judged.outcome is not AuditOutcome.INFRASTRUCTURE and unit not in self._curable:
            self._folder.keep(_KIND, self._key(unit), render_unit(judged))

    def judge(self, unit: Unit, *, whole: bool = False) -> Judgement:
        """`whole`: no result is carried from one tree to the next."""
        began = time.monotonic()
        environment = ""
        shown, runs = unit, None
        try:
            worktree = plain_snapshot(self._plain)
            before, after = (self._show(tree, worktree) for tree in (unit.before, unit.after))
            shown = replace(unit, before=before, after=after)
            runs = self._open_runs(shown, whole=whole)
            replayed = replay(runs, shown, deep=self._asked.deep)
            environment = runs.environment
        except TimedOut as error:
            replayed = Replayed(UnitFacts(unknown=f"{error.message}; {error.hint}."))
        except (StorageError, HarnessError, OSError) as error:
            said = error.message if isinstance(error, VerdigrisError) else str(error)
            replayed = Replayed(UnitFacts(broken=f"the machine failed: {said}"))
        except VerdigrisError as error:
            replayed = Replayed(UnitFacts(unknown=f"{error.message}; {error.hint}.", curable=True))
        if replayed.facts.curable:
            self._curable.add(unit)
        judged = _report_unit(unit, replayed, environment, round(time.monotonic() - began, 3))
        return Judgement(unit, shown, judged, runs)

    def _open_runs(self, shown: Unit, *, whole: bool) -> TestRuns:
        asked = self._asked
        build: Builder | None = None
        if asked.env != PRESENT:
            from verdigris.drivers.audit.tree_runs.packages import build_environment

            build = partial(build_environment, folder=self._folder, unit=shown, env=asked.env)
        runs = open_runs(self._plain, self._suites, shown.after, asked.timeout, asked.suite, build=build)
        if not whole and not asked.whole:
            runs.allow_reuse()
        runs.tell = self._watcher.running
        return runs


def _report_unit(unit: Unit, replayed: Replayed, environment: str, seconds: float) -> UnitReport:
    facts = replayed.facts
    outcome, why = judge_unit(facts)
    passing: list[str] = []
    if outcome is AuditOutcome.TEST_DRIVEN:  # only a corpus of them needs these ids, which make a report long
        reds = {red.id for red in facts.reds}
        passing += (sys.intern(native) for native in replayed.passing if native not in reds)
    return UnitReport(
        commit=unit.commit,
        before=unit.before,
        after=unit.after,
        outcome=outcome,
        why=why,
        reds=facts.reds,
        regressed=facts.regressed,
        weakened=facts.weakened,
        uncovered=facts.uncovered,
        concerns=replayed.concerns,
        hollow=facts.hollow,
        notes=replayed.notes,
        environment=environment,
        seconds=seconds,
        paths=replayed.paths,
        passing=tuple(passing),
    )
