"""Finds the stacks, places and test tables of a Rust project; and holds its scaffold and the demo."""

from __future__ import annotations

import shutil
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
    folders_with,
    is_usable_glob,
    literal_glob,
    outermost_of,
    text_in,
    walk,
)
from verdigris.languages.starter import RequiredTool, ScaffoldForm, Script, StarterTools, module_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verdigris.languages.folders import Folder
    from verdigris.languages.starter import FindPython


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
"""`mod tests;` names a file `tests.rs`. A build script decides how the code under test is built."""


_LIBRARY = ("test", "doctest", "harness", "path")
_PROGRAM = ("name", "test", "harness")
_PACKAGE = ("autotests", "autobenches", "build")
_WHOLE = ("test", "bench", "dev-dependencies", "dev_dependencies", "patch", "replace")
"""Tests assert with `[dev-dependencies]`, and source needs no new one; `patch` and `replace` can put another
crate in the place of any of them. `[features]` and `[dependencies]` may change, since source needs them; if a
feature removes a test, the verdict notices that the test is missing."""


def manifest(text: str) -> bytes:
    document: Any = tomllib.loads(text)
    found: dict[str, Any] = {key: at(document, key) for key in _WHOLE}
    found["lib"] = only(at(document, "lib"), _LIBRARY)
    found["package"] = only(at(document, "package"), _PACKAGE)
    # Cargo builds a test with the profile `test`, which inherits from `dev`.
    found["profile"] = only(at(document, "profile"), ("test", "dev"))
    for kind in ("bin", "example"):
        found[kind] = _programs(at(document, kind))
    targets = at(document, "target")
    if isinstance(targets, dict):
        keys = ("dev-dependencies", "dev_dependencies")
        found["target"] = {name: own for name, table in targets.items() if (own := only(table, keys))} or None
    return canonical(found)


def _programs(tables: Any) -> list[Any] | None:
    """The programs whose tables say whether or how they are tested; None if there are none."""
    told = [only(table, _PROGRAM) or {} for table in tables] if isinstance(tables, list) else []
    return [table for table in told if table.keys() - {"name"}] or None


def find_stacks(known: Sequence[Folder]) -> FoundStacks:
    """Makes one stack of a workspace, at its root, since cargo builds and tests it as one."""
    places = outermost_of(folders_with(known, ["Cargo.toml"]))
    return FoundStacks(tuple(Stack(root=place, language="rust", runner="cargo") for place in places))


def layout(home: Path) -> Detected:
    return Detected(flat=True, tests=_declared_tests(home))


def _declared_tests(home: Path) -> tuple[str, ...]:
    """The folders that `[[test]]` tables of a crate name for tests outside of `tests/`."""
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


_WORDS = """\
abstract alloc as async await become box break const continue core crate do dyn else enum extern false
final fn for gen if impl in let loop macro match mod move mut override priv proc_macro pub ref return
self static std struct super test tests trait true try type typeof unsafe unsized use virtual where
while yield build deps examples incremental"""
TAKEN = frozenset(_WORDS.split())
"""Keywords of Rust, crates that always exist, and names of cargo's own folders."""

_EDITION = "2021"
_CARGO = f"""\
[package]
name = "{{name}}"
version = "0.1.0"
edition = "{_EDITION}"

[dependencies]
"""
_LOCK = """\
# This file is automatically @generated by Cargo.
# It is not intended for manual editing.
version = 4

[[package]]
name = "{name}"
version = "0.1.0"
"""
_TOOLCHAIN = """\
[toolchain]
channel = "stable"
components = ["clippy", "rustfmt"]
"""
_SMOKE = """\
//! Shows that the tools work and find the crate; the kata's own tests stand beside it.

use {module} as _;

#[test]
fn the_crate_can_be_linked() {{
    assert_eq!(env!("CARGO_PKG_NAME"), "{name}");
}}
"""
_CHECK = "cargo clippy --quiet --offline --all-targets -- -D warnings"
_MISSING = "install Rust (rustup brings cargo, clippy and rustfmt)"


def form(name: str, title: str) -> ScaffoldForm:
    return ScaffoldForm(
        "Cargo.toml",
        {
            "Cargo.toml": _CARGO.format(name=name),
            "Cargo.lock": _LOCK.format(name=name),
            "rust-toolchain.toml": _TOOLCHAIN,
            "src/lib.rs": f"//! {title}.\n",
            "tests/smoke.rs": _SMOKE.format(name=name, module=module_name(name)),
        },
        ("/target",),
    )


def equipment(_root: Path, _find_python: FindPython) -> StarterTools:
    stack = Stack(language="rust", runner="cargo", check=_CHECK, format=f"rustfmt --edition {_EDITION}")
    return StarterTools(stack, () if shutil.which("cargo") else (_MISSING,))


_MANIFEST = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n'
_DEMO_LOCK = 'version = 3\n\n[[package]]\nname = "calc"\nversion = "0.1.0"\n'
_ADD = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"
_SUB = "\npub fn sub(a: i32, b: i32) -> i32 {\n    a - b\n}\n"
_STUB = "\npub fn sub(_a: i32, _b: i32) -> i32 {\n    todo!() // STUB:TDD\n}\n"
_MODULE = """
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(2, 3), 5);
    }
"""
_EASY = "\n    #[test]\n    fn adds_zero() {\n        assert_eq!(add(2, 0), 2);\n    }\n"
_ASKED = "\n    #[test]\n    fn subtracts() {\n        assert_eq!(sub(5, 3), 2);\n    }\n"
_TESTS = _MODULE + "}\n"
_REAL = _MODULE + _ASKED + "}\n"
_WEAKER = _REAL.replace("assert_eq!(sub(5, 3), 2)", "assert!(sub(5, 3) > 0)")
_FILE = "src/lib.rs"

_NO_CARGO = "install Rust (rustup), and have `cargo` on PATH"
_BROKEN = "`rustup default stable` installs a toolchain; `cargo --version` has to work"


def script() -> Script:
    return Script(
        files={
            "Cargo.toml": _MANIFEST,
            "Cargo.lock": _DEMO_LOCK,
            ".gitignore": "/target\n",
            _FILE: _ADD + _TESTS,
        },
        source=_FILE,
        tests=_FILE,
        nothing_new=f"{_FILE}::tests::adds_zero",
        asked=f"{_FILE}::tests::subtracts",
        eager=_ADD + _SUB + _TESTS,
        easy=_ADD + _MODULE + _EASY + "}\n",
        real=_ADD + _REAL,
        stub=_ADD + _STUB + _REAL,
        weaker=_ADD + _STUB + _WEAKER,
        careless=_ADD.replace("a + b", "a - b") + _SUB + _REAL,
        good=_ADD + _SUB + _REAL,
        needs=RequiredTool("cargo", "--version", _NO_CARGO, _BROKEN),
    )
