"""Which paths a claim's targets cover."""

from __future__ import annotations

from functools import lru_cache
from re import Pattern
from re import compile as compile_regex
from typing import TYPE_CHECKING

from verdigris.core.globs import compile_glob

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.state import Claim


@lru_cache(maxsize=512)
def _pattern(target: str) -> Pattern[str]:
    return compile_regex(compile_glob(target))


def covers(target: str, path: str) -> bool:
    """A target is a file, a folder (all below it) or a glob."""
    return (
        target in {path, "."}
        or path.startswith(target.rstrip("/") + "/")
        or bool(_pattern(target).match(path))
    )


def owners(claims: Iterable[Claim], path: str) -> frozenset[str]:
    """The test ids whose claims cover a path."""
    return frozenset(c.test_id for c in claims if any(covers(t, path) for t in c.targets))


def apart(claims: Iterable[Claim], failing: frozenset[str], paths: Iterable[str]) -> frozenset[str] | None:
    """The paths of failing claims alone; None when they cannot be told apart from passing ones."""
    claims = tuple(claims)
    alone: set[str] = set()
    for path in paths:
        of = owners(claims, path)
        if not of or (of & failing and of - failing):
            return None
        if of <= failing:
            alone.add(path)
    return frozenset(alone)
