"""Lists git's folders that an agent's shell may write, and removes what a person's git would follow."""

# Part of every shell call, where every millisecond counts, and names stay `str`:
# ruff: noqa: PTH108, PTH112, PTH118, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from verdigris.storage.git import UNOBSERVED, program

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from verdigris.storage.repository import Repository


POINTERS = ("commondir", "config.worktree")
"""Git reads them in the main worktree's folder, too; it never makes the first there."""
_SUBMODULE = b"\0\0\xe0\0"
"""Its mode, as an index holds it."""
_SHARED_INDEX = "sharedindex."


class GitFolder:
    """The git folder of one worktree, as it is before a call and after it."""

    def __init__(self, root: str, private: str, readonly: Container[str] = ()) -> None:
        self.root = root
        self.readonly = readonly
        """Paths that no call can write."""
        self.common = os.path.dirname(os.path.dirname(os.path.dirname(private)))
        name = os.path.basename(private).removesuffix(":linked")
        is_main = os.path.isdir(f"{root}/.git")
        self.own = self.common if is_main else f"{self.common}/worktrees/{name}"
        self.pointers = {path for path in self._pointers() if os.path.lexists(path)}
        self.submodules = self._submodules()

    def tidy(self) -> list[str]:
        """Removes what a person's git would follow; returns a line for each."""
        said = []
        for path in self._pointers():
            if path not in self.pointers and os.path.lexists(path):
                _remove(path)
                said.append(
                    f"{path} was removed: it would point a person's next git command at another folder"
                )
        added = sorted(path for path in self._submodules() - self.submodules if self._is_agents(path))
        if added:
            self._git("update-index", "--force-remove", "--", *added)
            said += [f"{path} is a repository of its own, and was taken out of the index" for path in added]
        return said

    def _pointers(self) -> Iterable[str]:
        folders = {self.common, self.own}
        return [f"{folder}/{name}" for folder in folders for name in POINTERS]

    def _is_agents(self, path: str) -> bool:
        """Whether its configuration can be the agent's; of a person's own submodule it is read-only."""
        place = f"{self.root}/{path}/.git"
        pointer = b"" if os.path.isdir(place) else _bytes(place)
        folder = os.path.join(os.path.dirname(place), os.fsdecode(pointer.removeprefix(b"gitdir: ").strip()))
        config = f"{os.path.realpath(folder if pointer else place)}/config"
        return os.path.lexists(place) and config not in self.readonly

    def _submodules(self) -> frozenset[str]:
        """Looks at the bytes first: most repositories have no submodules, and are not asked further."""
        if not any(_SUBMODULE in _bytes(path) for path in self._indexes()):
            return frozenset()
        lines = self._git("ls-files", "--stage", "-z").split(b"\0")
        return frozenset(
            os.fsdecode(line.partition(b"\t")[2]) for line in lines if line.startswith(b"160000 ")
        )

    def _indexes(self) -> list[str]:
        try:
            names = os.listdir(self.own)
        except OSError:
            return []
        return [f"{self.own}/{name}" for name in names if name == "index" or name.startswith(_SHARED_INDEX)]

    def _git(self, *arguments: str) -> bytes:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        argv = [program(kept), f"--git-dir={self.own}", f"--work-tree={self.root}", *arguments]
        done = subprocess.run(argv, cwd=self.root, env=kept | UNOBSERVED, capture_output=True, check=False)
        return done.stdout


class Namespaces:
    """The namespaces of a call's processes, held from outside."""

    def __init__(self, child: int, *, own_ids: bool) -> None:
        kinds = ("user", "mnt") if own_ids else ("mnt",)
        self.held = [os.open(f"/proc/{child}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]

    def close_to(self, folders: Sequence[str]) -> bool:
        """Make folders read-only for who is left inside; False where one holds a file there open to write."""
        child = os.fork()
        if child:
            return os.waitpid(child, 0)[1] == 0
        code = 1
        try:
            from verdigris.sandbox.syscalls import (
                ATTR_RDONLY,
                CLONE_NEWNS,
                CLONE_NEWUSER,
                join,
                set_mount_attributes,
            )

            for held, kind in zip(self.held, (CLONE_NEWUSER, CLONE_NEWNS)[-len(self.held) :], strict=True):
                join(held, kind)
            for folder in folders:
                set_mount_attributes(folder, put=ATTR_RDONLY, recursive=True)
            code = 0
        finally:
            os._exit(code)


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except IsADirectoryError:
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return


HOOKS, IN_INFO = "hooks", ("info/attributes", "info/exclude")
"""Beside them git writes `info/refs` when it packs."""
REPLACES = "refs/replace"
"""By what stands there git shows other contents than a commit has."""
SWITCHES = (HOOKS, REPLACES, *IN_INFO, "config", "config.worktree", "commondir", "gitdir")
MAINS = ("HEAD", "index")
"""The main worktree's, in the folder that all share."""
MADE = "worktrees.made"
"""In the private folder: linked worktrees that a call of the agent's added."""
_NO_REPOSITORY_IN = frozenset({"objects", "refs", "logs", "hooks", "info"})


def git_regions(repo: Repository) -> dict[str, bool]:
    """Absolute path → writable?"""
    regions = {str(repo.common_dir): True}
    inside = (repo.root / path / ".git" for path in GitFolder(str(repo.root), str(repo.private)).submodules)
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
    """Creates the missing ones: an agent could, and a path that does not exist cannot be mounted."""
    with suppress(OSError):
        for name in (HOOKS, REPLACES):
            (repo.common_dir / name).mkdir(exist_ok=True)
        for name in IN_INFO:
            (repo.common_dir / name).parent.mkdir(exist_ok=True)
            (repo.common_dir / name).touch()


def hooks_in(root: Path, environment: Mapping[str, str]) -> list[str]:
    """Hooks that a person has git take from the worktree (`core.hooksPath`): their next commit runs them."""
    asked = [program(environment), "config", "--type=path", "--get", "core.hooksPath"]
    done = subprocess.run(asked, cwd=root, env=environment, capture_output=True, check=False)
    path = os.fsdecode(done.stdout).rstrip("\n")
    found = os.path.realpath(root / path) if path else ""
    return [found] if _is_inside(Path(found), root) and Path(found).is_dir() else []


def remember_made(private: str, names: Iterable[str]) -> None:
    """Each by inode and name, as `_identity` gives them."""
    with Path(private, MADE).open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write("".join(f"{name}\n" for name in sorted(names)))


def _made_paths(repo: Repository) -> frozenset[str]:
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
    """What there is of them: a link is followed, so that it leads nowhere else."""
    return [str(path) for name in SWITCHES if (path := folder / name).exists()]


def _modules(folder: Path) -> Iterator[Path]:
    """Git folders of submodules, one in another where submodules have their own."""
    for found, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _NO_REPOSITORY_IN]
        if "HEAD" in files:
            yield Path(found)


def _is_inside(path: Path | None, root: Path) -> bool:
    return path is not None and root in path.parents
