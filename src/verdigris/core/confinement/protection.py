"""Plans the mounts that protect a phase's files, and the regions that an agent's shell may write."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from verdigris.core.languages import keeps_bytecode
from verdigris.core.paths import PathClass, above
from verdigris.core.state import Phase

MANY = 64
"""So many files of one folder, each on its own, are worth one mount with holes for what is beside them."""
FEW = 256
"""So many mounts cost next to nothing: each file of code has its own then, and caches can lie beside it."""
STARTUP_FILES = (
    *(".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases"),
    *(".zshrc", ".zshenv", ".zprofile"),
)
"""Of shells, in the home."""

_CLASSES = {
    Phase.RED: frozenset({PathClass.SWITCH, PathClass.SOURCE}),
    Phase.GREEN: frozenset({PathClass.SWITCH, PathClass.TEST, PathClass.SPEC}),
    Phase.REFACTOR: frozenset({PathClass.SWITCH, PathClass.SPEC}),
    Phase.PLAN: frozenset(PathClass) - {PathClass.OTHER},
    Phase.HELD: frozenset(PathClass) - {PathClass.OTHER},
}


def protected_classes(phase: Phase) -> frozenset[PathClass]:
    """What an agent may not change in a phase; what it may in part is the tripwire's to compare."""
    return _CLASSES.get(phase, frozenset({PathClass.SWITCH}))


def readonly_classes(phase: Phase) -> frozenset[PathClass]:
    """What a shell cannot even write. Source it can, also in red: formatters do, and whether a syntax tree
    stayed as it was is known after the write only (ADR 21).
    """
    return protected_classes(phase) - {PathClass.SOURCE}


def mounts(
    files: Mapping[str, PathClass], protected: Collection[PathClass], roomy: Collection[str] = ()
) -> dict[str, bool]:
    """Path → read-only?, relative to the root, a folder before what is in it.

    What is writable among them is a folder that must not be moved aside, or a hole in a read-only one. A
    folder of `roomy` is never read-only as a whole: tools make folders of their own there (`src/x.egg-info`).
    """
    few = sum(cls in protected for cls in files.values()) <= FEW
    top = _MountFolder("", few=few)
    for path, cls in files.items():
        top.put(path, protected=cls in protected)
    writable: dict[str, bool] = {}
    top.mount(writable, frozenset({"", *roomy}))
    return with_anchors(writable)


def with_anchors(places: Mapping[str, bool]) -> dict[str, bool]:
    """Adds each folder above a mount as a mount of its own: a mount point cannot be renamed."""
    anchors = {folder: False for path in places for folder in above(path)}
    return dict(sorted({**anchors, **places}.items()))


class _MountFolder:
    """A folder of any depth: nothing here recurses per level."""

    def __init__(self, path: str, *, few: bool) -> None:
        self.path = path
        self.few = few
        self.folders: dict[str, _MountFolder] = {}
        self.kept: list[str] = []
        self.free: list[str] = []
        self.code = False

    def put(self, path: str, *, protected: bool) -> None:
        *folders, name = path.split("/")
        home = self
        for depth, folder in enumerate(folders, start=1):
            if folder not in home.folders:
                home.folders[folder] = _MountFolder("/".join(folders[:depth]), few=self.few)
            home = home.folders[folder]
        (home.kept if protected else home.free).append(path)
        home.code = home.code or keeps_bytecode(name)

    def whole(self) -> bool:
        """Whether all in it is protected, and nothing is ever put beside it."""
        return not any(folder.free or (folder.few and folder.code) for folder in self._all())

    def empty(self) -> bool:
        return not any(folder.kept for folder in self._all())

    def _all(self) -> Iterator[_MountFolder]:
        """The folder itself, and all below it."""
        waiting = [self]
        while waiting:
            folder = waiting.pop()
            yield folder
            waiting += folder.folders.values()

    def mount(self, found: dict[str, bool], roomy: frozenset[str]) -> None:
        waiting = [(self, False)]
        while waiting:
            folder, sealed = waiting.pop()
            waiting += folder.mount_own(found, roomy, sealed=sealed)

    def mount_own(
        self, found: dict[str, bool], roomy: frozenset[str], *, sealed: bool
    ) -> list[tuple[_MountFolder, bool]]:
        """The folders in it that need mounts of their own; `sealed`: it lies in a read-only folder, so what
        is free in it needs a hole.
        """
        if self.path not in roomy and not self.empty() and self.whole() and (self.kept or self.folders):
            found[self.path] = True
            return []
        if sealed:
            found[self.path] = False
        singly = self.path in roomy or len(self.kept) <= max(MANY, len(self.free))
        if singly:
            found.update(dict.fromkeys(self.kept, True))
        else:
            found[self.path] = True
            found.update(dict.fromkeys(self.free, False))
        return [(folder, not singly) for folder in self.folders.values()]


Kind = Literal["hole", "readonly", "anchor"]
"""Writable in what is not; not writable in what is; a folder above such a place, which must not be moved."""


def is_writable(path: str, regions: Mapping[str, bool]) -> bool:
    """`regions` are absolute paths, each writable or not; what lies in none is not."""
    return next((regions[place] for place in (path, *above(path)) if place in regions), False)


def plan_mounts(regions: Mapping[str, bool]) -> dict[str, Kind]:
    """Over a machine that is read-only as a whole; a folder stands before what is in it.

    A mount point cannot be renamed, so that the folders above a read-only place that lies in a writable
    region are mounts, too. Above a region in the read-only rest nothing can be moved anyway.
    """
    kinds: dict[str, Kind] = {}
    for path, writable in regions.items():
        around = path.rpartition("/")[0]
        if writable != is_writable(around, regions):
            kinds[path] = "hole" if writable else "readonly"
    anchors = {folder for path in kinds for folder in above(path) if is_writable(folder, regions)}
    for folder in anchors - kinds.keys():
        kinds[folder] = "anchor"
    return dict(sorted(kinds.items()))
