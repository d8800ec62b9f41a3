"""What tools keep in the tree between runs, where anybody may put it: a verdict's run finds none of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.core.languages import JUNIT, NODE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.core.settings import Stack

_INSTALLED = frozenset({".bin", ".pnpm", ".store", ".package-lock.json", ".modules.yaml", ".yarn-integrity"})
"""Names with a dot in `node_modules` that package managers put there; the others are caches."""
_OUTPUT = ("target", "build", ".gradle", ".phpunit.cache", ".phpunit.result.cache")


def hidden(stack: Stack, root: Path) -> tuple[str, ...]:
    """Paths from the root, whether they are there or not."""
    if stack.runner == JUNIT:
        return tuple(_below(stack, name) for name in _OUTPUT)
    return tuple(_node_caches(stack, root)) if stack.language == NODE else ()


def _node_caches(stack: Stack, root: Path) -> Iterator[str]:
    for folder in dict.fromkeys((_below(stack, "node_modules"), "node_modules")):
        try:
            names = os.listdir(root / folder)  # noqa: PTH208 - only names are wanted
        except OSError:
            continue
        yield from (f"{folder}/{name}" for name in names if name.startswith(".") and name not in _INSTALLED)


def _below(stack: Stack, name: str) -> str:
    return name if stack.root in {".", ""} else f"{stack.root}/{name}"
