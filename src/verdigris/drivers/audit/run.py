"""Audits a range: each change is replayed once and its answer kept, so that a killed audit goes on."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Protocol

from verdigris import __version__
from verdigris.checks.observation import source_roots
from verdigris.core.errors import HarnessError, StorageError, TimedOut, UserError, VerdigrisError
from verdigris.core.paths import Classes
from verdigris.core.records import Actor
from verdigris.core.settings import Settings
from verdigris.core.value import replace, value
from verdigris.drivers.audit.checkout import check_out
from verdigris.drivers.audit.configuration import configure
from verdigris.drivers.audit.environment import PRESENT, present_environment, require_rooms
from verdigris.drivers.audit.folder import find_folder, key_of
from verdigris.drivers.audit.jobs import judge_at_once
from verdigris.drivers.audit.outcome import UnitFacts, judge_unit
from verdigris.drivers.audit.replay import Replayed, replay
from verdigris.drivers.audit.report import AuditOutcome, AuditReport, UnitReport, parse_unit, render_unit
from verdigris.drivers.audit.suite import TestRuns, plain_snapshot
from verdigris.drivers.audit.units import find_units
from verdigris.storage.project import Project, TreeView, open_log
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from verdigris.drivers.audit.environment import Environment
    from verdigris.drivers.audit.folder import AuditFolder
    from verdigris.drivers.audit.units import Range, Selection, Unit
    from verdigris.storage.repository import Repository

    Builder = Callable[[Project], tuple[Project, Environment]]

_KIND = "units"
TIMEOUT = 600.0


@value
class AuditRequest:
    selection: Selection
    deep: bool = False
    timeout: float = TIMEOUT
    """Seconds for one change."""
    fresh: bool = False
    """Answers of earlier audits are not taken."""
    suite: tuple[str, ...] = ()
    """Ids, paths, or `-m MARK`: run instead of what a commit's settings call its suite."""
    env: str = PRESENT
    """`present`, or `uv`: what the files of each commit ask for."""
    jobs: int = 1
    """How many processes judge at once."""


class AuditWatcher(Protocol):
    """Is told how the audit goes."""

    def began(self, total: int, known: int) -> None: ...

    def judged(self, unit: UnitReport) -> None: ...


def audit(start: Path, asked: AuditRequest, watcher: AuditWatcher | None = None) -> AuditReport:
    repo = find_repository(start)
    found = find_units(repo, asked.selection)
    folder = find_folder(repo)
    auditor = Auditor(folder.repository(repo), folder, asked)
    auditor.require_tools()
    known = {unit: auditor.known(unit) for unit in found.units}
    if watcher is not None:
        watcher.began(len(found.units), sum(one is not None for one in known.values()))
    judged = {unit: one for unit, one in known.items() if one is not None}
    for one in judged.values():
        _tell(watcher, one)
    left = [unit for unit in found.units if unit not in judged]
    judge = partial(_judge_in_turn, repo, folder, asked)
    for unit, one in judge_at_once(left, judge, asked.jobs) if asked.jobs > 1 else judge(0, left):
        if one.outcome is not AuditOutcome.INFRASTRUCTURE:
            judged[unit] = one
            _tell(watcher, one)
    # What the machine failed at, and what a lost job left, is tried once more.
    for unit, one in judge(0, [unit for unit in left if unit not in judged]):
        judged[unit] = one
        _tell(watcher, one)
    return _report(found, asked, tuple(judged[unit] for unit in found.units))


def _tell(watcher: AuditWatcher | None, unit: UnitReport) -> None:
    if watcher is not None:
        watcher.judged(unit)


def _judge_in_turn(
    repo: Repository, folder: AuditFolder, asked: AuditRequest, job: int, units: Sequence[Unit]
) -> Iterator[tuple[Unit, UnitReport]]:
    auditor = Auditor(folder.repository(repo, job), folder, asked)
    return ((unit, auditor.judge(unit)) for unit in units)


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

    def __init__(self, repo: Repository, folder: AuditFolder, asked: AuditRequest) -> None:
        self._repo = repo
        self._folder = folder
        self._asked = asked
        # Before a commit's own settings are known: to read trees, classes do not matter.
        self._plain = Project(repo, open_log(repo), Actor(client="audit"), Settings(), Classes(()))

    def require_tools(self) -> None:
        """No commit's code is run outside of a room."""
        require_rooms(self._plain)
        if self._asked.env != PRESENT:
            from verdigris.drivers.audit.built_environment import find_uv

            find_uv()

    def known(self, unit: Unit) -> UnitReport | None:
        """The answer of an earlier audit; what blamed the machine is tried again."""
        if self._asked.fresh:
            return None
        data = self._folder.read(_KIND, self._key(unit))
        try:
            return None if data is None else parse_unit(data)
        except UserError:
            return None

    def _key(self, unit: Unit) -> str:
        return key_of(
            unit.before,
            unit.after,
            unit.commit.id,
            self._asked.deep,
            self._asked.timeout,
            self._asked.suite,
            self._asked.env,
            self._environment(),
        )

    def _environment(self) -> str:
        return present_environment(self._plain).key if self._asked.env == PRESENT else ""

    def _check_out(self, unit: Unit) -> Unit:
        worktree = plain_snapshot(self._plain)
        before, after = (check_out(self._plain, tree, worktree) for tree in (unit.before, unit.after))
        return replace(unit, before=before, after=after)

    def _builder(self, unit: Unit) -> Builder | None:
        if self._asked.env == PRESENT:
            return None
        from verdigris.drivers.audit.built_environment import build_environment

        return lambda project: build_environment(project, self._folder, unit)

    def judge(self, unit: Unit) -> UnitReport:
        began = time.monotonic()
        environment = ""
        try:
            shown = self._check_out(unit)
            runs = open_runs(
                self._plain,
                self._folder,
                shown.after,
                self._asked.timeout,
                self._asked.suite,
                build=self._builder(shown),
            )
            replayed = replay(runs, shown, deep=self._asked.deep)
            environment = runs.environment
        except TimedOut as error:
            replayed = Replayed(UnitFacts(unknown=f"{error.message}; {error.hint}."))
        except (StorageError, HarnessError, OSError) as error:
            said = error.message if isinstance(error, VerdigrisError) else str(error)
            replayed = Replayed(UnitFacts(broken=f"the machine failed: {said}"))
        except VerdigrisError as error:
            replayed = Replayed(UnitFacts(unknown=f"{error.message}; {error.hint}"))
        outcome, why = judge_unit(replayed.facts)
        facts = replayed.facts
        judged = UnitReport(
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
            seconds=round(time.monotonic() - began, 3),
            paths=replayed.paths,
        )
        if outcome is not AuditOutcome.INFRASTRUCTURE:
            self._folder.keep(_KIND, self._key(unit), render_unit(judged))
        return judged


def open_runs(
    plain: Project,
    folder: AuditFolder,
    tree: str,
    seconds: float,
    suite: tuple[str, ...] = (),
    *,
    build: Builder | None = None,
) -> TestRuns:
    """Runs of tests with the settings of `tree`; `plain`: a project that reads trees, without settings.

    `build` gives it another environment than the present one.
    """
    found = configure(folder, plain.workspace, plain.repo.root, tree)
    settings = found.settings
    if suite:
        settings = replace(settings, stacks=tuple(replace(one, suite=suite) for one in settings.stacks))
    view = TreeView(tree, plain_snapshot(plain))
    project = replace(plain, settings=settings, configured=found.classes, view=view)
    project = replace(project, settings=_with_sources(project, tree))
    environment = "" if build is not None else present_environment(project).key
    return TestRuns(project, folder, environment, seconds, build)


def _with_sources(project: Project, tree: str) -> Settings:
    """Modules come from the commit, though another copy of the project is installed."""
    roots = [str(project.root / root) for root in source_roots(project, tree)]
    given = (f"PYTHONPATH={':'.join(roots)}",) if roots else ()
    return replace(project.settings, room_env=(*project.settings.room_env, *given))
