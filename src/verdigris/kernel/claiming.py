"""Claims: cite a red that `tdd test` prepared, and open or join a turn. No test is run here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.actions import ClaimTest, Deny, Target
from verdigris.core.events import Denied
from verdigris.core.pathclass import PathClass
from verdigris.core.policy import decide
from verdigris.core.report import Status
from verdigris.core.targets import covers
from verdigris.core.testids import nearest
from verdigris.core.turns import claim_events
from verdigris.core.value import value
from verdigris.kernel.aside import lay_on
from verdigris.kernel.foundation import prepare
from verdigris.kernel.observe import difference, unclaimed
from verdigris.kernel.operation import operation
from verdigris.kernel.paths import canonical
from verdigris.kernel.repository import in_progress
from verdigris.kernel.weakening import lost

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verdigris.core.state import WorktreeState
    from verdigris.kernel.project import Project

_GLOB = frozenset("*?[")


@value
class Claimed:
    test_id: str
    targets: tuple[str, ...]
    restored: tuple[str, ...] = ()
    """Paths whose laid-aside edits came back with this claim."""
    held_back: tuple[str, ...] = ()
    """Laid-aside ids that would not go on again without a conflict."""


def claim(project: Project, test_id: str, targets: Sequence[str], *, cwd: Path) -> Claimed | Deny:
    with operation(project) as state:
        named = tuple(_target(project, spelling, cwd) for spelling in targets)
        decision = claim_within(project, state, test_id, named)
        return decision if isinstance(decision, Deny) else _with_edits_back(project, decision)


def claim_within(
    project: Project,
    state: WorktreeState,
    test_id: str,
    targets: tuple[Target, ...],
    *,
    implied: bool = False,
    tree: str | None = None,
) -> Claimed | Deny:
    """The claim alone, for a caller that already holds the operation; `tree` as it was before its edit."""
    tree = tree or project.workspace.snapshot()
    action = _observed(project, state, test_id, targets, tree)
    decision = decide(state, action, project.settings, in_progress=in_progress(project.repo))
    if isinstance(decision, Deny):
        project.record(denied(decision, f"claim {test_id}"))
        return decision
    paths = tuple(t.path for t in targets if t.path is not None)
    foundation = prepare(project) if state.turn is None else ""
    events = claim_events(
        state,
        test_id,
        paths,
        tree,
        implied=implied,
        by=project.context,
        findings=action.noted,
        foundation=foundation,
    )
    project.record(*events, sync=True)
    return Claimed(test_id, paths)


def _observed(
    project: Project, state: WorktreeState, test_id: str, targets: tuple[Target, ...], tree: str
) -> ClaimTest:
    red = state.reds.get(test_id)
    if red is None:
        passing = _last_status(project, test_id) == Status.PASS
        return ClaimTest(test_id, targets, nearest=nearest(test_id, state.reds), passing=passing)
    since_red = difference(project, red.tree, tree)
    if state.turn is not None:
        drift = difference(project, state.turn.tree, tree).oracle
        return ClaimTest(test_id, targets, moved=since_red.oracle, drift=drift)
    edits = unclaimed(project, state.ground or tree, tree)
    losses = lost(project, state, tree)
    return ClaimTest(
        test_id,
        targets,
        moved=since_red.protected,
        unclaimed=edits,
        weakened=losses.blocking,
        noted=losses.noted,
    )


LOOK_BACK = 2_000
"""Events searched for the last run of a test that is not red: only the denial's text depends on it."""


def _last_status(project: Project, test_id: str) -> str | None:
    here = project.repo.worktree
    for record in project.log.records(reverse=True, limit=LOOK_BACK):
        if record.worktree == here and record.type == "test_run" and record.data["test_id"] == test_id:
            return str(record.data["status"])
    return None


def _target(project: Project, spelling: str, cwd: Path) -> Target:
    if _GLOB & set(spelling) and not (cwd / spelling).exists():
        return _glob_target(project, spelling, cwd)
    path = canonical(project.root, spelling, cwd=cwd).path
    if path is None:
        return Target(None, frozenset(), spelling)
    if (project.root / path).is_dir():
        return Target(path or ".", _classes_below(project, path or "."), spelling)
    return Target(path, frozenset({project.classify(path)}), spelling)


def _glob_target(project: Project, spelling: str, cwd: Path) -> Target:
    folder = canonical(project.root, ".", cwd=cwd).path
    if folder is None or spelling.startswith(("/", "..")):
        return Target(None, frozenset(), spelling)
    pattern = spelling if folder in {"", "."} else f"{folder}/{spelling}"
    return Target(pattern, _classes_below(project, pattern), spelling)


def _classes_below(project: Project, target: str) -> frozenset[PathClass]:
    """What the target holds now; an empty one may yet come to hold source."""
    tree = project.workspace.snapshot()
    held = {
        project.classify(entry.path) for entry in project.workspace.files(tree) if covers(target, entry.path)
    }
    return frozenset(held) or frozenset({PathClass.SOURCE})


def _with_edits_back(project: Project, claimed: Claimed) -> Claimed:
    """Edits that a test-bug or `tdd aside` took out come back once a red is proven without them."""
    restored: list[str] = []
    held_back: list[str] = []
    for laid in project.state().aside.values():
        if not laid.back_at_claim:
            continue
        match lay_on(project, laid):
            case Deny():
                held_back.append(laid.id)
            case paths:
                restored.extend(paths)
    return Claimed(claimed.test_id, claimed.targets, tuple(restored), tuple(held_back))


def denied(decision: Deny, action: str) -> Denied:
    return Denied(rule=decision.rule, reason=decision.reason, next=decision.next, action=action)
