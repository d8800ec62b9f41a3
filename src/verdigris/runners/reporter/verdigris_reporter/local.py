"""Which names of the environment are not loaded in advance: the tool's plugins, and what is not released."""

from __future__ import annotations

import contextlib
import json
from importlib import metadata
from typing import TYPE_CHECKING, Any

from .preload import from_the_environment  # noqa: TID252 - the package has another name when injected

if TYPE_CHECKING:
    from collections.abc import Callable


def plugin_names() -> frozenset[str]:
    """They are rewritten as pytest loads them."""
    return _names_of(lambda found: any(point.group == "pytest11" for point in found.entry_points))


def local_names() -> frozenset[str]:
    """What was installed out of a folder may be the project."""
    return _names_of(lambda found: "dir_info" in json.loads(found.read_text("direct_url.json") or "{}"))


def _names_of(wanted: Callable[[Any], bool]) -> frozenset[str]:
    names: set[str] = set()
    with from_the_environment():
        for found in metadata.distributions():
            with contextlib.suppress(Exception):  # a broken one is nobody's to load
                if wanted(found):
                    names.update(str(file).split("/")[0].split(".")[0] for file in found.files or ())
    return frozenset(names)
