"""Finds the repository and its HEAD from files, without git."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from verdigris.core.errors import NotARepository, StorageError
from verdigris.core.value import value

CONTROL = "tdd"
"""The kernel's own folder in the git folder; while it exists, so does the phase."""
LOCKS = "locks"
"""The folder of locks in the control folder.

Agents' shells do not see it: one can lock a file that one can only read.
"""
MAIN = "main"
LINKED_MAIN = "main:linked"
"""Our name for a linked worktree that git calls `main`; no name by git contains a colon."""
REFTABLE = "refs/heads/.invalid"
"""The content of HEAD in a repository whose refs are not files."""


@value
class Repository:
    root: Path
    """The worktree's top folder."""
    git_dir: Path
    """This worktree's own git folder."""
    common_dir: Path
    """The git folder that all worktrees share."""
    worktree: str
    """`main`, or the name under which git knows the linked worktree."""
    apart: Path | None = None
    """The folder of the kernel's own files, if they must not be in the git folder."""

    @property
    def control(self) -> Path:
        return self.apart or self.common_dir / CONTROL

    @property
    def private(self) -> Path:
        """The folder of what belongs to this worktree only."""
        return self.control / "worktrees" / self.worktree

    def lock(self, name: str) -> Path:
        """The path of a lock of this worktree."""
        return self.control / LOCKS / f"{self.worktree}.{name}"


@value
class Head:
    branch: str | None
    """None if detached."""
    commit: str | None
    """None if unborn."""


def find_repository(start: Path) -> Repository:
    """The repository whose worktree contains `start`.

    GIT_DIR and the like are ignored: agents can set them.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if folder.name == ".git" or is_git_dir(folder):
            raise NotARepository(
                f"{folder} is a git folder or a bare repository: it has no worktree to work in",
                hint="go to a worktree of it, or make one with `git worktree add PATH`",
            )
        dot_git = folder / ".git"
        if dot_git.exists():
            return _repository(folder, dot_git)
    raise NotARepository(
        f"there is no git repository in {start} or above it",
        hint="run `git init` in the project's folder first",
    )


def sandbox_note(root: Path) -> Path | None:
    """The file that says how processes are confined in a worktree; None where there is none yet."""
    from verdigris.sandbox.child import NOTE

    try:
        private = find_repository(root).private
    except NotARepository:
        return None
    return private / NOTE if private.is_dir() else None


def head(repo: Repository) -> Head:
    content = _text(repo.git_dir / "HEAD")
    if content is None or not _is_head(content):
        from shlex import quote

        file, branch = repo.git_dir / "HEAD", _likely_branch(repo)
        raise NotARepository(
            f"{file} names neither a branch nor a commit: git's own files are damaged",
            hint=f"`echo 'ref: refs/heads/{branch}' > {quote(str(file))}`, with the branch that you were on;"
            " Verdigris' own files are kept",
        )
    if not content.startswith("ref: "):
        return Head(None, content)
    ref = content.removeprefix("ref: ")
    if ref == REFTABLE:
        raise NotARepository(
            f"{repo.common_dir} keeps its refs in a reftable, which is not supported yet",
            hint="run `git refs migrate --ref-format=files`",
        )
    return Head(ref.removeprefix("refs/heads/"), resolve(repo, ref))


def _is_head(content: str) -> bool:
    is_commit = len(content) in {40, 64} and not content.strip("0123456789abcdef")
    return is_commit or (content.startswith("ref: ") and "\0" not in content)


def _likely_branch(repo: Repository) -> str:
    """The branch at the commit that HEAD had last; the first one, if that is not known."""
    last = (_text(repo.git_dir / "logs" / "HEAD") or "").rpartition("\n")[2].split(" ")
    heads = repo.common_dir / "refs" / "heads"
    found = {str(path.relative_to(heads)): _text(path) for path in sorted(heads.rglob("*")) if path.is_file()}
    return next((name for name, commit in found.items() if commit in last[1:2]), next(iter(found), "main"))


def resolve(repo: Repository, ref: str) -> str | None:
    """The commit that a ref stands for; None if there is none."""
    for folder in (repo.git_dir, repo.common_dir):
        content = _text(folder / ref)
        if content:
            return resolve(repo, content.removeprefix("ref: ")) if content.startswith("ref: ") else content
    packed = _text(repo.common_dir / "packed-refs") or ""
    for line in packed.split("\n"):
        commit, _, name = line.partition(" ")
        if name == ref:
            return commit
    return None


def linked_worktrees(repo: Repository) -> tuple[Path, ...]:
    """The folders of linked worktrees that git has noted; some may be gone."""
    notes = sorted((repo.common_dir / "worktrees").glob("*/gitdir"))
    said = ((note.parent, _text(note)) for note in notes)
    return tuple(Path(os.path.normpath(folder / text)).parent for folder, text in said if text)


def is_checked_out(repo: Repository, branch: str) -> bool:
    """Whether any worktree may have the branch as its HEAD; one that is gone counts too."""
    heads = (repo.common_dir / "HEAD", *(repo.common_dir / "worktrees").glob("*/HEAD"))
    return any(_text(file) == f"ref: refs/heads/{branch}" for file in heads)


def in_progress(repo: Repository) -> str | None:
    """The git command that is unfinished in this worktree, such as a merge; None if there is none."""
    marks = {
        "rebase-merge": "rebase",
        "rebase-apply": "rebase",
        "MERGE_HEAD": "merge",
        "CHERRY_PICK_HEAD": "cherry-pick",
        "REVERT_HEAD": "revert",
        "BISECT_LOG": "bisect",
    }
    return next((what for mark, what in marks.items() if (repo.git_dir / mark).exists()), None)


def _repository(root: Path, dot_git: Path) -> Repository:
    git_dir = dot_git if dot_git.is_dir() else _follow_pointer(dot_git)
    if not (git_dir / "HEAD").exists() and not (git_dir / CONTROL).is_dir():
        raise NotARepository(
            f"{dot_git} does not lead to a git repository",
            hint="repair it with `git worktree repair`, or remove it",
        )
    common = _text(git_dir / "commondir")
    if common is None or dot_git.is_dir():  # a main worktree has none: an agent may have written it
        return Repository(root, git_dir, git_dir, MAIN)
    name = LINKED_MAIN if git_dir.name == MAIN else git_dir.name
    return Repository(root, git_dir, Path(os.path.normpath(git_dir / common)), name)


def _follow_pointer(dot_git: Path) -> Path:
    target = (_text(dot_git) or "").removeprefix("gitdir: ")
    return Path(os.path.normpath(dot_git.parent / target))


def is_git_dir(folder: Path) -> bool:
    """Whether git takes a folder for a repository, or for what belongs to a worktree of one."""
    if not os.path.lexists(folder / "HEAD"):
        return False
    shared = (folder / "objects").is_dir() and (folder / "refs").is_dir()
    return shared or os.path.lexists(folder / "commondir")


def read_plain(path: Path) -> bytes:
    """Reads a file that an agent can write: one that waits for a writer, such as a FIFO, must not block."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        return file.read()


def _text(path: Path) -> str | None:
    try:
        return os.fsdecode(read_plain(path)).strip("\n")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise StorageError(
            f"cannot read {path}: {error.strerror}", hint="make it readable, then try again"
        ) from error
