"""Runs git: on our store with a configuration of our own, and on the user's repository with theirs.

Git's configuration can name programs (filters, hooks, monitors, signers, helpers of remotes) and files for
traces. Outside a sandbox git is asked only what needs none of them, and reads neither the user's own
configuration file nor the system's. A question that needs filters is asked in a sandbox.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations first
import os
import select
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import REPAIR, StorageError, ToolMissing, UserError, VerdigrisError
from verdigris.core.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from subprocess import CompletedProcess

    from verdigris.storage.repository import Repository


TRUE_HISTORY = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": f"{os.devnull}/none"}
"""Settings by which git shows each commit with its own contents and parents."""
QUIET = {
    **TRUE_HISTORY,
    "LC_ALL": "C",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
UNOBSERVED = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.hooksPath",
    "GIT_CONFIG_VALUE_1": os.devnull,
}
"""Settings by which git runs neither hooks nor monitors."""
SYSTEM = ("/usr/", "/bin/", "/opt/", "/nix/", "/snap/", "/run/current-system/")
"""Folders of programs that a plain user cannot write."""
DEAF = {"GIT_ATTR_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class GitFailed(StorageError):
    """Git could not do what it was asked for: an object or an index is damaged, or the disk fails."""


@value
class Output:
    code: int
    stdout: bytes
    stderr: str


@value
class Git:
    """Git on one git folder and one worktree. Both are named, so git discovers nothing and checks no
    `safe.directory`.
    """

    git_dir: Path
    root: Path
    environment: Mapping[str, str]
    index: Path | None = None
    """A private index, instead of the user's."""
    held: int | None = None
    """The descriptor of a lock that git inherits, so that it holds the lock even if we are killed."""
    confine: Callable[[], object] | None = None

    def with_index(self, index: Path, held: int | None = None) -> Git:
        return replace(self, index=index, held=held)

    def with_draft_index(self, index: Path, held: int) -> Git:
        """The same git with an index whose lock we hold. A killed git may have left a lock beside it."""
        index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
        return self.with_index(index, held)

    def start(self, *arguments: str) -> Callable[[bytes], Output]:
        """Starts git, and returns the function that sends its input and waits for its end."""
        own_index = {"GIT_INDEX_FILE": str(self.index)} if self.index else {}
        env = {**self.environment, **own_index}
        argv = [
            *(program(self.environment), f"--git-dir={self.git_dir}", f"--work-tree={self.root}"),
            *arguments,
        ]
        kept = () if self.held is None else (self.held,)
        try:
            if not self.root.is_dir():
                raise not_started(self.root)
            if self.confine is not None:
                return _start_confined(argv, self.root, env, kept, self.confine)
            return _spawn([argv[0], "-C", str(self.root), *argv[1:]], env, kept)
        except FileNotFoundError as error:
            raise not_started(self.root) from error

    def call(self, *arguments: str, stdin: bytes = b"") -> Output:
        """Runs git; a failure is part of the output."""
        return self.start(*arguments)(stdin)

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Runs git and returns its output; a failure is an error."""
        return require_success(self.call(*arguments, stdin=stdin), arguments)


def store_git(repo: Repository, store: Path) -> Git:
    """Git on the kernel's store: no configuration but the store's own."""
    return Git(store, repo.root, {**_scrubbed_environment(), **QUIET, **DEAF})


def users_git(repo: Repository) -> Git:
    """Git on the user's repository, for refs and objects, with the repository's own configuration only."""
    return Git(repo.git_dir, repo.root, {**_scrubbed_environment(), **QUIET, **DEAF, **UNOBSERVED})


@contextmanager
def with_conversion(git: Git, repo: Repository) -> Iterator[Git]:
    """The same git with the user's conversion settings.

    Filters are programs, so it runs confined, read-only.
    """
    from verdigris.sandbox.child import NOTE, confine_query

    environment = {name: value for name, value in git.environment.items() if name not in DEAF}
    store = (repo.control / "store",) if (repo.control / "store").is_dir() else ()
    with confine_query(repo.root, repo.private / NOTE, reads=(repo.common_dir,), hides=store) as confine:
        yield replace(git, environment=environment, confine=confine)


def program(environment: Mapping[str, str]) -> str:
    """The system's git, even if another comes first on PATH: an agent may be able to write that one."""
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    ordered = sorted(folders, key=lambda folder: not f"{folder}/".startswith(SYSTEM))
    return find_program("git", ordered) or "git"


def find_program(name: str, folders: Iterable[str]) -> str | None:
    """The first program of this name. `shutil.which` is not used: that module loads every kind of archive."""
    paths = (os.path.join(folder, name) for folder in folders)
    return next((path for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), None)


def not_started(root: Path) -> VerdigrisError:
    """The error of a git that did not start: its folder or git itself is missing."""
    if not root.is_dir():
        return UserError(f"the worktree {root} is gone.", hint="run the command again where it is needed")
    return ToolMissing("git cannot be found on PATH", hint="install git, or repair PATH")


def run_openly(
    root: Path,
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    quiet: bool,
    stdin: int | None = None,
    enter: Callable[[], None] | None = None,
) -> tuple[int, str]:
    """Runs git; returns its exit code and output. Unless `quiet`, the output is shown at once and not
    returned.

    `enter` is called in the child before git starts.
    """
    from subprocess import PIPE, STDOUT

    shown = {"stdout": PIPE, "stderr": STDOUT} if quiet else {}
    done = _run(root, argv, env, stdin=stdin, preexec_fn=enter, **shown)
    return done.returncode, os.fsdecode(done.stdout or b"").strip()


def _run(root: Path, argv: Sequence[str], env: Mapping[str, str], **options: Any) -> CompletedProcess[bytes]:
    from subprocess import run

    try:
        return run([program(env), *argv], cwd=root, env=env, check=False, **options)
    except FileNotFoundError:
        raise not_started(root) from None


def _spawn(argv: list[str], env: Mapping[str, str], kept: Sequence[int]) -> Callable[[bytes], Output]:
    """Starts git without `subprocess`, which takes as long to load as git takes to answer."""
    pipes = [os.pipe() for _ in range(3)]
    given, *theirs = pipes[0][0], pipes[1][1], pipes[2][1]
    ours = (pipes[0][1], pipes[1][0], pipes[2][0])
    actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate((given, *theirs))]
    try:
        for fd in kept:
            os.set_inheritable(fd, True)
        pid = os.posix_spawn(
            argv[0], argv, env, file_actions=actions, setsigdef=(_signal.SIGPIPE, _signal.SIGXFSZ)
        )
    except BaseException:
        for fd in ours:
            os.close(fd)
        raise
    finally:
        for fd in kept:
            os.set_inheritable(fd, False)
        for fd in (given, *theirs):
            os.close(fd)
    return lambda stdin: _finish(pid, ours, stdin)


def _finish(pid: int, ends: tuple[int, int, int], stdin: bytes) -> Output:
    """Writes git's input and reads its output at the same time: a full pipe would stop git."""
    given, *read = ends
    said: dict[int, list[bytes]] = {fd: [] for fd in read}
    os.set_blocking(given, False)
    waiting = select.poll()
    waiting.register(given, select.POLLOUT)
    for fd in read:
        waiting.register(fd, select.POLLIN)
    left = {given, *read}
    while left:
        for fd, _ in waiting.poll():
            if fd == given:
                stdin = _hand_over(given, stdin)
                ended = not stdin
            else:
                said[fd].append(os.read(fd, 1 << 16))
                ended = not said[fd][-1]
            if ended:
                waiting.unregister(fd)
                os.close(fd)
                left.discard(fd)
    _, status = os.waitpid(pid, 0)
    out, err = (b"".join(said[fd]) for fd in read)
    return Output(os.waitstatus_to_exitcode(status), out, os.fsdecode(err).strip())


def _hand_over(fd: int, data: bytes) -> bytes:
    """Writes to git, and returns the rest; git may have ended without reading it."""
    try:
        return data[os.write(fd, data) :] if data else b""
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return b""


def _start_confined(
    argv: Sequence[str],
    root: Path,
    env: Mapping[str, str],
    kept: Sequence[int],
    confine: Callable[[], object],
) -> Callable[[bytes], Output]:
    from subprocess import PIPE, Popen

    process = Popen(
        argv,
        cwd=root,
        env=env,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        pass_fds=kept,
        preexec_fn=confine,  # noqa: PLW1509 - it makes system calls only, as in execution/children.py
    )

    def finish(stdin: bytes) -> Output:
        stdout, stderr = process.communicate(stdin)
        return Output(process.returncode, stdout, os.fsdecode(stderr).strip())

    return finish


def require_success(output: Output, arguments: Iterable[str]) -> bytes:
    if output.code == 0:
        return output.stdout
    command = " ".join(["git", *arguments])
    raise GitFailed(
        f"`{command}` failed: {output.stderr or f'exit code {output.code}'}",
        hint=f"look for a full or read-only disk; otherwise {REPAIR}",
    )


def null_ended(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def null_split(output: bytes) -> list[str]:
    return [os.fsdecode(part) for part in output.split(b"\0") if part]


def _scrubbed_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


REDIRECTING = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"}
)
"""Variables that would make git work on another repository."""
_REDIRECTING = REDIRECTING | {"GIT_REFLOG_ACTION", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX"}


@value
class GitAnswer:
    code: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def text(self) -> str:
        """All that git printed, for a person."""
        return "\n".join(part for part in (self.out.strip(), self.err.strip()) if part)


def git(
    root: Path,
    *arguments: str,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    hidden: Collection[str] = (),
    held: int | None = None,
) -> GitAnswer:
    """Runs the user's git.

    `hidden`: variables that it does not get. `held`: a lock that it holds if we are killed.
    """
    kept = {
        name: text for name, text in os.environ.items() if name not in _REDIRECTING and name not in hidden
    }
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_LITERAL_PATHSPECS": "1"}
    done = _run(
        root,
        arguments,
        {**kept, **TRUE_HISTORY, **quiet, **(env or {})},
        input=os.fsencode(stdin),
        capture_output=True,
        pass_fds=() if held is None else (held,),
    )
    return GitAnswer(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))


def ask_users_git(root: Path, *arguments: str) -> str:
    """Git's output without the last line end; a failure is an error."""
    said = git(root, *arguments)
    if not said.ok:
        raise StorageError(
            f"`git {' '.join(arguments)}` failed: {said.err.strip()}",
            hint="`tdd doctor` checks the repository",
        )
    return said.out.removesuffix("\n")
