"""Judges the implementor's edits: claims the tester's reds, and settles."""

from __future__ import annotations

from collections.abc import Collection

from verdigris.checks.observation import difference
from verdigris.checks.verdict_checks import find_concerns
from verdigris.core.actions import Deny
from verdigris.core.languages import STUB_MARK
from verdigris.core.paths import PathClass
from verdigris.core.state import Red
from verdigris.drivers.commits import flat
from verdigris.drivers.edits import Bad, Seen, StepRules, forbid, refuse, settle_edits, write_changes
from verdigris.languages.registry import reader_of
from verdigris.models.roles.check import EditPlan
from verdigris.storage.project import Project, texts_at
from verdigris.turns.claim import claim
from verdigris.turns.test import run_tests


def open_reds(project: Project, left: Collection[str]) -> tuple[Red, ...]:
    """The tester's reds (`left`) that are still red on the present tree.

    If the log has no run on that tree, runs the suite. Tests that failed before are not included.
    """
    tree = project.workspace.snapshot()
    if not _current(project, tree):
        run_tests(project, (), cwd=project.root)
    return tuple(red for red in _current(project, tree) if flat(red.test_id) in left)


def _current(project: Project, tree: str) -> tuple[Red, ...]:
    reds = (red for red in project.state().valid_reds if red.tree == tree)
    return tuple(sorted(reds, key=lambda red: red.test_id))


def judge_implementation(
    project: Project, rules: StepRules, brief: str, plan: EditPlan, left: Collection[str], seen: Seen
) -> Bad | None:
    """None: accepted. With one strike, refused edits have been set aside already."""
    reds = open_reds(project, left)
    if not reds:
        return forbid("no test is red any more, so nothing may be implemented")
    classes = {path: project.classify(path) for path in plan.changes}
    targets = [path for path, cls in classes.items() if cls in {PathClass.SOURCE, PathClass.OTHER}]
    if frozen := [path for path in classes if path not in targets]:
        return forbid(f"{frozen[0]} is of class {classes[frozen[0]]}, which the implementor leaves as it is")
    for red in reds:
        claimed = claim(project, [red.test_id], targets, cwd=project.root)
        if isinstance(claimed, Deny):
            return refuse(claimed)
    return write_changes(project, plan.changes) or judge_implemented(project, rules, brief, seen)


def judge_implemented(project: Project, rules: StepRules, brief: str, seen: Seen) -> Bad | None:
    """Judges the present tree in the green phase."""
    turn = project.state().turn
    start = turn.tree if turn is not None else project.workspace.snapshot()
    if stub := _forbid_left_stub(project, start):
        return stub
    lookup = find_answer_lookup(project, brief, start) if rules.expected_literals == "block" else ""
    return forbid(lookup) if lookup else settle_edits(project, seen)


def _forbid_left_stub(project: Project, start: str) -> Bad | None:
    """The stub of a blocked test may stay; at least one of the others has to go."""
    tree = project.workspace.snapshot()
    paths = [c.path for c in difference(project, start, tree).source if not c.deleted]
    before, after = (_marked_lines(project, at, paths) for at in (start, tree))
    if not after or (project.state().blocked and len(after) < len(before)):
        return None
    path, number, line = after[0]
    return forbid(
        f"{path}:{number} still says {STUB_MARK}: `{line.strip()}`."
        " Put the real body there and remove the marker"
    )


def _marked_lines(project: Project, tree: str, paths: list[str]) -> list[tuple[str, int, str]]:
    return [
        (path, number, line)
        for path, text in texts_at(project, tree, paths).items()
        for number, line in enumerate(text.splitlines(), 1)
        if STUB_MARK in line
    ]


def find_answer_lookup(project: Project, brief: str, start: str) -> str:
    """A sentence about source that looks up the tests' expected values; empty if there is none.

    A table of the tests' answers counts. A constant on its own does not, nor does a word that selects how to
    handle the other inputs, nor words that the brief itself names.
    """
    tree = project.workspace.snapshot()
    edits = difference(project, start, tree)
    # Elsewhere a copied value is noted, and nobody can tell a table from a constant.
    paths = {c.path for c in edits.source if reader_of(c.path).source.tells_answer_tables}
    after = texts_at(project, tree, paths)
    for concern in find_concerns(project, start, tree, edits) if paths else ():
        words, known = concern.literals, concern.kind == "expected-literals" and concern.path in paths
        spoken = words and all(word in brief for word in words) and "compared" not in concern.what
        if known and not (concern.constant or concern.option or spoken):
            line = (after.get(concern.path, "").splitlines() or [""])[concern.line - 1 : concern.line]
            return (
                f"{concern.path}:{concern.line} looks up what the tests expect ({concern.what}):"
                f" `{''.join(line).strip()}`. Write code that works the answer out"
            )
    return ""
