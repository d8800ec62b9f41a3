"""Lists git's folders and files that an agent's shell may write, and those that it may not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from verdigris.core.errors import VerdigrisError
from verdigris.storage.git import program
from verdigris.storage.repository import Repository, find_repository

HOOKS, IN_INFO = "hooks", ("info/attributes", "info/exclude")
"""Only these files of `info/` are protected: git writes `info/refs` beside them when it packs."""
REPLACES = "refs/replace"
"""Refs in this folder make git show other contents than a commit has."""
CONFIGURATIONS = ("config", "config.worktree")
SWITCHES = (HOOKS, REPLACES, *IN_INFO, *CONFIGURATIONS, "commondir", "gitdir")
MAINS = ("HEAD", "index")
"""Files of the main worktree, in the git folder that all worktrees share."""
_NO_REPOSITORY_IN = frozenset({"objects", "refs", "logs", "hooks", "info"})


def git_regions(repo: Repository) -> dict[str, bool]:
    """Maps absolute paths of git's files and folders to whether an agent's shell may write them."""
    regions = {str(repo.common_dir): True}
    from verdigris.storage.calls.git_folders import GitFolder

    inside = (repo.root / path / ".git" for path in GitFolder(str(repo.root), str(repo.private)).submodules())
    for folder in (repo.common_dir, *_modules(repo.common_dir / "modules"), *inside):
        regions |= dict.fromkeys(_switches(folder), False)
    made = _made_paths(repo)
    for folder in _linked_worktrees(repo.common_dir):
        tree = _tree_of(folder)
        writable = folder == repo.git_dir or _identity(folder) in made or _is_inside(tree, repo.root)
        regions[str(folder)] = writable
        if writable:
            regions |= dict.fromkeys(_switches(folder), False)
        elif tree is not None and tree != repo.root:
            regions[str(tree)] = False
    if repo.git_dir != repo.common_dir:
        regions |= {str(repo.common_dir / name): False for name in MAINS}
        if repo.common_dir.name == ".git":
            regions[str(repo.common_dir.parent)] = False
    return {os.path.realpath(path): writable for path, writable in regions.items()}


def make_switches(repo: Repository) -> None:
    """Creates missing switches: a path that does not exist cannot be mounted, and an agent could make it."""
    with suppress(OSError):
        for name in (HOOKS, REPLACES):
            (repo.common_dir / name).mkdir(exist_ok=True)
        for name in IN_INFO:
            (repo.common_dir / name).parent.mkdir(exist_ok=True)
            (repo.common_dir / name).touch()


def hooks_in(root: Path, environment: Mapping[str, str]) -> list[str]:
    """Hooks that a person has git take from the worktree (`core.hooksPath`): their next commit runs them.

    Git is asked only where a file of its configuration may name some.
    """
    if not any(_may_name_hooks(path) for path in _configurations(root, environment)):
        return []
    asked = [program(environment), "config", "--type=path", "--get", "core.hooksPath"]
    import subprocess

    done = subprocess.run(asked, cwd=root, env=environment, capture_output=True, check=False)
    path = os.fsdecode(done.stdout).rstrip("\n")
    found = os.path.realpath(root / path) if path else ""
    return [found] if _is_inside(Path(found), root) and Path(found).is_dir() else []


def _configurations(root: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """The files that git may read the key from; another one is included by one of them."""
    home = environment.get("HOME", "")
    yield Path(environment.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig")
    yield Path(environment.get("GIT_CONFIG_GLOBAL") or f"{home}/.gitconfig")
    yield Path(environment.get("XDG_CONFIG_HOME") or f"{home}/.config", "git/config")
    with suppress(VerdigrisError):
        repo = find_repository(root)
        yield from (folder / name for folder in (repo.common_dir, repo.git_dir) for name in CONFIGURATIONS)


def _may_name_hooks(path: Path) -> bool:
    try:
        text = path.read_bytes().lower()
    except OSError:
        return False
    return b"hookspath" in text or b"include" in text


def _made_paths(repo: Repository) -> frozenset[str]:
    from verdigris.storage.calls.git_folders import MADE

    try:
        text = (repo.private / MADE).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return frozenset()
    return frozenset(text.splitlines())


def _linked_worktrees(common: Path) -> list[Path]:
    try:
        return [path for path in (common / "worktrees").iterdir() if path.is_dir()]
    except OSError:
        return []


def _identity(folder: Path) -> str:
    return f"{folder.stat().st_ino} {folder.name}"


def _tree_of(folder: Path) -> Path | None:
    """The worktree that a folder of `worktrees/` belongs to."""
    try:
        pointer = os.fsdecode((folder / "gitdir").read_bytes()).strip()
    except OSError:
        return None
    return Path(os.path.realpath(folder / pointer)).parent


def _switches(folder: Path) -> list[str]:
    """The switches that exist in a git folder; a link counts if its target exists."""
    return [str(path) for name in SWITCHES if (path := folder / name).exists()]


def _modules(folder: Path) -> Iterator[Path]:
    """Finds the git folders of submodules, also of submodules inside submodules."""
    for found, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _NO_REPOSITORY_IN]
        if "HEAD" in files:
            yield Path(found)


def _is_inside(path: Path | None, root: Path) -> bool:
    return path is not None and root in path.parents
