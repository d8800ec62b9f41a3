"""Folders of PATH in the worktree, such as an active environment's: tools are installed there, but no program
takes the place of one that a person has elsewhere.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping

ACTIVATION, OWN = "activate", "tdd"
_INTERPRETER = b"python"
"""The program: a link to it in an environment, and the first line of the tools there."""
_FIRST_LINE = 128
_SYSTEM = ("/usr/", "/bin", "/sbin")
"""These lead to no worktree, so that most calls look at nothing."""
_MOVE = "next: ask a person to install it, or to name the folder under `sandbox: {write: […]}` in tdd.yaml"


class PathFolders:
    """The programs in these folders, as they are before a call and after it."""

    def __init__(
        self, root: str, path: str, folders: list[str], before: dict[str, str] | None = None
    ) -> None:
        """`path`: the variable PATH of the call; `before`: the programs before it, None if it begins now."""
        self.root, self.path, self.folders = root, path, folders
        self.before = self._programs() if before is None else before

    def tidy(self) -> list[str]:
        """Removes new programs that would be run instead of a person's, and puts links back that led to
        those; returns a line for each.
        """
        now = self._programs()
        changed = [path for path in now | self.before if now.get(path) != self.before.get(path)]
        _, elsewhere = split_path(self.root, {"PATH": self.path}) if changed else ([], [])
        return [line for path in sorted(changed) for line in self._undo(path, elsewhere)]

    def _undo(self, path: str, elsewhere: Iterable[str]) -> Iterable[str]:
        name, before = os.path.basename(path), self.before.get(path)
        persons = is_persons(name, elsewhere)
        if before and (persons or os.fsencode(name).startswith(_INTERPRETER)):
            _remove(path)
            os.symlink(before, path)
            yield f"{path} was put back: it leads to a program that a person runs"
        elif before is None and persons:
            _remove(path)
            yield f"{path} was removed: a person who types `{name}` would run it. {_MOVE}"

    def _programs(self) -> dict[str, str]:
        """Where each leads: a link's target; empty for a file."""
        return {
            entry.path: os.readlink(entry.path) if entry.is_symlink() else ""
            for entry in _entries(self.folders)
        }


def compared_folders(root: str, environment: Mapping[str, str], mounted: Container[str]) -> list[str]:
    """Folders of PATH in the worktree. One that is no mount was given to the agent by `sandbox.write`."""
    near = (path for path in _named(environment) if not path.startswith(_SYSTEM))
    found = dict.fromkeys(map(os.path.realpath, near))
    return [path for path in found if path in mounted and path.startswith(f"{root}/")]


def guarded_files(folders: Collection[str], environment: Mapping[str, str]) -> list[str]:
    """Files there that a person's shell sources, or runs instead of a program elsewhere."""
    elsewhere = [path for path in _folders(environment) if path not in folders]
    files = (entry for entry in _entries(folders) if not entry.is_symlink())
    return sorted(
        entry.path
        for entry in files
        if entry.name.lower().startswith(ACTIVATION) or is_persons(entry.name, elsewhere)
    )


def is_persons(name: str, folders: Iterable[str]) -> bool:
    """Whether these folders have the program. A tool written in Python does not count: an environment has
    its own version of it.
    """
    found = (path for folder in folders if _is_program(path := os.path.join(folder, name)))
    first = next(found, None)
    return name == OWN or (first is not None and not _is_in_python(first))


def split_path(root: str, environment: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The folders of PATH in the worktree, and the others."""
    folders = _folders(environment)
    inside = [path for path in folders if path.startswith(f"{root}/") and os.path.isdir(path)]
    return inside, [path for path in folders if path not in inside]


def _folders(environment: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(map(os.path.realpath, _named(environment))))


def _named(environment: Mapping[str, str]) -> list[str]:
    return [path for path in environment.get("PATH", "").split(":") if path.startswith("/")]


def _entries(folders: Iterable[str]) -> Iterable[os.DirEntry[str]]:
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                yield from (entry for entry in entries if entry.is_symlink() or entry.is_file())
        except OSError:
            continue


def _is_program(path: str) -> bool:
    return os.access(path, os.X_OK) and not os.path.isdir(path)


def _is_in_python(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            line = file.readline(_FIRST_LINE)
    except OSError:
        return False
    return line.startswith(b"#!") and _INTERPRETER in line


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except IsADirectoryError:
        os.rename(path, f"{path}.{os.getpid()}")
    except FileNotFoundError:
        return
