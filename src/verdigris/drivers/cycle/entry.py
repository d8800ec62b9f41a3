"""Decides whether a cycle may start on a spec: the spec and its parent are active, and the tree is clean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from verdigris.core.actions import Deny
from verdigris.core.policy.cycle import next_step
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.value import replace, value
from verdigris.drivers.commits import list_uncommitted
from verdigris.drivers.specs.spec import ACTIVE, SUPERSEDED, Spec, read_spec
from verdigris.drivers.specs.spec_lint import EXAMPLE, lint_spec
from verdigris.storage import durable_files
from verdigris.storage.git import git
from verdigris.storage.paths import canonical
from verdigris.storage.project import Project
from verdigris.storage.repository import head, in_progress

_PARENT = ("prd", "parent", "parent_prd")
"""Keys of the front matter that name what a spec belongs to."""
_NONE = frozenset({"", "none", "null", "-", "n/a"})


@value
class EntryFacts:
    """What is known of a spec and its repository before a cycle."""

    spec: Spec | None
    spelling: str
    inside: bool = True
    """The spec lies in the repository."""
    branch: str | None = None
    commit: str | None = None
    unfinished: str | None = None
    """A merge, rebase … that git has not finished."""
    dirty: tuple[str, ...] = ()
    """Paths that differ from HEAD."""
    errors: tuple[str, ...] = ()
    """Errors of `tdd spec lint`."""
    parent: str = ""
    """The id of the parent that its front matter names."""
    parent_spec: Spec | None = None
    is_trusted: bool = True
    """A person starts the cycle, or activated this text with `tdd spec activate`."""


def decide_entry(state: WorktreeState, facts: EntryFacts) -> Deny | None:
    """Returns why no cycle may start, with the next move; None if one may."""
    if state.open_cycle is not None:
        open_ = state.open_cycle
        why = (
            f"The cycle {open_.id} on {open_.spec_id} is open here (stage {open_.stage}, branch {open_.on})."
        )
        return Deny("cycle-open", why, f"{next_step(open_)}; or start in another worktree")
    if state.phase is not Phase.RED:
        return Deny("cycle-phase", f"The {state.phase} phase is open.", "end it first: `tdd status` says how")
    if facts.branch is None or facts.commit is None:
        return Deny(
            "cycle-branch",
            "A cycle commits to a branch, and there is none with a commit.",
            "git switch -c NAME",
        )
    if facts.unfinished is not None:
        why = f"A {facts.unfinished} is in progress."
        return Deny("git-in-progress", why, f"finish it, or `git {facts.unfinished} --abort`")
    return _decide_spec(facts) or _decide_parent(facts) or _decide_tree(facts) or _decide_trust(facts)


def _decide_spec(facts: EntryFacts) -> Deny | None:
    spec = facts.spec
    if not facts.inside:
        return Deny(
            "cycle-spec",
            f"{facts.spelling} lies outside the repository.",
            "copy the spec into it, and commit",
        )
    if spec is None:
        return Deny(
            "cycle-spec", f"There is no spec {facts.spelling}.", "`tdd spec new TITLE` writes one to fill in"
        )
    if spec.status == SUPERSEDED:
        return Deny("cycle-spec", f"{spec.id} is superseded.", "start on the spec that took its place")
    if not spec.scenarios:
        return Deny(
            "cycle-spec",
            f"{spec.path} has no scenario, so nothing says what the tests have to show.",
            f"add at least one below a requirement:\n{EXAMPLE}\nthen `tdd spec lint {spec.path}`",
        )
    if facts.errors:
        return Deny("cycle-spec", f"{spec.path}: {facts.errors[0]}", f"`tdd spec lint {spec.path}` lists all")
    if spec.status != ACTIVE:
        return Deny(
            "cycle-spec",
            f"{spec.id} has the status {spec.status}: only an active spec is a fixed target.",
            f"a person says that it is: `tdd spec activate {spec.path}`, then commit it",
        )
    return None


def _decide_parent(facts: EntryFacts) -> Deny | None:
    if not facts.parent:
        return None
    parent = facts.parent_spec
    named = facts.spec.path if facts.spec else facts.spelling
    if parent is None:
        return Deny(
            "cycle-parent",
            f"{named} belongs to {facts.parent}, which no file of this repository is.",
            f"add it, or correct `prd` in {named}",
        )
    if parent.status != ACTIVE:
        return Deny(
            "cycle-parent",
            f"{facts.parent} ({parent.path}) has the status {parent.status}, and has to be active first.",
            f"a person says that it is: `tdd spec activate {parent.path}`, then commit it",
        )
    return None


def _decide_tree(facts: EntryFacts) -> Deny | None:
    if facts.spec is not None and facts.spec.path in facts.dirty:
        why = f"{facts.spec.path} has changes that are not committed: nobody could find the target again."
        return Deny("cycle-dirty", why, f"git add {facts.spec.path} && git commit")
    if facts.dirty:
        more = f" and {len(facts.dirty) - 1} more" if len(facts.dirty) > 1 else ""
        why = f"The tree has changes that are not committed: {facts.dirty[0]}{more}."
        return Deny("cycle-dirty", why, "commit or stash them, then start again")
    return None


def _decide_trust(facts: EntryFacts) -> Deny | None:
    """Refuses a spec that no person activated: an agent could write `status: active` into a file."""
    if facts.is_trusted or facts.spec is None:
        return None
    return Deny(
        "cycle-trust",
        f"No person has activated {facts.spec.path} as it is now, by this repository's log.",
        f"ask the person to run `tdd spec activate {facts.spec.path}`, or to start the cycle",
    )


# -- gathering ----------------------------------------------------------------------------


def gather_entry(project: Project, spelling: str, *, cwd: Path) -> EntryFacts:
    path = canonical(project.root, spelling, cwd=cwd).path
    now = head(project.repo)
    facts = EntryFacts(
        None,
        spelling,
        inside=path is not None,
        branch=now.branch,
        commit=now.commit,
        unfinished=in_progress(project.repo),
        dirty=tuple(dirty_paths(project)),
    )
    spec = None if path is None else read_at(project, path)
    if spec is None:
        return facts
    text = (project.root / spec.path).read_text("utf-8", "replace")
    errors = tuple(fault.what for fault in lint_spec(spec, text) if fault.level == "error")
    named = (str(spec.metadata.get(key) or "").strip() for key in _PARENT)
    parent = next((name for name in named if name.casefold() not in _NONE), "")
    return replace(
        facts,
        spec=spec,
        errors=errors,
        parent=parent,
        parent_spec=_find_spec(project, parent) if parent else None,
        is_trusted=project.actor.role == "person" or _is_activated(project, spec),
    )


def _is_activated(project: Project, spec: Spec) -> bool:
    """Whether the newest event on this file in the log is that a person activated this text."""
    for record in project.log.records(reverse=True):
        if record.type == "spec_status_set" and record.data["spec_path"] == spec.path:
            return (record.data["spec_hash"], record.data["status"]) == (spec.digest, ACTIVE)
    return False


def read_at(project: Project, path: str) -> Spec | None:
    """Returns the spec as it is in the worktree."""
    try:
        return read_spec(path, (project.root / path).read_bytes())
    except OSError:
        return None


def dirty_paths(project: Project) -> Iterator[str]:
    """Yields files that differ from HEAD; of our own folder, only files that git tracks."""
    for state, path in list_uncommitted(project.root):
        if state != "??" or not path.startswith(f"{durable_files.TDD_FOLDER}/"):
            yield path


def _find_spec(project: Project, wanted: str) -> Spec | None:
    """Finds a spec by its id; a file whose name begins with it is tried first."""
    listed = git(project.root, "ls-files", "-z").out.split("\0")
    paths = [path for path in listed if path.endswith((".md", ".feature"))]
    name = wanted.casefold()
    paths.sort(key=lambda path: not path.rpartition("/")[2].casefold().startswith(name))
    for path in paths:
        found = read_at(project, path)
        if found is not None and found.id.casefold() == name:
            return found
    return None
