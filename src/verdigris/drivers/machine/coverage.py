"""The coverage guard: a refactor may not leave more of the source unexecuted than it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.uncovered import uncovered
from verdigris.core.languages import PYTHON
from verdigris.core.pathclass import PathClass
from verdigris.core.report import Status
from verdigris.core.value import value
from verdigris.execution.execution import execute_suite
from verdigris.execution.room.layers import Layer
from verdigris.execution.room.opening import possible
from verdigris.languages.python.lines import added_lines
from verdigris.storage.texts import texts_at

if TYPE_CHECKING:
    from verdigris.storage.project import Project


@value
class Coverage:
    idle: int
    """Statements that no test runs."""
    all: int
    places: tuple[str, ...] = ()
    """Where they are."""
    fails: bool = False
    """A test did not pass while it was measured."""

    @property
    def share(self) -> float:
        return 1 - self.idle / self.all if self.all else 1.0


def unmeasured(project: Project) -> str | None:
    """Why the guard says nothing here."""
    others = sorted({s.language for s in project.settings.stacks} - {PYTHON})
    if others:
        what = f"which lines the tests run is not measured for {', '.join(others)}"
        return f"{what}: the coverage guard says nothing there"
    if not possible(project).ok:
        return "two trees can only be compared in a sandbox: the coverage guard says nothing here"
    return None


def lowered(project: Project, start: str) -> str | None:
    """Why the tree as it stands is less covered than `start`.

    Both have to hold: more statements idle, and a smaller share run. To delete what was run lowers the
    share as well, and is what a refactor is for.
    """
    if not possible(project).ok:
        return None
    now = project.workspace.snapshot()
    after = _measured(project, now, now)
    # Where tests fail, the refactor is refused for that, and their failures say more than a share.
    if after is None or after.idle == 0 or after.fails:
        return None
    before = _measured(project, start, now)
    if before is None or after.idle <= before.idle or after.share >= before.share:
        return None
    where = ", ".join(place for place in after.places if place not in before.places) or ", ".join(
        after.places
    )
    return (
        f"the tests run {after.share:.1%} of the source, and ran {before.share:.1%} before:"
        f" {after.idle} statements are not run, {before.idle} were not ({where})"
    )


def unshown(project: Project) -> tuple[str, ...]:
    """Source lines that no test runs, as `src/x.py:12-14`; nothing where they cannot be measured."""
    now = project.workspace.snapshot()
    found = _measured(project, now, now)
    return () if found is None else found.places


def _measured(project: Project, tree: str, worktree: str) -> Coverage | None:
    """By the whole suite; None where there is no Python to measure."""
    paths = [
        entry.path
        for entry in project.workspace.files(tree)
        if entry.path.endswith(".py") and project.classify(entry.path) is PathClass.SOURCE
    ]
    if not paths:
        return None
    layer = None if tree == worktree else Layer(tree, worktree)
    report = execute_suite(project, trace=paths, layer=layer)
    texts = texts_at(project, tree, paths)
    statements = added_lines({}, texts)
    idle = sum(len(lines - report.lines.get(path, frozenset())) for path, lines in statements.items())
    places = uncovered({}, texts, {path: report.lines.get(path, frozenset()) for path in texts})
    fails = bool(report.errors) or any(r.status in {Status.FAIL, Status.ERROR} for r in report.results)
    return Coverage(idle, sum(map(len, statements.values())), places, fails)
