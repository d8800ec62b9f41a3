"""Which Rust stacks a project has, and where their crates keep tests."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from verdigris.core.paths import Detected
from verdigris.core.settings import Stack
from verdigris.languages.folders import (
    PACKAGES_DEPTH,
    FoundStacks,
    holding,
    is_usable_glob,
    literal_glob,
    outermost,
    text_in,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verdigris.languages.folders import Folder


def find_stacks(known: Sequence[Folder]) -> FoundStacks:
    """A workspace is one stack at its root: cargo builds and tests it as one."""
    places = outermost(holding(known, ["Cargo.toml"]))
    return FoundStacks(tuple(Stack(root=place, language="rust", runner="cargo") for place in places))


def layout(home: Path) -> Detected:
    return Detected(flat=True, tests=_declared_tests(home))


def _declared_tests(home: Path) -> tuple[str, ...]:
    """Where `[[test]]` of a crate says that its tests are, if not in `tests/`."""
    crates = [at for at, _, files in walk(home, PACKAGES_DEPTH) if "Cargo.toml" in files]
    paths = (f"{at}/{path}".removeprefix("./") for at in crates for path in _test_paths(home / at))
    return tuple(literal_glob(path) for path in paths if is_usable_glob(literal_glob(path)))


def _test_paths(crate: Path) -> Iterator[str]:
    try:
        tables = tomllib.loads(text_in(crate, "Cargo.toml")).get("test")
    except tomllib.TOMLDecodeError:
        return
    for table in tables if isinstance(tables, list) else ():
        path = table.get("path") if isinstance(table, dict) else None
        if isinstance(path, str) and not path.startswith(("/", "..", "src/")):
            yield path.rpartition("/")[0] or path
