"""Claims reds that `tdd test` recorded, and opens, joins or continues a turn."""

from __future__ import annotations

import difflib
import time
from typing import TYPE_CHECKING, Any

from verdigris.checks.observation import difference
from verdigris.core.actions import Deny, Target
from verdigris.core.events import LayingAside, Resumed
from verdigris.core.paths import PathClass
from verdigris.core.policy.next_move import covers, implied_claim, named_reds
from verdigris.core.test_ids import split_id
from verdigris.core.turn_events import denial_event, next_aside
from verdigris.core.value import replace
from verdigris.storage.paths import canonical
from verdigris.turns.aside import belongs, lay_on, set_aside
from verdigris.turns.claim_check import ALL_SOURCE, Claimed, claim_within, own_view, provable
from verdigris.turns.next_move import following_move
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from verdigris.core.state import Red, Turn, WorktreeState
    from verdigris.storage.project import Project

_GLOB = frozenset("*?[")


def claim(project: Project, tests: Sequence[str], targets: Sequence[str], *, cwd: Path) -> Claimed | Deny:
    """`tests`: ids, functions, files or bare names of reds; none stands for those that this change brought.

    No `targets` stands for all source.
    """
    with operation(project) as state:
        ids = _claimed_ids(project, state, tests, cwd)
        if isinstance(ids, Deny):
            ids = replace(ids, next=following_move(project, state))
            project.record(denial_event(ids, "claim"))
            return ids
        named = tuple(_target(project, spelling, cwd) for spelling in targets) or (ALL_SOURCE,)
        decision = claim_within(project, state, ids, named)
        if isinstance(decision, Deny):
            return decision
        return replace(_bring_edits_back(project, decision), **_new_targets(project, named))


def split_words(project: Project, words: Sequence[str], *, cwd: Path) -> tuple[list[str], list[str]]:
    """Which words of a claim name tests, and which name source."""
    reds = project.state().reds
    tests = [
        word for place, word in enumerate(words) if _names_a_test(project, reds, word, cwd, first=place == 0)
    ]
    return tests, [word for word in words if word not in tests]


def _names_a_test(project: Project, reds: Mapping[str, Red], word: str, cwd: Path, *, first: bool) -> bool:
    """An unknown word is a test if it stands first, as a slug may; else it is a new path."""
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
        implied = implied_claim(own_view(project, state))
        if isinstance(implied, Deny):
            return implied
        reds = provable(project, implied.claims, project.workspace.snapshot())
        return tuple(red.test_id for red in reds)
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
    """The classes of the files that the target holds; an empty target counts as source."""
    tree = project.workspace.snapshot()
    held = {
        project.classify(entry.path) for entry in project.workspace.files(tree) if covers(target, entry.path)
    }
    return frozenset(held) or frozenset({PathClass.SOURCE})


def _bring_edits_back(project: Project, claimed: Claimed) -> Claimed:
    """Edits that a test-bug or `tdd aside` took out come back once a red of theirs is proven without them."""
    restored: list[str] = []
    held_back: list[str] = []
    state = project.state()
    tests = {test_id: split_id(state.claims[test_id].native_id).path for test_id in claimed.test_ids}
    for laid in state.aside.values():
        if not belongs(project, laid, tests, claimed.targets):
            continue
        match lay_on(project, laid):
            case Deny():
                held_back.append(laid.id)
            case paths:
                restored.extend(paths)
    return replace(claimed, restored=tuple(restored), held_back=tuple(held_back))


def continue_turn(
    project: Project, state: WorktreeState, turn: Turn, tree: str, reds: dict[str, int], below: Sequence[str]
) -> LayingAside | None:
    """Continues a turn under which HEAD moved, with the claims that are red on the new start.

    Claims that pass there, or are not there, are given up. With the last of them the turn ends, as its edits
    have nothing to advance. Returns what is then set aside.
    """
    from verdigris.checks.foundation import prepare

    if reds:
        project.record(
            Resumed(turn=turn.id, reds=reds, foundation=prepare(project, below), founded=time.time_ns()),
            sync=True,
        )
        return None
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
    return set_aside(project, intent)
