"""Writes a scaffold, and removes it if nobody has worked in it.

Safe to repeat after a kill: what is there already is left, and what is missing is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Literal

from verdigris.core.errors import ConfigError, StorageError, UserError
from verdigris.core.events import Scaffolded, Unconfigured, decode
from verdigris.core.records import Actor
from verdigris.core.settings import MachineSettings
from verdigris.core.value import value
from verdigris.setup.initialisation import Initialised, InitPlan, carry_out
from verdigris.setup.scaffold import Scaffold
from verdigris.storage.config import load_machine
from verdigris.storage.durable_files import write_whole
from verdigris.storage.git import git
from verdigris.storage.project import CONFIG, drafts, open_log
from verdigris.storage.repository import Repository, find_repository, head, read_plain
from verdigris.turns.git import CommitIdentity, author_environment

_MESSAGE = """\
chore: scaffold the kata

What `tdd init` wrote: the kata, the settings of the tools, and one test that
shows that they work.
"""


@value
class ScaffoldResult:
    done: Initialised
    commit: str = ""
    """The id of the first commit, if it was made."""
    uncommitted: tuple[str, ...] = ()
    """Files that are in no commit: the machine does not see them."""
    refused: str = ""
    """Git's message, if it refused the commit."""


def make(scaffold: Scaffold, actor: Actor) -> ScaffoldResult:
    if scaffold.makes_repository:
        # On the branch that the user's git begins with; refs in files, as they are read here.
        begun = git(scaffold.root, "init", "--quiet", env={"GIT_DEFAULT_REF_FORMAT": "files"})
        if not begun.ok:
            hint = "make a repository here by hand, then run `tdd init` again"
            raise UserError(f"`git init` failed: {begun.text}", hint=hint)
    repo = find_repository(scaffold.root)
    log = open_log(repo)
    if scaffold.files:
        digests = {path: digest(text.encode()) for path, text in scaffold.files.items()}
        log.append(drafts(repo, actor, Scaffolded(files=digests, project=scaffold.project)), sync=True)
    for path, text in scaffold.files.items():
        write_whole(scaffold.root / path, text.encode())
    known = log.state().configuration is not None and (scaffold.root / CONFIG).exists()
    done = carry_out(InitPlan(repo, scaffold.settings, None if known else scaffold.config), actor)
    return _commit_first(scaffold, repo, done)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def visible_files(root: Path) -> tuple[str, ...]:
    """All files that git does not ignore."""
    said = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").out
    return tuple(dict.fromkeys(filter(None, said.split("\0"))))


def _commit_first(scaffold: Scaffold, repo: Repository, done: Initialised) -> ScaffoldResult:
    """Commits only if there is no commit yet, and no file of somebody else's."""
    root = scaffold.root
    ours = {*scaffold.files, *scaffold.there, CONFIG, scaffold.kata}
    shown = visible_files(root)
    status = git(root, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames").out
    changed = [entry[3:] for entry in status.split("\0") if entry]
    if head(repo).commit is not None or not set(shown) <= ours:
        return ScaffoldResult(done, uncommitted=tuple(path for path in changed if path in ours))
    said = load_machine(root)
    added = git(root, "add", "--", *shown)
    made = git(
        root,
        *("commit", "--quiet", "--file=-"),
        stdin=_MESSAGE,
        env=author_environment(root, CommitIdentity(said.author_name, said.author_email)),
    )
    if added.ok and made.ok:
        return ScaffoldResult(done, commit=head(repo).commit or "")
    git(root, "rm", "--quiet", "--cached", "-r", "--", *shown)
    return ScaffoldResult(done, uncommitted=shown, refused=(added if not added.ok else made).text)


@value
class RemovedScaffold:
    scaffold: Literal["none", "removed", "kept"] = "none"
    worked: str = ""
    """If it was kept: a file that somebody worked on."""
    paths: tuple[str, ...] = ()
    """The removed files."""


def undo(start: Path) -> RemovedScaffold:
    """Removes the scaffold. Runs before the configuration is removed, which names the kata."""
    repo = find_repository(start)
    written = _read_scaffolded(repo)
    there = {path: d for path, d in written.files.items() if (repo.root / path).is_file()}
    same = [path for path, d in there.items() if digest(read_plain(repo.root / path)) == d]
    worked = _find_work(repo.root, there, same) if written.project else []
    if worked and there:
        return RemovedScaffold("kept", worked[0])
    for path in same:
        _remove(repo.root, path)
    return RemovedScaffold("removed" if same else "none", paths=tuple(same))


def _find_work(root: Path, there: Collection[str], same: Collection[str]) -> list[str]:
    """What differs from the scaffold, or came to it; neither the kata nor the configuration is work in it."""
    kata = MachineSettings().kata
    with suppress(ConfigError):
        kata = load_machine(root).kata
    changed = [path for path in there if path not in same]
    more = [path for path in visible_files(root) if path not in there and (root / path).exists()]
    return [path for path in (*changed, *more) if path not in {CONFIG, kata}]


def _read_scaffolded(repo: Repository) -> Scaffolded:
    """Reads every `tdd init` since the last `tdd uninit`, as one that was interrupted is repeated."""
    files: dict[str, str] = {}
    project = False
    for record in open_log(repo).records(reverse=True):
        if record.type == Unconfigured.kind():
            break
        event = decode(record.type, record.data)
        if isinstance(event, Scaffolded):
            files, project = {**event.files, **files}, project or event.project
    return Scaffolded(files=files, project=project)


def _remove(root: Path, path: str) -> None:
    try:
        (root / path).unlink()
    except OSError as error:
        raise StorageError(
            f"{path} cannot be removed: {error.strerror}",
            hint="make its folder writable, then run `tdd uninit` again",
        ) from error
    with suppress(OSError):
        for folder in (root / path).parents:
            if folder == root:
                break
            folder.rmdir()
