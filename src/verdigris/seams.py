"""Finds the parts of a seam by name: our own, and those that other packages add by entry points."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from verdigris.core.value import field, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from importlib.metadata import EntryPoint


@value
class Seam:
    group: str
    """The group of entry points; to look for them takes long."""
    ours: Mapping[str, str] = field(default_factory=dict)
    """Name → `module:NAME` of our own parts, which another package cannot replace. Loaded when needed."""

    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.ours, *(point.name for point in self._points()))))

    def find(self, name: str) -> Any:
        """None if nobody has it."""
        if name in self.ours:
            module, _, attribute = self.ours[name].partition(":")
            return getattr(import_module(module), attribute)
        return next((point.load() for point in self._points() if point.name == name), None)

    def others(self) -> Iterator[Any]:
        """The parts of other packages."""
        return (point.load() for point in self._points() if point.name not in self.ours)

    def _points(self) -> Iterable[EntryPoint]:
        from importlib.metadata import entry_points

        return entry_points(group=self.group)
