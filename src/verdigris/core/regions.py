"""Which mounts make a machine read-only but for some regions: the nearest region above a path decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from verdigris.core.protection import above

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    found: dict[str, Kind] = {}
    for path, writable in regions.items():
        around = path.rpartition("/")[0]
        if writable != is_writable(around, regions):
            found[path] = "hole" if writable else "readonly"
    anchors = {folder for path in found for folder in above(path) if is_writable(folder, regions)}
    for folder in anchors - found.keys():
        found[folder] = "anchor"
    return dict(sorted(found.items()))
