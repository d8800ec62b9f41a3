"""What the commits tell: the machine's own by their trailers, and the project as each left it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.change import LINK
from verdigris.core.pathclass import PathClass
from verdigris.core.value import value
from verdigris.drivers.machine.position import Made
from verdigris.models.roles.role import Role
from verdigris.models.roles.showable import HUGE, as_text
from verdigris.storage.git import users_git
from verdigris.storage.repository import head
from verdigris.storage.snapshots import committed, trees
from verdigris.storage.usersgit import asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from verdigris.models.roles.material import Tree
    from verdigris.storage.project import Project
    from verdigris.storage.repository import Repository

LOOKED_AT = 400
"""Commits, the newest first: what is older is told by the tree alone."""
MANY_FILES = 2_000
"""In a larger project only tests and source are read."""
_TRAILERS = ("TDD-Step", "TDD-Role", "TDD-Test", "TDD-Point", "TDD-Concern")
_FORMAT = "%x1e%H%x1f" + "".join(f"%(trailers:key={key},valueonly,unfold)%x1f" for key in _TRAILERS) + "%s"


@value
class Told:
    """A commit as git tells it."""

    commit: str
    subject: str
    made: Made | None
    """Where it is the machine's."""


def commits(root: Path) -> tuple[Told, ...]:
    """Of HEAD and its first parents, the newest first."""
    return _logged(root, "--first-parent")


def made(root: Path) -> tuple[Made, ...]:
    """The machine's own, the last step first; a merge may have brought them from either side."""
    found = (told.made for told in _logged(root, "--topo-order") if told.made is not None)
    return tuple(sorted(found, key=lambda commit: -commit.step))


def _logged(root: Path, *which: str) -> tuple[Told, ...]:
    text = asked(root, "log", *which, f"--max-count={LOOKED_AT}", f"--format={_FORMAT}")
    return tuple(_told(part) for part in text.split("\x1e")[1:])


def _told(part: str) -> Told:
    commit, steps, roles, tests, points, concerns, subject = part.split("\x1f", 6)
    step = (steps.split() or [""])[-1]
    role = (roles.split() or [""])[-1]
    subject = subject.strip("\n")
    if not step.isdecimal() or role not in set(Role):
        return Told(commit, subject, None)
    numbers = tuple(int(point) for point in points.split() if point.isdecimal())
    made = Made(
        commit,
        int(step),
        Role(role),
        tuple(tests.splitlines()),
        subject,
        numbers,
        tuple(line for line in concerns.splitlines() if line.strip()),
        squashed=len(roles.split()) > 1,
    )
    return Told(commit, subject, made)


@value
class Record:
    """The project as HEAD has it, and what happened since the machine's first commit."""

    files: Tree
    ages: Mapping[str, int]
    """Path → the number of the commit that changed it last, counted from the machine's first."""
    history: tuple[str, ...]
    """Subjects, the oldest first."""


def record(repo: Repository, history: tuple[Told, ...], classify: Callable[[str], PathClass]) -> Record:
    machines = [number for number, told in enumerate(history) if told.made is not None]
    since = history[: machines[-1] + 1] if machines else ()
    below = history[len(since)].commit if len(since) < len(history) else None
    files = _files(repo, history[0].commit, classify) if history else {}
    ages: dict[str, int] = {}
    changed = _changed(repo.root, below) if since else ()
    for number, paths in enumerate(reversed(changed), 1):
        ages |= dict.fromkeys((path for path in paths if path in files), number)
    return Record(files, ages, tuple(told.subject for told in reversed(since)))


def _changed(root: Path, below: str | None) -> tuple[tuple[str, ...], ...]:
    """The paths of each commit since then, the newest first."""
    which = "HEAD" if below is None else f"{below}..HEAD"
    words = ("--first-parent", "-m", "--name-only", "--no-renames", "-z", "--format=%x1e")
    text = asked(root, "log", *words, f"--max-count={LOOKED_AT}", which)
    return tuple(tuple(filter(None, re.split(r"[\0\n]+", part))) for part in text.split("\x1e")[1:])


def _files(repo: Repository, commit: str, classify: Callable[[str], PathClass]) -> Tree:
    git = users_git(repo)
    files = trees.files(git, commit)
    some = len(files) > MANY_FILES
    told = [f for f in files if not some or classify(f.path) in {PathClass.SOURCE, PathClass.TEST}]
    chosen = [(f.path, f.mode, f.blob) for f in told]
    data = trees.blobs(git, (blob for _, _, blob in chosen))
    return {**dict.fromkeys((f.path for f in files), None), **dict(_as_told(chosen, data))}


def _as_told(files: list[tuple[str, str, str]], data: list[bytes | None]) -> Iterator[tuple[str, str | None]]:
    for (path, mode, _), found in zip(files, data, strict=True):
        plain = found is not None and mode != LINK and len(found) <= 4 * HUGE
        yield path, as_text(found) if plain and found is not None else None


def committed_tree(project: Project) -> str:
    """The tree as HEAD has it, as far as it is git's matter: what is ignored stays as it lies."""
    now = project.workspace.snapshot()
    commit = head(project.repo).commit
    if commit is None:
        return now
    held = {entry.path: entry for entry in committed.listing(project.repo, commit).files}
    known = committed.unchanged(project.repo, held.values())
    said = asked(project.root, "ls-files", "-z", "--others", "--exclude-standard")
    wanted: dict[str, tuple[str, bytes] | None] = {
        path: (entry.mode, committed.checked_out(project.repo, entry))
        for path, entry in held.items()
        if path not in known
    }
    there = {entry.path for entry in project.workspace.files(now)}
    wanted |= dict.fromkeys(path for path in said.split("\0") if path in there)
    return project.workspace.compose(now, wanted)
