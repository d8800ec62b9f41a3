"""Acts on what the tripwire found: puts it back, or claims for it in the name of whoever wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.observation import difference, is_layout
from verdigris.checks.source_edits import home_of
from verdigris.core.actions import Deny, Target
from verdigris.core.events import Edit
from verdigris.core.paths import PathClass
from verdigris.core.policy.actors import deny_source, joined_claims
from verdigris.core.policy.cycle import deny_spec, deny_write
from verdigris.core.policy.next_move import implied_claim, owners
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.test_ids import shell_words, some
from verdigris.core.turn_events import joining_events
from verdigris.core.value import replace
from verdigris.storage.calls.callers import UNKNOWN
from verdigris.turns import tripwire as words
from verdigris.turns.claim_check import claim_within, fellows, lacks_red, own_view, provable
from verdigris.turns.rollback import put_back
from verdigris.turns.tripwire import Tripped
from verdigris.turns.tripwire.authors import Shared, in_the_name_of, or_anybody, several
from verdigris.turns.tripwire.repositories import close_repositories
from verdigris.turns.tripwire.strays import Strays, shares_turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.storage.project import Project
    from verdigris.storage.stat_cache import Row

CALLED = "changed by an agent's call"


def undo_strays(project: Project, shared: Shared, tree: str, noted: Mapping[str, frozenset[str]]) -> Tripped:
    """Puts back what is judged, or claims for it in the name of whoever wrote it; tells those it concerns."""
    done = Tripped()
    for stray, by in shared.judged:
        if stray.link:
            put_back(project, stray.home, stray.paths, why=CALLED, by=by)
            done = _with_text(project, done, by, words.link_put_back_text(stray.paths[0]), stray.paths)
            continue
        if stray.cls is PathClass.SOURCE and project.state().phase is Phase.GREEN:
            done = _share_source(project, stray, by, done, noted)
            continue
        claimed = _claim_for_edit(project, stray, tree, by)
        if isinstance(claimed, str):
            text = words.claims_text(stray.paths, claimed)
            done = replace(_with_text(project, done, by, text), claimed=claimed)
            continue
        home = stray.home
        if stray.cls in {PathClass.TEST, PathClass.SOURCE}:
            home = home_of(project, home, tree, stray.paths, source=stray.cls is PathClass.SOURCE)
        put_back(project, home, stray.paths, why=CALLED, by=by)
        text = words.put_back_text(stray.paths, stray.cls, claimed)
        done = _with_text(project, done, by, text, stray.paths)
    return done


def undo_settings(project: Project, rows: Iterable[Row], done: Tripped) -> Tripped:
    """Puts back what an agent's call had a repository inside the worktree run for a person."""
    gits = close_repositories(project, rows, by_agent=True)
    for git in gits:
        done = _with_text(project, done, (project.context,), words.repository_text(git), (git,))
    return done


def _share_source(
    project: Project, stray: Strays, by: frozenset[str], done: Tripped, noted: Mapping[str, frozenset[str]]
) -> Tripped:
    """Source in a turn that several agents share: it joins its authors' claims, or goes back."""
    state, others = project.state(), fellows(project)
    denials = {path: deny_source(state, path, or_anybody(by), others) for path in stray.paths}
    kept = tuple(path for path, denial in denials.items() if denial is None)
    if kept:
        new = tuple(path for path in kept if not owners(state.claims.values(), path))
        joins = joining_events(joined_claims(state.claims.values(), by, others), new)
        unknown = tuple(path for path in kept if noted.get(path) != by)
        edit = (Edit(paths=unknown, by=tuple(sorted(by))),) if unknown else ()
        project.record(*edit, *joins)
    for path, denial in denials.items():
        if denial is not None:
            put_back(project, stray.home, (path,), why=CALLED, by=by)
            text = words.put_back_text((path,), PathClass.OTHER, denial)
            done = _with_text(project, done, by, text, (path,))
    return done


def _with_text(
    project: Project, done: Tripped, by: Iterable[str], text: str, gone: tuple[str, ...] = ()
) -> Tripped:
    who = {project.context if context == UNKNOWN else context for context in by}
    told = {**done.told, **{context: (*done.told.get(context, ()), text) for context in who}}
    return replace(done, put_back=done.put_back + gone, told=told)


def _claim_for_edit(project: Project, stray: Strays, tree: str, by: frozenset[str]) -> str | Deny | None:
    """Source written in red claims the reds of this change that were seen on the tree without it."""
    state = project.state()
    cycle = state.open_cycle
    if cycle is not None and stray.paths == (cycle.spec_path,):
        return deny_spec(cycle)
    if cycle is not None and state.phase in {Phase.PLAN, Phase.HELD}:
        return deny_write(cycle, stray.paths[0])
    if stray.cls is not PathClass.SOURCE or state.phase is not Phase.RED:
        return None
    if denial := several(by):
        return denial
    acts = in_the_name_of(project, *by)
    start = project.workspace.graft(tree, stray.home, stray.paths)
    decision = implied_claim(own_view(acts, state), stray.paths[0])
    if lacks_red(project, decision, start):
        from verdigris.turns.implied_reds import see_reds

        unseen = see_reds(acts, state, start, tree, stray.paths)
        state = project.state()
        decision = unseen or implied_claim(own_view(acts, state), stray.paths[0])
    if isinstance(decision, Deny):
        return decision
    ids = [red.test_id for red in provable(project, decision.claims, start)]
    targets = tuple(Target(path, frozenset({PathClass.SOURCE})) for path in stray.paths)
    claimed = claim_within(acts, state, ids, targets, manner="implied", tree=start)
    if isinstance(claimed, Deny):
        return claimed
    acts.record(Edit(paths=stray.paths))
    return some(claimed.test_ids)


def join_edits(project: Project, done: Tripped) -> Tripped:
    """In green, source outside the targets joins the open claims, or is refused where claims are strict."""
    state = project.state()
    if state.phase is not Phase.GREEN or state.turn is None or state.turn.suspended:
        return done
    if shares_turn(project, state):
        return done  # by `_share_source`, and by the settlement
    tree = project.workspace.snapshot()
    source = difference(project, state.turn.tree, tree).source
    paths = tuple(
        change.path
        for change in source
        if not owners(state.claims.values(), change.path) and not is_layout(project, change)
    )
    if not paths:
        return done
    if project.settings.claims != "strict":
        project.record(*joining_events(state.claims.values(), paths))
        return done
    put_back(project, state.turn.tree, paths, why=CALLED, by=(project.context,))
    added = shell_words("tdd", "claim", next(iter(state.claims)), paths[0])
    denial = Deny(
        "outside-targets",
        f"It is outside the targets of the open claims (`claims: strict`); `{added}` adds it.",
        f"`{added}`",
    )
    return _with_text(
        project, done, (project.context,), words.put_back_text(paths, PathClass.SOURCE, denial), paths
    )


def stays(project: Project, state: WorktreeState, stray: Strays, path: str, by: frozenset[str]) -> bool:
    """Whether source in a shared turn stays as one of these agents wrote it."""
    if stray.cls is not PathClass.SOURCE or stray.link or state.phase is not Phase.GREEN:
        return False
    return deny_source(state, path, or_anybody(by), fellows(project)) is None
