"""Makes the card of a worktree's shell calls: what is mounted how, in this phase, on this tree."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.actions import Actor
from verdigris.core.errors import NotConfigured, VerdigrisError
from verdigris.core.protection import above, mounts, protected_classes, with_anchors
from verdigris.kernel.project import open_project
from verdigris.kernel.sandbox.namespaces import IDS, same, ways
from verdigris.kernel.shell.card import ANCHOR, DISK, HOLE, MASKED, READONLY, Card, seen, write
from verdigris.kernel.shell.confining import confine
from verdigris.kernel.shell.installation import own

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.core.pathclass import PathClass
    from verdigris.core.state import Phase
    from verdigris.kernel.project import Project
    from verdigris.kernel.sandbox.namespaces import Way

SETTINGS = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".gemini/settings.json",
)
"""In a user's home, where an agent's hooks can be switched off for every project."""
LINK = "120000"
MAIN_SOURCE = "src"


def main(root: str, private: str) -> None:
    """For the entry: its exit code says whether there is a card."""
    try:
        refresh(root, private)
    except VerdigrisError as error:
        sys.exit(f"verdigris: {error.message}" + (f" ({error.hint})" if error.hint else ""))


def refresh(root: str, private: str) -> Card:
    control = os.path.dirname(os.path.dirname(private))  # noqa: PTH120 - names stay `str`
    try:
        project = open_project(Path(root), Actor("kernel", client="shell"))
    except NotConfigured:
        card = Card(root, "", (), seen(control))
    else:
        log = seen(control)  # before the state is read: what is appended meanwhile makes a new card
        planned = protection(project)
        way = found_way(planned) or ""
        ids = tuple((name, same(name)) for name in IDS) if way == "mapped" else ()
        card = Card(root, way, planned, log, ids)
    write(private, card)
    return card


def protection(project: Project, phase: Phase | None = None) -> tuple[tuple[str, int], ...]:
    """Absolute path and kind of each mount, a folder before what is in it; as in the phase that it is in."""
    top = str(project.root)
    files = _files(project)
    kept = protected_classes(phase or project.state().phase)
    inside = mounts(_with_links(project, files, kept), kept, _roomy(project))
    readonly, holes = own()
    known = {f"{top}/{path}": READONLY if ro else _writable(path, inside) for path, ro in inside.items()}
    known |= dict.fromkeys([*readonly, *_settings()], READONLY)
    known |= dict.fromkeys([str(project.repo.git_dir), str(project.repo.common_dir)], ANCHOR)
    known[f"{top}/.git"] = ANCHOR if project.repo.git_dir == project.root / ".git" else READONLY
    known |= dict.fromkeys(holes, HOLE)
    known[str(project.repo.control)] = READONLY
    known[str(project.repo.control / "store")] = MASKED
    anchored = with_anchors(dict.fromkeys([*known, top], False))
    return (*((path, known.get(path, ANCHOR)) for path in anchored), *((disk, DISK) for disk in _disks()))


def _writable(path: str, inside: Mapping[str, bool]) -> int:
    return HOLE if any(inside.get(folder) for folder in above(path)) else ANCHOR


def found_way(planned: Iterable[tuple[str, int]]) -> Way | None:
    """The strongest way that works here, found out by going it in a child."""
    return next((way for way in ways() if _works(tuple(planned), way)), None)


def _works(planned: tuple[tuple[str, int], ...], way: Way) -> bool:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            confine(planned, way)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def _files(project: Project) -> dict[str, PathClass]:
    """A link cannot be mounted over: what it leads to has a name of its own."""
    entries = project.workspace.files(project.workspace.snapshot())
    return {e.path: project.classify(e.path) for e in entries if e.mode != LINK}


def _with_links(
    project: Project, files: Mapping[str, PathClass], kept: frozenset[PathClass]
) -> dict[str, PathClass]:
    """Another hard link to a protected file is as protected: its name leads to the same bytes."""
    nodes = {path: _node(f"{project.root}/{path}") for path in files}
    shared = {node: files[path] for path, node in nodes.items() if node and files[path] in kept}
    return {path: shared.get(node, files[path]) if node else files[path] for path, node in nodes.items()}


def _node(path: str) -> tuple[int, int] | None:
    """Of a file that has more names than one."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_nlink > 1 else None


def _roomy(project: Project) -> list[str]:
    """Stacks' roots and source roots: builds and editable installs put folders of their own there."""
    roots = [stack.root for stack in project.settings.stacks]
    sources = [glob for stack in project.settings.stacks for glob in (*stack.source, MAIN_SOURCE)]
    below = [f"{root}/{source.rstrip('/')}" for root in roots for source in sources]
    return [os.path.normpath(path).removeprefix("./") for path in (*roots, *below)]


def _disks() -> list[str]:
    if os.geteuid() != 0:
        return []
    with os.scandir("/dev") as entries:
        return [entry.path for entry in entries if stat.S_ISBLK(entry.stat(follow_symlinks=False).st_mode)]


def _settings() -> list[str]:
    home = Path.home()
    return [str(path) for name in SETTINGS if (path := home / name).is_file() and not path.is_symlink()]
