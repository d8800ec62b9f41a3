"""Which mounts keep a phase's protected files as they are: whole folders where all in them is protected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.pathclass import PathClass
from verdigris.core.state import Phase

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

MANY = 64
"""So many files of one folder, each on its own, are worth one mount with holes for what is beside them."""
FEW = 256
"""So many mounts cost next to nothing: each file of code has its own then, and caches can lie beside it."""
PACKAGE, CODE = "__init__.py", ".py"

_CLASSES = {
    Phase.RED: frozenset({PathClass.SWITCH, PathClass.SOURCE}),
    Phase.GREEN: frozenset({PathClass.SWITCH, PathClass.TEST, PathClass.SPEC}),
    Phase.REFACTOR: frozenset({PathClass.SWITCH, PathClass.SPEC}),
}


def protected_classes(phase: Phase) -> frozenset[PathClass]:
    """What a shell may not write in a phase; what it may write only in part is the tripwire's to compare."""
    return _CLASSES.get(phase, frozenset({PathClass.SWITCH}))


def mounts(
    files: Mapping[str, PathClass], protected: Collection[PathClass], roomy: Collection[str] = ()
) -> dict[str, bool]:
    """Path → read-only?, relative to the root, a folder before what is in it.

    What is writable among them is a folder that must not be moved aside, or a hole in a read-only one. A
    folder of `roomy` is never read-only as a whole: tools make folders of their own there (`src/x.egg-info`).
    """
    few = sum(cls in protected for cls in files.values()) <= FEW
    top = _Folder("", few=few)
    for path, cls in files.items():
        top.put(path, path.split("/"), protected=cls in protected, source=cls is PathClass.SOURCE)
    found: dict[str, bool] = {}
    top.mount(found, frozenset({"", *roomy}))
    return with_anchors(found)


def with_anchors(found: Mapping[str, bool]) -> dict[str, bool]:
    """With each folder above a mount as a mount of its own: a mount point cannot be renamed."""
    anchors = {folder: False for path in found for folder in above(path)}
    return dict(sorted({**anchors, **found}.items()))


def above(path: str) -> Iterable[str]:
    """The folders that a path is in, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


class _Folder:
    def __init__(self, path: str, *, few: bool) -> None:
        self.path = path
        self.few = few
        self.folders: dict[str, _Folder] = {}
        self.kept: list[str] = []
        self.free: list[str] = []
        self.source = self.package = self.code = False

    def put(self, path: str, parts: list[str], *, protected: bool, source: bool) -> None:
        name, *rest = parts
        if rest:
            inner = f"{self.path}/{name}".lstrip("/")
            folder = self.folders.setdefault(name, _Folder(inner, few=self.few))
            folder.put(path, rest, protected=protected, source=source)
            return
        (self.kept if protected else self.free).append(path)
        self.source = self.source or source
        self.package = self.package or name == PACKAGE
        self.code = self.code or name.endswith(CODE)

    def whole(self, *, inside: bool = False) -> bool:
        """Whether all in it is protected, and nothing is ever put beside it: source, if in a package."""
        inside = inside or self.package
        if self.free or (self.few and self.code) or (self.source and self.kept and not inside):
            return False
        return all(folder.whole(inside=inside) for folder in self.folders.values())

    def empty(self) -> bool:
        return not self.kept and all(folder.empty() for folder in self.folders.values())

    def mount(self, found: dict[str, bool], roomy: frozenset[str], *, sealed: bool = False) -> None:
        """`sealed`: it lies in a read-only folder, so what is free in it needs a hole."""
        if self.path not in roomy and not self.empty() and self.whole() and (self.kept or self.folders):
            found[self.path] = True
            return
        if sealed:
            found[self.path] = False
        singly = self.path in roomy or len(self.kept) <= max(MANY, len(self.free))
        if singly:
            found.update(dict.fromkeys(self.kept, True))
        else:
            found[self.path] = True
            found.update(dict.fromkeys(self.free, False))
        for folder in self.folders.values():
            folder.mount(found, roomy, sealed=not singly)
