"""Carries a scaffold out: the repository, the files, tdd.yaml with its record, and the first commit.

Safe to repeat after a kill: what is there already is left, and what is missing is written.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError, UserError
from verdigris.core.events import Scaffolded
from verdigris.core.value import value
from verdigris.setup.initialisation import Initialised, Plan, carry_out
from verdigris.storage.config import load_machine
from verdigris.storage.project import CONFIG, drafts, open_log
from verdigris.storage.repository import find_repository, head
from verdigris.storage.usersgit import git
from verdigris.turns.commit import Identity, authored

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.actions import Actor
    from verdigris.setup.plan import Scaffold
    from verdigris.storage.repository import Repository

_MESSAGE = """\
chore: scaffold the kata

What `tdd init` wrote: the kata, the settings of the tools, and one test that
shows that they work.
"""


@value
class Made:
    done: Initialised
    commit: str = ""
    """The first one, where it was made."""
    uncommitted: tuple[str, ...] = ()
    """What lies in the tree and in no commit: the machine does not see it."""
    refused: str = ""
    """What git said where it refused the commit."""


def make(scaffold: Scaffold, actor: Actor) -> Made:
    if scaffold.makes_repository:
        _make_repository(scaffold.root)
    repo = find_repository(scaffold.root)
    log = open_log(repo)
    if scaffold.files:
        digests = {path: digest(text.encode()) for path, text in scaffold.files.items()}
        log.append(drafts(repo, actor, Scaffolded(files=digests, project=scaffold.project)), sync=True)
    for path, text in scaffold.files.items():
        _put(scaffold.root / path, text)
    known = log.state().configuration is not None and (scaffold.root / CONFIG).exists()
    done = carry_out(Plan(repo, scaffold.settings, None if known else scaffold.config), actor)
    return _committed(scaffold, repo, done)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def visible_files(root: Path) -> tuple[str, ...]:
    """All that git does not ignore."""
    said = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").out
    return tuple(dict.fromkeys(filter(None, said.split("\0"))))


def _make_repository(root: Path) -> None:
    """On the branch that the user's git begins with; refs in files, as they are read here."""
    said = git(root, "init", "--quiet", env={"GIT_DEFAULT_REF_FORMAT": "files"})
    if not said.ok:
        raise UserError(
            f"`git init` failed: {said.text}",
            hint="make a repository here by hand, then run `tdd init` again",
        )


def _put(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, "utf-8")
        new.replace(path)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}", hint="make room for it, then `tdd init` again"
        ) from error


def _committed(scaffold: Scaffold, repo: Repository, done: Initialised) -> Made:
    """Only where there is no commit yet and nothing of anybody else's: the rest is theirs to commit."""
    root = scaffold.root
    ours = {*scaffold.files, *scaffold.there, CONFIG, scaffold.kata}
    shown = visible_files(root)
    changed = _changed(root)
    if head(repo).commit is not None or not set(shown) <= ours:
        return Made(done, uncommitted=tuple(path for path in changed if path in ours))
    said = load_machine(root)
    added = git(root, "add", "--", *shown)
    made = git(
        root,
        *("commit", "--quiet", "--file=-"),
        stdin=_MESSAGE,
        env=authored(root, Identity(said.author_name, said.author_email)),
    )
    if added.ok and made.ok:
        return Made(done, commit=head(repo).commit or "")
    git(root, "rm", "--quiet", "--cached", "-r", "--", *shown)
    return Made(done, uncommitted=shown, refused=(added if not added.ok else made).text)


def _changed(root: Path) -> tuple[str, ...]:
    said = git(root, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames").out
    return tuple(entry[3:] for entry in said.split("\0") if entry)
