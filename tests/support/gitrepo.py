"""Real git repositories for tests, independent of the configuration of whoever runs them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from support.trees import copy_tree

PATTERNS = "SUITE_PATTERNS"
"""The variable that names the folder of patterns: repositories that are made once and copied for each test.
"""
IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


@dataclass(frozen=True, slots=True)
class GitRepo:
    root: Path
    home: Path
    """An empty folder as HOME, so that no user's configuration has an effect."""

    @property
    def environment(self) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))}
        return clean | IDENTITY | {"HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """The output of one git command, unchanged; a failure fails the test."""
        argv = ["git", *arguments]
        done = subprocess.run(
            argv, cwd=self.root, env=self.environment, input=stdin, capture_output=True, check=False
        )
        assert done.returncode == 0, f"{argv}: {done.stderr.decode(errors='replace')}"
        return done.stdout

    def git(self, *arguments: str) -> str:
        return os.fsdecode(self.run(*arguments)).strip()

    def write(self, path: str, data: str | bytes = "", *, executable: bool = False) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data.encode() if isinstance(data, str) else data)
        if executable:
            target.chmod(0o755)
        return target

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def commit(self, message: str = "a commit", **files: str | bytes) -> str:
        """Commit everything in the tree; `files` by keyword are for names without dots."""
        for path, data in files.items():
            self.write(path, data)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self._branch_tip() or self.head()

    def _branch_tip(self) -> str | None:
        """What git has just written into the file of the branch; None where HEAD leads to no such file."""
        try:
            kind, _, ref = (self.root / ".git" / "HEAD").read_text().strip().partition(" ")
            return (self.root / ".git" / ref).read_text().strip() if kind == "ref:" else None
        except OSError:
            return None

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def clone(self, root: Path) -> GitRepo:
        self.git("clone", "--quiet", str(self.root), str(root))
        return GitRepo(root, self.home)

    def fingerprint(self) -> dict[str, str]:
        """The hash of every file in the git folder, except the kernel's files."""
        git_dir = self.root / self.git("rev-parse", "--git-common-dir")
        return {
            os.fspath(path.relative_to(git_dir)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(git_dir.rglob("*"))
            if path.is_file() and path.relative_to(git_dir).parts[0] != "tdd"
        }


def make_repo(root: Path, *, object_format: str = "sha1", branch: str = "main") -> GitRepo:
    """Make a repository at `root` with an unborn `branch`; its HOME lies beside it."""
    if os.geteuid() == os.getuid():
        make = partial(_initialise, object_format=object_format, branch=branch)
        copy_tree(_pattern(make, "unborn", object_format, branch) / ".git", root / ".git")
    else:  # another user may not write where patterns are
        _initialise(root, object_format, branch)
    return GitRepo(root, _make_home(root))


def _initialise(root: Path, object_format: str, branch: str) -> None:
    root.mkdir(parents=True, exist_ok=True)
    repo = GitRepo(root, _make_home(root))
    repo.git("init", "--quiet", "--template=", f"--object-format={object_format}", "--initial-branch", branch)


def _make_home(root: Path) -> Path:
    home = root.with_name(f"{root.name}.home")
    home.mkdir(parents=True, exist_ok=True)
    return home


def copied(root: Path, make: Callable[[Path], object], *key: object) -> GitRepo:
    """Call `make` once for each key and all workers of this run; `root` is a copy of the result."""
    copy_tree(_pattern(make, *key), root)
    return GitRepo(root, _make_home(root))


def _pattern(make: Callable[[Path], object], *key: object) -> Path:
    """What `make` made for this key."""
    told = repr((os.geteuid(), key))
    assert " at 0x" not in told, f"another worker would take this key for another: {told}"
    pattern = _patterns() / hashlib.sha256(told.encode()).hexdigest()[:16] / "repo"
    if not pattern.exists():
        with _alone(pattern.parent):
            if not pattern.exists():
                unfinished = pattern.with_name("unfinished")
                shutil.rmtree(unfinished.parent, ignore_errors=True)
                make(unfinished)
                unfinished.rename(pattern)
    return pattern


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While one worker makes a pattern, another one that needs it waits."""
    with folder.with_name(f"{folder.name}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # a process that was forked meanwhile has the file open too


def share_patterns() -> None:
    """Make the shared folder of patterns. Call this before workers start; this process removes the folder."""
    os.environ[PATTERNS] = str(_patterns())


def forget_patterns() -> None:
    if _patterns.cache_info().currsize and _patterns().name.startswith(_own_name()):
        shutil.rmtree(_patterns())


@cache
def _patterns() -> Path:
    shared = Path(os.environ.get(PATTERNS, "/nowhere"))
    if shared.is_dir():
        return shared
    folder = Path(tempfile.mkdtemp(prefix=_own_name()))
    folder.chmod(0o755)
    return folder


def _own_name() -> str:
    return f"tdd-patterns.{os.getpid()}."
