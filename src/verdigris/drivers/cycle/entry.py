"""Decides whether a cycle may start on a spec: the spec and its parent are active, and the tree is clean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from verdigris.core.actions import Deny
from verdigris.core.policy.cycle import next_step
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.value import value
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
class CycleEntry:
    """What a cycle starts on."""

    spec: Spec
    branch: str
    commit: str


def decide_entry(project: Project, state: WorktreeState, spelling: str, *, cwd: Path) -> CycleEntry | Deny:
    """Returns why no cycle may start, with the next move, or what it starts on."""
    if state.open_cycle is not None:
        open_ = state.open_cycle
        why = (
            f"The cycle {open_.id} on {open_.spec_id} is open here (stage {open_.stage}, branch {open_.on})."
        )
        return Deny("cycle-open", why, f"{next_step(open_)}; or start in another worktree")
    if state.phase is not Phase.RED:
        return Deny("cycle-phase", f"The {state.phase} phase is open.", "end it first: `tdd status` says how")
    now, unfinished = head(project.repo), in_progress(project.repo)
    if now.branch is None or now.commit is None:
        why = "A cycle commits to a branch, and there is none with a commit."
        return Deny("cycle-branch", why, "git switch -c NAME")
    if unfinished is not None:
        why = f"A {unfinished} is in progress."
        return Deny("git-in-progress", why, f"finish it, or `git {unfinished} --abort`")
    path = canonical(project.root, spelling, cwd=cwd).path
    if path is None:
        why = f"{spelling} lies outside the repository."
        return Deny("cycle-spec", why, "copy the spec into it, and commit")
    spec = read_at(project, path)
    if spec is None:
        why = f"There is no spec {spelling}."
        return Deny("cycle-spec", why, "`tdd spec new TITLE` writes one to fill in")
    return (
        _deny_spec(project, spec)
        or _deny_parent(project, spec)
        or _deny_tree(spec, tuple(dirty_paths(project)))
        or _deny_untrusted(project, spec)
        or CycleEntry(spec, now.branch, now.commit)
    )


def _deny_spec(project: Project, spec: Spec) -> Deny | None:
    if spec.status == SUPERSEDED:
        return Deny("cycle-spec", f"{spec.id} is superseded.", "start on the spec that took its place")
    if not spec.scenarios:
        why = f"{spec.path} has no scenario, so nothing says what the tests have to show."
        fix = f"add at least one below a requirement:\n{EXAMPLE}\nthen `tdd spec lint {spec.path}`"
        return Deny("cycle-spec", why, fix)
    text = (project.root / spec.path).read_text("utf-8", "replace")
    if errors := [fault.what for fault in lint_spec(spec, text) if fault.level == "error"]:
        return Deny("cycle-spec", f"{spec.path}: {errors[0]}", f"`tdd spec lint {spec.path}` lists all")
    if spec.status != ACTIVE:
        why = f"{spec.id} has the status {spec.status}: only an active spec is a fixed target."
        return Deny("cycle-spec", why, _ask_to_activate(spec))
    return None


def _ask_to_activate(spec: Spec) -> str:
    return f"a person says that it is: `tdd spec activate {spec.path}`, then commit it"


def _deny_parent(project: Project, spec: Spec) -> Deny | None:
    named = (str(spec.metadata.get(key) or "").strip() for key in _PARENT)
    name = next((name for name in named if name.casefold() not in _NONE), "")
    parent = _find_spec(project, name) if name else None
    if name and parent is None:
        why = f"{spec.path} belongs to {name}, which no file of this repository is."
        return Deny("cycle-parent", why, f"add it, or correct `prd` in {spec.path}")
    if parent is not None and parent.status != ACTIVE:
        why = f"{name} ({parent.path}) has the status {parent.status}, and has to be active first."
        return Deny("cycle-parent", why, _ask_to_activate(parent))
    return None


def _deny_tree(spec: Spec, dirty: tuple[str, ...]) -> Deny | None:
    """`dirty`: paths that differ from HEAD."""
    if spec.path in dirty:
        why = f"{spec.path} has changes that are not committed: nobody could find the target again."
        return Deny("cycle-dirty", why, f"git add {spec.path} && git commit")
    if dirty:
        more = f" and {len(dirty) - 1} more" if len(dirty) > 1 else ""
        why = f"The tree has changes that are not committed: {dirty[0]}{more}."
        return Deny("cycle-dirty", why, "commit or stash them, then start again")
    return None


def _deny_untrusted(project: Project, spec: Spec) -> Deny | None:
    """Refuses a spec that no person activated: an agent could write `status: active` into a file."""
    if project.actor.role == "person" or _is_activated(project, spec):
        return None
    return Deny(
        "cycle-trust",
        f"No person has activated {spec.path} as it is now, by this repository's log.",
        f"ask the person to run `tdd spec activate {spec.path}`, or to start the cycle",
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
