"""A worktree of a driver's own, apart from the user's: where it lies, how it is made, what it borrows."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from verdigris.checks.observation import source_roots
from verdigris.core.errors import StorageError, UserError, VerdigrisError
from verdigris.core.events import HeldOut
from verdigris.core.records import Actor
from verdigris.core.settings import Stack
from verdigris.core.value import value
from verdigris.drivers.commits import list_uncommitted
from verdigris.execution.tools.interpreter import find_interpreter
from verdigris.languages.registry import language_named
from verdigris.storage.git import git
from verdigris.storage.project import Project, open_project
from verdigris.storage.repository import Repository, find_repository, head, linked_worktrees, resolve
from verdigris.turns.operation import operation

_ENVIRONMENTS = (".venv", "venv", "env")
_PACKAGES = "node_modules"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def worktree_path(home: Repository, driver: str, name: str) -> Path:
    """In the user's cache: below the tree, tools would find its files twice, and `.git` belongs to git."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    common = str(home.common_dir)
    folder = home.common_dir.parent.name if home.common_dir.name == ".git" else home.common_dir.name
    project = f"{_UNSAFE.sub('-', folder)}-{_short(common)}"
    safe = _UNSAFE.sub("-", name)
    own = safe if safe == name else f"{safe}-{_short(name)}"
    inside = Path("verdigris", driver, project, f"tdd-{own}")
    usual = Path(cache).expanduser() / inside
    if is_made(usual):
        return usual
    # A process with another cache folder may have made it, such as a scheduled job.
    same = (place for place in linked_worktrees(home) if place.parts[-4:] == inside.parts and is_made(place))
    return next(same, usual)


def _short(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:10]


def is_made(root: Path) -> bool:
    return (root / ".git").exists()


def make_worktree(home: Repository, driver: str, root: Path, branch: str, start: str) -> None:
    """Creates `branch` at `start` if it does not exist."""
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        in_place = ", or `machine: {sandbox: false}`" if driver == "machine" else ""
        raise StorageError(
            f"the {driver}'s worktree cannot be made in {root.parent}: {error.strerror}",
            hint=f"set XDG_CACHE_HOME to a folder that can be written{in_place}",
        ) from error
    git(home.root, "worktree", "prune")
    known = resolve(home, ref(branch))
    words = (str(root), branch) if known else ("-b", branch, str(root), start)
    said = git(home.root, "worktree", "add", "--quiet", *words)
    if not said.ok:
        raise UserError(
            f"the {driver}'s worktree could not be made: {said.text}",
            hint=f"`git worktree list` shows what is there; the branch would be {branch}",
        )


def current_branch(root: Path) -> str:
    """Empty if HEAD is detached."""
    return head(find_repository(root)).branch or ""


def ref(branch: str) -> str:
    """The full name: a tag or a file may have the same short one."""
    return f"refs/heads/{branch}"


def commit_of(root: Path, name: str) -> str:
    """The commit of HEAD, of a full name of a ref, or of this id; empty if it is not known without git."""
    if _COMMIT.fullmatch(name):
        return name
    is_ref = name == "HEAD" or name.startswith("refs/")
    return (resolve(find_repository(root), name) if is_ref else None) or ""


def list_branches(root: Path, names: str) -> Iterator[tuple[str, str]]:
    """The branch of this name and those below it, each with the folder in which it is checked out, if any."""
    listed = git(root, "for-each-ref", "--format=%(refname)%00%(worktreepath)", ref(names)).out
    for line in listed.splitlines():
        name, _, place = line.partition("\0")
        yield name.removeprefix(ref("")), place


def ancestor(root: Path, old: str, new: str) -> bool:
    """Whether `new` has the commit `old`; each is a commit's id, a full name of a ref, or HEAD."""
    return is_same_commit(root, old, new) or git(root, "merge-base", "--is-ancestor", old, new).ok


def is_same_commit(root: Path, one: str, other: str) -> bool:
    """Whether both are known without git to be the same commit."""
    commits = {commit_of(root, name) for name in (one, other)}
    return len(commits) == 1 and "" not in commits


# -- what it borrows from the user's ----------------------------------------------------------


def open_private(home: Project, root: Path, client: str, share: Iterable[str]) -> Project:
    """Opens it with the user's environments and held-out tests. `share`: other ignored paths it needs."""
    project = open_project(root, Actor(client=client))
    link_shared(home.root, root, project.settings.stacks, share)
    with operation(project) as state:
        # Held-out tests belong to the project, not to the worktree that they were taken from.
        missing = {p: f for p, f in home.state().held_out.items() if p not in state.held_out}
        if missing:
            project.record(HeldOut(files=missing))
    return project


def adapt_stacks(home: Project, project: Project) -> Project:
    """Makes its tests run with the user's interpreters, and import this tree."""
    stacks = tuple(_at_home(stack, home) for stack in project.settings.stacks)
    env = (*_importable(project), *project.settings.room_env)
    return replace(project, settings=replace(project.settings, stacks=stacks, room_env=env))


def link_shared(home: Path, private: Path, stacks: Iterable[Stack], more: Iterable[str]) -> tuple[str, ...]:
    """Links paths that git does not know and the tests need; returns those that it linked."""
    linked = []
    for path in dict.fromkeys((*_environments(home, stacks), *more)):
        there, here = home / path, private / path
        if not os.path.lexists(there) or os.path.lexists(here):
            continue
        try:
            here.parent.mkdir(parents=True, exist_ok=True)
            here.symlink_to(there)
        except OSError as error:
            raise StorageError(
                f"{here} cannot be linked: {error.strerror}", hint="make its folder writable, then try again"
            ) from error
        linked.append(path)
    return tuple(linked)


def hooks_folder(home: Path) -> str | None:
    """The user's folder of hooks if it is configured as a relative path: another tree does not have it."""
    path = git(home, "config", "--get", "core.hooksPath").out.strip()
    return None if not path or path.startswith(("/", "~")) else os.path.normpath(home / path)


def _environments(home: Path, stacks: Iterable[Stack]) -> Iterator[str]:
    for root in dict.fromkeys((".", *(stack.root for stack in stacks))):
        for name in _ENVIRONMENTS:
            if (home / root / name / "pyvenv.cfg").is_file():
                yield os.path.normpath(f"{root}/{name}")
        if (home / root / _PACKAGES).is_dir():
            yield os.path.normpath(f"{root}/{_PACKAGES}")


def _at_home(stack: Stack, home: Project) -> Stack:
    """Uses the user's environment in its own place: its scripts and `.pth` files name that place."""
    if not language_named(stack.language).project.has_interpreter:
        return stack
    root = home.root / stack.root
    if stack.python is not None:
        return replace(stack, python=str(root / stack.python))
    try:
        known = home.repo.private / "interpreters.json"
        found = find_interpreter(root, home.root, None, os.environ, known, stack.runner)
    except VerdigrisError:
        return stack
    return replace(stack, python=str(found.path)) if found.how == "project" else stack


def _importable(project: Project) -> tuple[str, ...]:
    """Puts this tree first on the path, before an editable install of the user's checkout."""
    if not any(language_named(stack.language).project.has_interpreter for stack in project.settings.stacks):
        return ()
    found = source_roots(project, project.workspace.snapshot())
    folders = dict.fromkeys(os.path.normpath(project.root / root) for root in ("src", *found, "."))
    usual = os.environ.get("PYTHONPATH", "")
    return (f"PYTHONPATH={os.pathsep.join([*folders, *filter(None, [usual])])}",)


# -- removal -----------------------------------------------------------------------


@value
class Leftover:
    what: str
    """Its description for a person."""
    kept: str = ""
    """Why it stays, and how to remove it; empty if it can be removed."""
    worktree: str = ""
    branch: str = ""
    folder: str = ""


def describe_changes(place: str) -> str:
    """Why the worktree cannot be removed; links that a driver made do not count as changes."""
    folder = Path(place)
    changed = list_uncommitted(folder) if folder.is_dir() else ()
    dirty = [path for _, path in changed if not (folder / path).is_symlink()]
    return f"it has changes ({dirty[0]}): `git worktree remove --force {place}`" if dirty else ""


def remove_leftovers(root: Path, leftovers: tuple[Leftover, ...]) -> None:
    """Removes those that can be removed."""
    for leftover in leftovers:
        if leftover.kept:
            continue
        if leftover.worktree:
            git(root, "worktree", "remove", "--force", leftover.worktree)
            git(root, "worktree", "prune")
        if leftover.branch:
            git(root, "branch", "--delete", "--force", leftover.branch)
        if leftover.folder:
            shutil.rmtree(leftover.folder, ignore_errors=True)
