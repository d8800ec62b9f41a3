"""Finds the stacks, places and test tables of a Rust project; and holds its scaffold and the demo."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

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
    Folder,
    FoundStacks,
    folders_with,
    is_usable_glob,
    literal_glob,
    outermost_of,
    text_in,
    walk,
)
from verdigris.languages.protocol import Project
from verdigris.languages.starter import (
    FindPython,
    RequiredTool,
    Scaffolder,
    ScaffoldForm,
    Script,
    Starter,
    StarterTools,
    module_name,
    read_texts,
)

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


def _manifest(text: str) -> bytes:
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
_TAKEN = frozenset(_WORDS.split())
"""Keywords of Rust, crates that always exist, and names of cargo's own folders."""

_EDITION = "2021"
_TEXTS = Path(__file__).with_name("starter.txt")
"""The texts of the scaffold, and those of the demo."""
_CHECK = "cargo clippy --quiet --offline --all-targets -- -D warnings"
_MISSING = "install Rust (rustup brings cargo, clippy and rustfmt)"


def _form(name: str, title: str) -> ScaffoldForm:
    paths = ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "src/lib.rs", "tests/smoke.rs")
    texts = read_texts(_TEXTS) | {"src/lib.rs": f"//! {title}.\n"}
    files = {
        path: texts[path].replace("{name}", name).replace("{module}", module_name(name)) for path in paths
    }
    return ScaffoldForm("Cargo.toml", files, ("/target",))


def _equipment(_root: Path, _find_python: FindPython) -> StarterTools:
    stack = Stack(language="rust", runner="cargo", check=_CHECK, format=f"rustfmt --edition {_EDITION}")
    return StarterTools(stack, () if shutil.which("cargo") else (_MISSING,))


_FILE = "src/lib.rs"

_NO_CARGO = "install Rust (rustup), and have `cargo` on PATH"
_BROKEN = "`rustup default stable` installs a toolchain; `cargo --version` has to work"


def _script() -> Script:
    """The tests stand in the file of the source."""
    texts = read_texts(_TEXTS)
    names = ("add", "sub", "stub", "tests", "easy", "asked")
    add, sub, stub, module, easy, asked = (texts[f"demo/{name}.rs"] for name in names)
    tests, real = f"{module}}}\n", f"{module}{asked}}}\n"
    return Script(
        files={
            "Cargo.toml": texts["demo/Cargo.toml"],
            "Cargo.lock": texts["demo/Cargo.lock"],
            ".gitignore": "/target\n",
            _FILE: add + tests,
        },
        source=_FILE,
        tests=_FILE,
        nothing_new=f"{_FILE}::tests::adds_zero",
        asked=f"{_FILE}::tests::subtracts",
        eager=add + sub + tests,
        easy=f"{add}{module}{easy}}}\n",
        real=add + real,
        stub=add + stub + real,
        weaker=add + stub + real.replace("assert_eq!(sub(5, 3), 2)", "assert!(sub(5, 3) > 0)"),
        careless=add.replace("a + b", "a - b") + sub + real,
        good=add + sub + real,
        needs=RequiredTool("cargo", "--version", _NO_CARGO, _BROKEN),
    )


class RustProject(Project):
    bare_runner = "cargo"

    def conventions(self, runner: str) -> Usual:  # noqa: ARG002 - one tool
        return PLACES

    def runner_keys(self, name: str, text: str) -> bytes:  # noqa: ARG002 - one manifest
        return _manifest(text)

    def layout(self, home: Path) -> Detected:
        return Detected(flat=True, tests=_declared_tests(home))

    def detect(self, root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks:  # noqa: ARG002 - a mark is enough
        """Makes one stack of a workspace, at its root, since cargo builds and tests it as one."""
        places = outermost_of(folders_with(known, ["Cargo.toml"]))
        return FoundStacks(tuple(Stack(root=place, language="rust", runner="cargo") for place in places))

    def starter(self) -> Starter:
        return Starter(_script, Scaffolder(_TAKEN, _form, _equipment))
