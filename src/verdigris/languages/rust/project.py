"""What a Rust project looks like: its stacks, their usual places, and the tables that tests depend on."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from verdigris.core.paths import Detected
from verdigris.core.settings import Stack
from verdigris.languages.conventions import (
    SIDE,
    Usual,
    any_of,
    anywhere,
    at,
    at_root,
    canonical,
    only,
    outside,
)
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


PLACES = Usual(
    tests=any_of(
        at_root("testdata", "test_data", "fixtures"),
        anywhere("tests", "proptest-regressions", r"[^/]*\.snap(?:\.new)?"),
        outside("src", anywhere("benches")),
        r"(?:.*/)?(?:tests|[^/]+_tests?)\.rs\Z",
    ),
    runner=any_of(
        anywhere(r"\.cargo/config(?:\.toml)?", r"rust-toolchain(?:\.toml)?", r"\.config/nextest\.toml"),
        outside("src", r"(?:.*/)?build\.rs\Z"),
    ),
    transient=at_root("target"),
    not_source=any_of(r"\.", SIDE, "(?:xtask|fuzz)/"),
)
"""`mod tests;` leads to a file of that name. A build script says how all that tests run is built."""


_LIBRARY = ("test", "doctest", "harness", "path")
_PROGRAM = ("name", "test", "harness")
_PACKAGE = ("autotests", "autobenches", "build")
_WHOLE = ("test", "bench", "dev-dependencies", "dev_dependencies", "patch", "replace")
"""`[dev-dependencies]` are what tests assert with, and no code that goes green needs a new one; `patch` and
`replace` can put another crate in the place of any of them. `[features]` and `[dependencies]` stay free:
source needs them, and a test that a feature takes away is missed in the verdict."""


def manifest(text: str) -> bytes:
    document: Any = tomllib.loads(text)
    found: dict[str, Any] = {key: at(document, key) for key in _WHOLE}
    found["lib"] = only(at(document, "lib"), _LIBRARY)
    found["package"] = only(at(document, "package"), _PACKAGE)
    # A test is built by the profile `test`, which takes what it does not say from `dev`.
    found["profile"] = only(at(document, "profile"), ("test", "dev"))
    for kind in ("bin", "example"):
        found[kind] = _programs(at(document, kind))
    targets = at(document, "target")
    if isinstance(targets, dict):
        keys = ("dev-dependencies", "dev_dependencies")
        found["target"] = {name: own for name, table in targets.items() if (own := only(table, keys))} or None
    return canonical(found)


def _programs(tables: Any) -> list[Any] | None:
    """The programs that say whether and how they are tested."""
    told = [only(table, _PROGRAM) or {} for table in tables] if isinstance(tables, list) else []
    return [table for table in told if table.keys() - {"name"}] or None


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
