"""Claims reds that `tdd test` recorded, and opens, joins or continues a turn; runs no test.

Also says which move follows from a state and its tree, since most often that is a claim.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from verdigris.checks.observation import difference, find_unclaimed
from verdigris.core.actions import ClaimTest, Deny, Target
from verdigris.core.events import LayingAside, Resumed
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.policy.next_move import covers, implied_claim, named_reds, next_after, next_move, next_red
from verdigris.core.report import Status
from verdigris.core.state import Phase
from verdigris.core.test_ids import nearest, split_id
from verdigris.core.turn_events import denial_event, next_aside
from verdigris.core.value import field, replace, value
from verdigris.storage.open_calls import at_work
from verdigris.storage.paths import canonical
from verdigris.storage.repository import in_progress
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from verdigris.core.actions import Decision
    from verdigris.core.state import Red, Turn, WorktreeState
    from verdigris.storage.project import Project


AGENT = "agent"
ALL_SOURCE = Target(".", frozenset({PathClass.SOURCE}), ".")


@value
class Claimed:
    test_ids: tuple[str, ...]
    targets: tuple[str, ...]
    restored: tuple[str, ...] = ()
    """Paths whose set-aside edits came back with this claim."""
    held_back: tuple[str, ...] = ()
    """Set-aside ids that would not go on again without a conflict."""
    new: tuple[str, ...] = ()
    """Targets that do not exist yet."""
    alike: Mapping[str, str] = field(default_factory=dict)
    """By new target, the existing source file whose name is nearest: it may be a typing error."""
    concerns: tuple[str, ...] = ()
    """What a person should know of the tests that were claimed."""


def claim_within(
    project: Project,
    state: WorktreeState,
    test_ids: Sequence[str],
    targets: tuple[Target, ...],
    *,
    implied: bool = False,
    tree: str | None = None,
) -> Claimed | Deny:
    """The claim alone, for a caller that already holds the operation; `tree` as it was before its edit.

    Either every test is claimed, or none.
    """
    from verdigris.core.turn_events import OracleFacts, claim_events, denial_event
    from verdigris.storage.paths import links_out, refuse

    tree = tree or project.workspace.snapshot()
    if out := refuse(links_out(project, tree)):
        project.record(denial_event(out, f"claim {' '.join(test_ids)}"))
        return out
    noted: dict[str, None] = {}
    for test_id in test_ids:
        action = _observe(project, state, test_id, targets, tree)
        decision = decide(state, action, project.settings, in_progress=in_progress(project.repo))
        if isinstance(decision, Deny):
            project.record(denial_event(decision, f"claim {test_id}"))
            return decision
        noted |= dict.fromkeys(action.noted)
    from verdigris.checks.file_use import reads_of
    from verdigris.checks.foundation import prepare
    from verdigris.checks.weakening import shared_by

    reds = [red for test_id in test_ids if (red := state.reds.get(test_id))]
    natives = [red.native_id for red in reds]
    shared = tuple(str(one) for one in shared_by(project, tree, natives))
    paths = tuple(t.path for t in targets if t.path is not None)
    foundation = prepare(project) if state.turn is None else ""
    oracle = OracleFacts(
        tree,
        findings=(*noted, *shared),
        foundation=foundation,
        founded=time.time_ns() if foundation else 0,
        reads=reads_of(project, reds),
    )
    events = claim_events(state, test_ids, paths, oracle, implied=implied, by=project.context)
    project.record(*events, sync=True)
    return Claimed(tuple(test_ids), paths, concerns=shared)


def claimable(project: Project, state: WorktreeState, tree: str) -> Red | Deny | None:
    """The red that a claim of all source may cite now, or what such a claim would be refused with."""
    red = next_red(state, tree)
    if red is None or state.phase is not Phase.RED:
        return None
    from verdigris.storage.paths import links_out, refuse

    decision: Decision | None = refuse(links_out(project, tree))
    if decision is None:
        action = _observe(project, state, red.test_id, (ALL_SOURCE,), tree)
        decision = decide(state, action, project.settings, in_progress=in_progress(project.repo))
    return decision if isinstance(decision, Deny) else red


def following_move(
    project: Project, state: WorktreeState, tree: str | None = None, *, session: str = ""
) -> str:
    """The next move, by the state and by what the tree shows: none that would be refused.

    `session`: of the agent who asks, where its environment does not say.
    """
    unfinished = in_progress(project.repo)
    # In a cycle freezing claims, for whoever codes.
    if project.actor.role == AGENT and state.claims and not unfinished and state.open_cycle is None:
        from verdigris.core.agents import session_in

        fellows = at_work(str(project.repo.private), session or session_in(os.environ))
        if waiting := next_after(state, project.actor.context, fellows):
            return waiting
    if unfinished or state.test_bugs or not state.valid_reds or state.phase is not Phase.RED:
        return next_move(state, in_progress=unfinished)
    return next_move(state, claimable=claimable(project, state, tree or project.workspace.snapshot()))


def _observe(
    project: Project, state: WorktreeState, test_id: str, targets: tuple[Target, ...], tree: str
) -> ClaimTest:
    if state.turn is not None and test_id in state.claims:
        return ClaimTest(test_id, targets, drift=difference(project, state.turn.tree, tree).oracle)
    red = state.reds.get(test_id)
    if red is None:
        return ClaimTest(
            test_id,
            targets,
            nearest=nearest(test_id, state.reds),
            passing=_last_status(project, test_id) == Status.PASS,
            written=(project.root / split_id(test_id).path).exists(),
        )
    from verdigris.checks.file_use import reads_of
    from verdigris.checks.weakening import find_losses

    since_red = difference(project, red.tree, tree)
    read = set(reads_of(project, [red])) if since_red.other else set()
    data = tuple(change.path for change in since_red.other if change.path in read)
    if state.turn is not None:
        drift = difference(project, state.turn.tree, tree).oracle
        return ClaimTest(test_id, targets, moved=(*since_red.oracle, *data), drift=drift)
    edits = find_unclaimed(project, state.ground or tree, tree, limit=1)
    losses = find_losses(project, state, tree)
    return ClaimTest(
        test_id,
        targets,
        moved=(*since_red.protected, *data),
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


_GLOB = frozenset("*?[")


def claim(project: Project, tests: Sequence[str], targets: Sequence[str], *, cwd: Path) -> Claimed | Deny:
    """`tests`: ids, functions, files or bare names of reds; none stands for all reds of one file.

    No `targets` stands for all source.
    """
    with operation(project) as state:
        ids = _claimed_ids(project, state, tests, cwd)
        if isinstance(ids, Deny):
            project.record(denial_event(ids, "claim"))
            return ids
        named = tuple(_target(project, spelling, cwd) for spelling in targets) or (ALL_SOURCE,)
        decision = claim_within(project, state, ids, named)
        if isinstance(decision, Deny):
            return decision
        return replace(_with_edits_back(project, decision), **_new_targets(project, named))


def split_words(project: Project, words: Sequence[str], *, cwd: Path) -> tuple[list[str], list[str]]:
    """Which words of a claim name tests, and which name source."""
    reds = project.state().reds
    tests = [
        word for place, word in enumerate(words) if _names_a_test(project, reds, word, cwd, first=place == 0)
    ]
    return tests, [word for word in words if word not in tests]


def _names_a_test(project: Project, reds: Mapping[str, Red], word: str, cwd: Path, *, first: bool) -> bool:
    """A word that is nothing known is a test where it stands first, as a slug may, and else a new path."""
    if "::" in word or " › " in word or " > " in word:
        return True
    path = canonical(project.root, word, cwd=cwd).path
    if path is not None and (project.root / path).exists():
        return not (project.root / path).is_dir() and named_reds(reds, path) != ()
    looks_like_a_path = bool(_GLOB & set(word) or "/" in word or "." in word)
    return named_reds(reds, word) != () or (first and not looks_like_a_path)


def _claimed_ids(
    project: Project, state: WorktreeState, tests: Sequence[str], cwd: Path
) -> tuple[str, ...] | Deny:
    if not tests:
        implied = implied_claim(state)
        return implied if isinstance(implied, Deny) else tuple(red.test_id for red in implied.claims)
    found: dict[str, None] = {}
    for word in tests:
        path = split_id(word).path
        here = canonical(project.root, path, cwd=cwd).path if (cwd / path).exists() else path
        name = f"{here}{word[len(path) :]}"
        found |= dict.fromkeys(named_reds(state.reds, name) or [name])
    return tuple(found)


def _new_targets(project: Project, targets: Sequence[Target]) -> dict[str, Any]:
    new = tuple(
        t.path for t in targets if t.path and not _GLOB & set(t.path) and not _exists(project, t.path)
    )
    if not new:
        return {}
    tree = project.workspace.snapshot()
    source = [e.path for e in project.workspace.files(tree) if project.classify(e.path) is PathClass.SOURCE]
    import difflib

    alike = {path: close[0] for path in new if (close := difflib.get_close_matches(path, source, 1, 0.8))}
    return {"new": new, "alike": alike}


def _exists(project: Project, path: str) -> bool:
    return (project.root / path).exists()


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
    from verdigris.turns.aside import lay_on

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
    return replace(claimed, restored=tuple(restored), held_back=tuple(held_back))


def continue_turn(
    project: Project, state: WorktreeState, turn: Turn, tree: str, reds: dict[str, int], below: Sequence[str]
) -> str:
    """Continues a turn under which HEAD moved, with the claims that are red on the new start.

    Claims that pass there, or are not there, are given up. With the last of them the turn ends, as its edits
    have nothing to advance. Returns the id that they are then set aside as.
    """
    from verdigris.checks.foundation import prepare

    if reds:
        project.record(
            Resumed(turn=turn.id, reds=reds, foundation=prepare(project, below), founded=time.time_ns()),
            sync=True,
        )
        return ""
    paths = tuple(c.path for c in difference(project, turn.tree, tree).source)
    why = "no claimed test is red on the new baseline"
    intent = LayingAside(
        aside=next_aside(state),
        paths=paths,
        edited=tree,
        start=turn.tree,
        why=why,
        test_ids=tuple(state.claims),
    )
    project.record(intent, sync=True)
    from verdigris.turns.aside import carry_out

    carry_out(project, intent)
    return intent.aside
