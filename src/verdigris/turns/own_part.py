"""What of an open turn is the acting agent's, where others have claims in it: claims, source, and a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.observation import difference, is_layout
from verdigris.core.actions import Allow, Deny, FileWrite, Write
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.policy.actors import claimers, deny_source, is_only_others, joined_claims
from verdigris.core.policy.next_move import owners
from verdigris.core.test_ids import shell_words
from verdigris.core.turn_events import joining_events
from verdigris.core.value import replace
from verdigris.execution.rooms import possible
from verdigris.storage.project import Project, TreeView
from verdigris.turns.claim_check import claims_by, fellows
from verdigris.turns.next_move import following_move
from verdigris.turns.tripwire.authors import edits_since

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verdigris.core.state import Turn, WorktreeState


def own_part(project: Project, state: WorktreeState) -> WorktreeState:
    """The state with those claims alone that the acting agent may settle; a person may settle all."""
    return replace(state, claims={claim.test_id: claim for claim in claims_by(project, state)})


def without_others(project: Project, part: WorktreeState, turn: Turn) -> Project:
    """The project as a tree without the source that only other agents' claims cover, as the turn found it."""
    own, every = part.claims.values(), project.state().claims.values()
    if len(own) == len(every):
        return project
    tree = project.workspace.snapshot()
    changed = (change.path for change in difference(project, turn.tree, tree).source)
    apart = [path for path in changed if is_only_others(path, own, every)]
    if not apart:
        return project
    return replace(project, view=TreeView(project.workspace.graft(tree, turn.tree, apart), tree))


def join_edits(project: Project, state: WorktreeState, turn: Turn) -> Deny | None:
    """Edited source that no target covers joins the claims of whoever wrote it.

    Refused where claims are strict, where nothing is the acting agent's to settle, and where an agent without
    a claim for it wrote it.
    """
    part = own_part(project, state)
    if not part.claims:
        return Deny(
            "others-claim",
            "The open turn is another agent's: its claims are not yours to settle.",
            following_move(project, state),
        )
    if without_others(project, part, turn) is not project and not possible(project).ok:
        wait = (
            "wait until the other agents of this turn have stopped: without a sandbox it is judged as a whole"
        )
        return Deny("others-claim", "Other agents have source in this turn.", wait)
    edits = difference(project, turn.tree, project.workspace.snapshot()).source
    claims = state.claims.values()
    source = [c.path for c in edits if owners(claims, c.path) or not is_layout(project, c)]
    by = edits_since(project, 0, turn.id) if claimers(state) else {}
    if denial := _deny_foreign(project, state, source, by):
        return denial
    match decide(
        state, Write(tuple(FileWrite(p, PathClass.SOURCE, None, None) for p in source)), project.settings
    ):
        case Deny() as no:
            return no
        case Allow(joins=paths):
            others = fellows(project) if by else frozenset[str]()
            authors = {p: joined_claims(claims, by[p], others) for p in paths if p in by}
            joins = (joining_events(authors.get(p) or part.claims.values(), (p,)) for p in paths)
            project.record(*(event for events in joins for event in events))
    return None


def _deny_foreign(
    project: Project, state: WorktreeState, source: Iterable[str], by: dict[str, frozenset[str]]
) -> Deny | None:
    """Source of an agent that has no claim for it is not accepted silently by another's claim."""
    if not project.context:
        return None
    others = fellows(project)
    foreign = [path for path in source if path in by and deny_source(state, path, by[path], others)]
    if not foreign:
        return None
    first = next(iter(own_part(project, state).claims))
    return Deny(
        "others-source",
        f"Another agent wrote {', '.join(foreign)}, and has no claim for it in this turn.",
        f"undo that, or take it into your own turn: `tdd claim {shell_words(first, *foreign)}`",
    )


def concerns_about_authors(project: Project, state: WorktreeState, turn: Turn) -> Iterator[str]:
    """Source that an agent without the claim may have written."""
    if not claimers(state):
        return
    for path, by in sorted(edits_since(project, 0, turn.id).items()):
        claimed_by = {claim.by for claim in state.claims.values() if owners((claim,), path)}
        if claimed_by and not by <= claimed_by | {""}:
            yield f"{path}: another agent's call was open when it was written"
