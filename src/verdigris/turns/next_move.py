"""Gathers what the tree shows, and names the next move: the same for all that print one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from verdigris.checks.observation import Candidate, difference, find_unclaimed, is_as_seen, lost_reds
from verdigris.core.actions import Deny, Unclaimed
from verdigris.core.paths import PathClass
from verdigris.core.policy.actors import is_only_others
from verdigris.core.policy.next_move import Asker, TreeFacts, next_move, unclassed_tests, without_tests
from verdigris.core.records import AGENT
from verdigris.core.report import Status
from verdigris.core.state import Phase, Refactor, WorktreeState
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace
from verdigris.core.verdict.redness import UNDECLARED
from verdigris.storage.calls.open_calls import is_any_left
from verdigris.storage.project import Project, texts_at
from verdigris.storage.repository import in_progress
from verdigris.turns.claim_check import claimable, claims_by, fellows, last_status, own_view

SEARCH_SECONDS = 0.1
_CONFIGURING = (".ini", ".cfg", ".toml")
STAGED, EDITED, DELETED = frozenset("MTA"), frozenset("MT"), "D"  # letters of `git status`


def following_move(
    project: Project, state: WorktreeState, tree: str | None = None, *, session: str = "", wait: str = ""
) -> str:
    """The next move, by the state and by what the tree and git show: the same for all that print one.

    `session`: of the agent that asks, if its environment does not name it. `wait`: as for an `Asker`.
    """
    if not is_any_left(str(project.repo.private)) and not is_as_seen(project, state):
        from verdigris.checks.ground import follow_git

        state = replace(state, ground=follow_git(project, state))
    return next_on_ground(project, state, tree or project.workspace.snapshot(), session=session, wait=wait)


def next_on_ground(
    project: Project, state: WorktreeState, tree: str, *, session: str = "", wait: str = ""
) -> str:
    """The next move for an operation that has left the tree as it was when the operation followed git."""
    state = own_view(project, as_it_stands(project, state, tree), session)
    asker = replace(asker_of(project, state, session), wait=wait)
    facts = facts_of(project, state, tree)
    if asker.is_agent and project.settings.owed == "settle":
        facts = replace(facts, owed=next((debt.payment for debt in state.owed.values()), ""))
    return next_move(state, facts, asker)


def asker_of(project: Project, state: WorktreeState, session: str = "") -> Asker:
    if project.actor.role != AGENT:
        return Asker()
    others = fellows(project, session) - {project.context} if state.claims else frozenset[str]()
    return Asker(is_agent=True, context=project.context, fellows=others)


def as_it_stands(project: Project, state: WorktreeState, tree: str) -> WorktreeState:
    """The state without what is gone: reds, reports, debts, unloaded files; the next run records it."""
    if state.owed:
        from verdigris.checks.debts import find_unpaid

        state = replace(state, owed=find_unpaid(project, state, tree))
    gone = lost_reds(project, state, tree) if state.reds else ()
    bugs = state.test_bugs
    if bugs:
        from verdigris.checks.test_reports import without_ended

        bugs = without_ended(project, bugs, tree)
    there = project.workspace.entries(tree, state.unloaded) if state.unloaded else {}
    if not gone and (len(bugs), len(there)) == (len(state.test_bugs), len(state.unloaded)):
        return state
    return replace(
        state,
        reds={i: red for i, red in state.reds.items() if i not in gone},
        test_bugs=bugs,
        unloaded={path: seen for path, seen in state.unloaded.items() if path in there},
    )


def facts_of(project: Project, state: WorktreeState, tree: str, *, most: int = 1) -> TreeFacts:
    """`state`: as the asking agent sees it. `most`: edits to find."""
    facts = _facts_by_phase(project, state, tree, most)
    return replace(facts, stuck=_is_stuck(project, facts.in_progress)) if facts.in_progress else facts


def _is_stuck(project: Project, unfinished: str) -> bool:
    """Whether git refuses to abort it: it does for a file that is staged, and was edited or written since."""
    if unfinished == "rebase":
        return False
    from verdigris.storage.git import ask_users_git

    options = ("--porcelain", "-z", "--no-renames", "--untracked-files=no")
    return any(
        (line[0] in STAGED and line[1] in EDITED)
        or (line[0] == DELETED and (project.root / line[3:]).exists())
        for line in ask_users_git(project.root, "status", *options).split("\0")
        if line
    )


def _facts_by_phase(project: Project, state: WorktreeState, tree: str, most: int) -> TreeFacts:
    unfinished = in_progress(project.repo)
    if state.phase is Phase.GREEN and state.turn is not None:
        drift = difference(project, state.turn.tree, tree).oracle
        since = difference(project, state.turn.judged or state.turn.tree, tree).source
        own, every = claims_by(project, state), state.claims.values()
        edited = any(not is_only_others(c.path, own, every) for c in since)
        failed = any(red.tree == tree for i, red in state.reds.items() if i in state.claims)
        returned = tree == state.turn.returned != state.turn.judged
        return TreeFacts(unfinished, drift=drift, edited=edited and not failed, returned=returned)
    if state.refactor is not None:
        frozen, lost = _unkept(project, state.refactor, tree, state.revised)
        return TreeFacts(unfinished, drift=frozen, losses=lost, edited=state.refactor.judged != tree)
    if state.phase is not Phase.RED or state.open_cycle is not None:
        return TreeFacts(unfinished)
    ground = state.ground or tree
    changes = project.workspace.changes(ground, tree) if ground != tree else ()
    touched = {project.classify(change.path) for change in changes}
    unclassed = tuple(p for p in unclassed_tests(state) if project.classify(p) is not PathClass.TEST)
    found: tuple[Unclaimed, ...] = ()
    if PathClass.SOURCE in touched:
        found = find_unclaimed(project, ground, tree, limit=most + len(unclassed))
    edits = without_tests(found, state)
    if unfinished:
        return TreeFacts(unfinished, unclaimed=edits[:most])
    facts = TreeFacts(unclassed=unclassed, unclaimed=edits[:most], hindrance=_cure(project, state, tree))
    if unclassed or edits:
        return facts
    losses: tuple[str, ...] = ()
    if touched & {PathClass.SOURCE, PathClass.TEST}:
        from verdigris.checks.weakening import find_losses

        losses = find_losses(project, state, tree).blocking
    facts = replace(
        facts, losses=losses, unparsed=_unparsed_source(project, state, tree, search=bool(losses))
    )
    if state.test_bugs:
        from verdigris.checks.test_reports import revised_reports

        return replace(facts, revised=revised_reports(project, state.test_bugs.values(), tree))
    if losses:
        return facts
    if facts.unparsed:
        return replace(facts, silent=_is_silent(project, state, tree))
    loading = _loading_reds(project, state, tree)
    claim = claimable(project, loading, tree)
    if isinstance(claim, Deny) and (path := _test_without_module(project, loading)):
        return replace(facts, undeclared=path)
    return replace(facts, claimable=claim, **_unloaded(project, state, tree))


def _unkept(
    project: Project, begun: Refactor, tree: str, revised: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands in the way of a refactor's end, whatever its tests show."""
    edits = difference(project, begun.tree, tree)
    if not edits.oracle:
        return (), ()
    from verdigris.checks.refactor import find_unkept

    frozen, lost = find_unkept(Candidate(project, begun.tree, tree, edits), revised)
    return frozen, tuple(f"{loss.path}:{loss.line}: {loss.what}" for loss in lost)


def _cure(project: Project, state: WorktreeState, tree: str) -> str:
    """What lets the suite run; with reds and reports, only if no test would run on the tree as it is."""
    seen = state.hindrance
    if seen is None or not seen.blocks:
        return ""
    if state.test_bugs or state.valid_reds:
        return seen.cure if seen.silent and not difference(project, seen.tree, tree).protected else ""
    return seen.cure


def _test_without_module(project: Project, state: WorktreeState) -> str:
    """A test file of a stale red that imports a module which is gone: to run it shows nothing else."""
    from verdigris.checks.missing_stubs import missing_stubs

    paths = dict.fromkeys(split_id(red.native_id).path for red in state.brought_reds)
    return next((path for path in paths if any(stub.new for stub in missing_stubs(project, path))), "")


def _loading_reds(project: Project, state: WorktreeState, tree: str) -> WorktreeState:
    """The state without reds of files that did not load: to run those again shows nothing new."""
    idle = {path for path, seen in state.unloaded.items() if not difference(project, seen, tree).protected}
    reds = {i: red for i, red in state.reds.items() if split_id(red.native_id).path not in idle}
    return replace(state, reds=reds) if idle else state


def _unparsed_source(project: Project, state: WorktreeState, tree: str, *, search: bool) -> tuple[str, ...]:
    """Source that does not parse, though a test file imports it: those that did not load; and configuration.

    `search`: the other test files too, as far as that is quick.
    """
    tests = dict.fromkeys(state.unloaded)
    if search or state.test_bugs:
        paths = (entry.path for entry in project.workspace.files(tree))
        tests |= dict.fromkeys(path for path in paths if project.classify(path) is PathClass.TEST)
    if not tests:
        return ()
    from verdigris.checks.source_edits import imported_source
    from verdigris.languages.registry import reader_of

    ends = time.monotonic() + SEARCH_SECONDS
    needed: dict[str, None] = {}
    for path, imported in zip(tests, imported_source(project, tree, tests), strict=True):
        needed |= dict.fromkeys(sorted(imported))
        if path not in state.unloaded and time.monotonic() > ends:
            break
    texts = texts_at(project, tree, needed)
    unparsed = (path for path, text in texts.items() if not reader_of(path).tests.parses(path, text))
    return (*_unparsed_configuration(project, state, tree), *unparsed)


def _unparsed_configuration(project: Project, state: WorktreeState, tree: str) -> tuple[str, ...]:
    """Changed files of the runner's configuration that do not parse, so that it does not start."""
    if not state.ground:
        return ()
    changed = (path for path in difference(project, state.ground, tree).oracle if path.endswith(_CONFIGURING))
    return tuple(path for path, text in texts_at(project, tree, changed).items() if not _is_read(path, text))


def _is_read(path: str, text: str) -> bool:
    import configparser
    import tomllib

    try:
        if path.endswith(".toml"):
            tomllib.loads(text)
        else:
            configparser.RawConfigParser(strict=False, allow_no_value=True).read_string(text)
    except (ValueError, configparser.Error):
        return False
    return True


def _is_silent(project: Project, state: WorktreeState, tree: str) -> bool:
    """Whether the last run of all tests saw none run, and nothing has changed since."""
    seen = state.hindrance
    if seen is None or not (seen.whole and seen.silent):
        return False
    return not difference(project, seen.tree, tree).protected


def _unloaded(project: Project, state: WorktreeState, tree: str) -> dict[str, Any]:
    """What the last runs could not load, and which declarations would help."""
    new = [red for red in state.reds.values() if not red.valid and not red.known]
    if not state.unloaded and not new:
        return {} if state.reds else {"struck": _struck_tests(project, state)}
    if tests := unclassed_tests(state):
        return {"unloaded": tests[0], "touched": True}
    from verdigris.checks.missing_stubs import missing_stubs

    files = {entry.path for entry in project.workspace.files(tree)}
    unloaded = [path for path in state.unloaded if path in files]
    lacking = (split_id(red.native_id).path for red in new if red.why in UNDECLARED)
    lacks = (path for path in dict.fromkeys((*unloaded, *lacking)) if missing_stubs(project, path))
    if undeclared := next(lacks, ""):
        return {"undeclared": undeclared}
    own = set(difference(project, state.ground or tree, tree).oracle)
    first = next((path for path in unloaded if path in own), "")
    touched = bool(first) and bool(difference(project, state.unloaded[first], tree).protected)
    return {"unloaded": first, "touched": touched}


def _struck_tests(project: Project, state: WorktreeState) -> tuple[str, ...]:
    """The tests of the edits that the last strike set aside, unless somebody ran them since."""
    laid = next(reversed(list(state.aside.values())), None)
    if laid is None or laid.back_at_claim or not laid.paths:
        return ()
    there = (test_id for test_id in laid.test_ids if (project.root / split_id(test_id).path).exists())
    return tuple(test_id for test_id in there if last_status(project, test_id) != Status.PASS)
