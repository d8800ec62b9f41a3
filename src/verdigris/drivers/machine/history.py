"""What the commits tell: the machine's own by their trailers, and the project as each left it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.agents.roles.material import Commit
from verdigris.agents.roles.role import Role
from verdigris.agents.roles.showable import HUGE, as_text
from verdigris.core.change import LINK
from verdigris.core.pathclass import PathClass
from verdigris.core.value import value
from verdigris.drivers.machine.position import Made
from verdigris.kernel.repository import head
from verdigris.kernel.usersgit import asked
from verdigris.kernel.workspace import committed, moves, trees
from verdigris.kernel.workspace.git import users_git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from verdigris.agents.roles.material import Tree
    from verdigris.kernel.project import Project
    from verdigris.kernel.repository import Repository

LOOKED_AT = 400
"""Commits, the newest first: what is older is told by the tree alone."""
MANY_FILES = 2_000
"""In a larger project only tests and source are read."""
_TRAILERS = ("TDD-Step", "TDD-Role", "TDD-Test")
_FORMAT = "%x1e%H%x1f" + "".join(f"%(trailers:key={key},valueonly,unfold)%x1f" for key in _TRAILERS) + "%B"


@value
class Told:
    """A commit as git tells it."""

    commit: str
    message: str
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
    commit, steps, roles, tests, message = part.split("\x1f", 4)
    step = (steps.split() or [""])[-1]
    role = (roles.split() or [""])[-1]
    known = step.isdecimal() and role in set(Role)
    subject = message.partition("\n")[0]
    made = Made(commit, int(step), Role(role), tuple(tests.splitlines()), subject) if known else None
    return Told(commit, message.strip("\n"), made)


@value
class Record:
    """The project where the machine began, and each commit since."""

    ground: Tree
    commits: tuple[Commit, ...]


def record(repo: Repository, history: tuple[Told, ...], classify: Callable[[str], PathClass]) -> Record:
    """The ground is the tree below the machine's first commit, whatever run made it: it stays where it is."""
    machines = [number for number, told in enumerate(history) if told.made is not None]
    since = history[: machines[-1] + 1] if machines else ()
    below = history[len(since)].commit if len(since) < len(history) else None
    texts = _Texts(repo, classify)
    found = []
    before = below
    for told in reversed(since):
        found.append(texts.commit(told, before))
        before = told.commit
    return Record({} if below is None else texts.tree(below), tuple(found))


class _Texts:
    def __init__(self, repo: Repository, classify: Callable[[str], PathClass]) -> None:
        self._git = users_git(repo)
        self._classify = classify

    def tree(self, commit: str) -> Tree:
        files = trees.files(self._git, commit)
        some = len(files) > MANY_FILES
        told = [f for f in files if not some or self._classify(f.path) in {PathClass.SOURCE, PathClass.TEST}]
        return {
            **dict.fromkeys((f.path for f in files), None),
            **self._read((f.path, f.mode, f.blob) for f in told),
        }

    def commit(self, told: Told, before: str | None) -> Commit:
        changes = moves.between(self._git, before, told.commit)
        there = ((c.path, c.new_mode or "", c.new) for c in changes if c.new is not None)
        gone = tuple(c.path for c in changes if c.deleted)
        return Commit(told.message, self._read(there), gone)

    def _read(self, files: Iterable[tuple[str, str, str]]) -> Mapping[str, str | None]:
        chosen = list(files)
        data = trees.blobs(self._git, (blob for _, _, blob in chosen))
        return dict(_as_told(chosen, data))


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
