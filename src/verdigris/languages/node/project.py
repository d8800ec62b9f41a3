"""What a project of JavaScript or TypeScript looks like: its stacks, their usual places, its runner keys.

A stack is found by its `package.json`. A runner's configuration tells which files it loads around the tests.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from verdigris.core.languages import FACTS
from verdigris.core.paths import NODE_MODULES, Detected
from verdigris.core.settings import Stack
from verdigris.core.value import value
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
    test_scripts,
)
from verdigris.languages.folders import (
    PACKAGES_DEPTH,
    FoundStacks,
    holding,
    holds_suffix,
    is_below,
    is_usable_glob,
    literal_glob,
    text_in,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verdigris.languages.folders import Folder


_SCRIPT = r"\.[cm]?[jt]sx?"
_CONFIGURED_BY = {
    "vitest": (r"vite\.config\.[^/]*",),
    "jest": (r"babel\.config\.[^/]*", r"\.babelrc[^/]*", r"\.swcrc"),
}
"""Vite's configuration holds vitest's, and what jest runs is what Babel made of it; beside another runner
these are plain build files."""
_NAMED = {"node-test": rf"(?:.*/)?(?:test|test-[^/]*|[^/]*[-_]test){_SCRIPT}\Z"}
"""Names by which node itself finds tests; elsewhere `ab-test.ts` may well be source."""

_TESTS = (
    at_root("e2e", "cypress", "playwright", "specs?", "testdata", "fixtures"),
    anywhere("tests?", "__tests__", "__mocks__", "__snapshots__", "__fixtures__", r"[^/]*\.snap"),
    r"(?:.*/)?[^/]*\.(?:test|spec|test-d|e2e-spec|cy)\.[^/]*\Z",
    rf"(?:.*/)?(?:setup-?[Tt]ests?|test-?(?:[Ss]etup|[Uu]tils?|[Hh]elpers?)){_SCRIPT}\Z",
)
_RUNNER = (
    r"(?:vitest|jest)[.-][^/]*",
    r"(?:playwright|cypress|ava|wdio)\.config\.[^/]*",
    r"karma\.conf\.[^/]*",
    r"\.(?:mocharc|nycrc|c8rc)[^/]*",
)
_BUILT = anywhere("dist", "build", "out", "coverage", "storybook-static")
_PACKAGES = rf"(?:(?!(?:src|app|lib|tests?|__tests__)/)[^/]+/)*{NODE_MODULES}(?:/.*)?\Z"
"""No tool installs packages among the source or the tests: there it is a folder like others."""
_TRANSIENT = (
    _PACKAGES,
    anywhere(r"\.(?:next|nuxt|output|svelte-kit|turbo|cache|parcel-cache|nyc_output|vite)"),
    "(?!(?:app|lib|pages)/)" + outside("src|tests?|__tests__", _BUILT),
)
"""A folder `build` inside the source is a module's name rather than what a build made."""
_NOT_SOURCE = (
    r"\.",
    SIDE,
    outside("src|app|lib", rf"(?:.*/)?[^/]*\.(?:config|conf){_SCRIPT}\Z"),
    r"(?:.*/)?[^/]*\.d\.[cm]?ts\Z",
    r"(?:gulpfile|Gruntfile)\.",
)


def places(runner: str) -> Usual:
    return Usual(
        tests=any_of(*_TESTS, *([_NAMED[runner]] if runner in _NAMED else ())),
        runner=anywhere(*_RUNNER, *_CONFIGURED_BY.get(runner, ())),
        transient=any_of(*_TRANSIENT),
        not_source=any_of(*_NOT_SOURCE),
    )


_RUNNER_NAMES = ("jest", "vitest", "mocha", "ava", "c8", "nyc", "babel", "imports")
"""`imports` can lead what a test imports to another file; `babel` rewrites what jest runs."""
_RUNNERS = frozenset(
    (
        "vitest",
        "jest",
        "@jest/globals",
        "expect",
        "chai",
        "mocha",
        "ava",
        "ts-jest",
        "babel-jest",
        "@swc/jest",
    )
)
_DEPENDENCIES = ("dependencies", "devDependencies", "peerDependencies", "overrides", "resolutions")
"""Of these only what the runner itself is: other packages come and go while going green."""
_COMPILER = ("paths", "baseUrl", "rootDirs")
_JSONC = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)


def package(text: str) -> bytes:
    document: Any = json.loads(text)
    found = {key: at(document, key) for key in _RUNNER_NAMES}
    found |= {key: only(at(document, key), _RUNNERS) for key in _DEPENDENCIES}
    found["pnpm"] = only(at(document, "pnpm", "overrides"), _RUNNERS)
    found["scripts"] = test_scripts(document)
    return canonical(found)


def compiler(text: str) -> bytes:
    """What a test's imports lead to; written with comments and trailing commas."""
    document: Any = json.loads(_JSONC.sub(lambda found: found[1] or " ", text))
    found = {key: at(document, "compilerOptions", key) for key in _COMPILER}
    return canonical({**found, "extends": at(document, "extends")})


_TOOLS = ("vitest", "jest")
_FOREIGN = (
    "mocha",
    "ava",
    "karma",
    "jasmine",
    "tap",
    "uvu",
    "react-scripts",
    "@angular/cli",
    "@playwright/test",
)
_NODE_TEST = re.compile(r"\bnode\b[^&|;]*\s--test\b")
_IMPORTED = re.compile(r"""(?:from|import|require\()\s*["']node:test["']""")
_DELEGATED = re.compile(r"(?:--workspaces?|-ws|--recursive|-r|--filter|turbo|lerna|nx|wsrun|ultra)\b")
_MAY_TEST = re.compile(r"(?:.*[._-])?(?:test|spec)[^/]*\.[cm]?[jt]sx?")
_MANY = 50


@value
class _Package:
    place: str
    runner: str | None
    """What its own scripts and dependencies name."""
    runs_all: bool
    """It has workspaces, and its own script runs the tool over all of them."""
    tested: bool
    """It has a script or files for tests."""


def find_stacks(root: Path, known: Sequence[Folder]) -> FoundStacks:
    stacks: dict[str, Stack] = {}
    above: dict[str, _Package] = {}
    notes = []
    for place in holding(known, ["package.json"]):
        package = _package(root, place)
        outer = [above[at] for at in above if is_below(place, at)]
        runner = package.runner or (_inherited_runner(outer) if package.tested else None)
        covered = any(p.runs_all and p.place in stacks and runner in {None, p.runner} for p in outer)
        above[place] = package
        if covered:
            continue
        if runner is not None and not _only_delegates(root, place):
            stacks[place] = Stack(root=place, language="node", runner=runner)
        elif not any(p.place in stacks for p in outer) and (note := _note(root, known, place)):
            notes.append(note)
    return FoundStacks(tuple(stacks.values()), () if stacks else tuple(notes))


def manifest(home: Path) -> dict[str, Any]:
    """What package.json says; nothing where it is not there or broken."""
    try:
        document = json.loads(text_in(home, "package.json"))
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _package(root: Path, place: str) -> _Package:
    home = root / place
    document = manifest(home)
    is_workspace = bool(document.get("workspaces")) or (home / "pnpm-workspace.yaml").is_file()
    script = _test_scripts(document)
    runner = (
        _tool_in_script(script)
        or _runner_of_dependencies(document)
        or ("node-test" if _imports_node_test(home) else None)
    )
    return _Package(
        place,
        runner,
        runs_all=is_workspace and _tool_in_script(script) is not None and not _DELEGATED.search(script),
        tested=bool(script) or any(True for _ in _test_files(home)),
    )


def _only_delegates(root: Path, place: str) -> bool:
    """A root whose script hands over to its workspaces has no tests of its own to run."""
    script = _test_scripts(manifest(root / place))
    return bool(_DELEGATED.search(script)) and _tool_in_script(_DELEGATED.split(script)[0]) is None


def _inherited_runner(outer: list[_Package]) -> str | None:
    """The runner of the nearest folder above: a workspace's tools often stand at its root alone."""
    return next((package.runner for package in reversed(outer) if package.runner), None)


def _test_scripts(document: dict[str, Any]) -> str:
    scripts = document.get("scripts")
    named = scripts.items() if isinstance(scripts, dict) else ()
    texts = (str(text) for name, text in named if str(name).partition(":")[0] == "test")
    return " ; ".join(text for text in texts if "no test specified" not in text)


def _tool_in_script(script: str) -> str | None:
    for tool in _TOOLS:
        if re.search(rf"(?<![\w@/-]){tool}(?![\w-])", script):
            return tool
    return "node-test" if _NODE_TEST.search(script) else None


def _runner_of_dependencies(document: dict[str, Any]) -> str | None:
    known = _dependencies(document)
    return next((tool for tool in _TOOLS if tool in known), None)


def _dependencies(document: dict[str, Any]) -> set[str]:
    tables = (document.get(key) for key in ("dependencies", "devDependencies"))
    return {str(name) for table in tables if isinstance(table, dict) for name in table}


def _imports_node_test(home: Path) -> bool:
    return any(_IMPORTED.search(text_in(home, path)) for path in _test_files(home))


def _test_files(home: Path) -> Iterator[str]:
    return islice(_all_test_files(home), _MANY)


def _all_test_files(home: Path) -> Iterator[str]:
    for folder, inner, files in walk(home):
        if folder != "." and "package.json" in files:
            inner.clear()
            continue
        in_tests = bool({"test", "tests", "__tests__"} & set(folder.split("/")))
        for name in sorted(files):
            if _MAY_TEST.fullmatch(name) or (in_tests and name.endswith(FACTS["node"].suffixes)):
                yield f"{folder}/{name}"


def bare(root: Path, known: Sequence[Folder]) -> FoundStacks:
    """A package in which nothing is written yet."""
    return FoundStacks(notes=(_unknown(root, "."),)) if "package.json" in known[0].files else FoundStacks()


def _note(root: Path, known: Sequence[Folder], place: str) -> str:
    """Nothing for a package without code: beside other stacks it may be there for a linter alone."""
    return _unknown(root, place) if holds_suffix(known, place, FACTS["node"].suffixes) else ""


def _unknown(root: Path, place: str) -> str:
    file = "package.json" if place == "." else f"{place}/package.json"
    depended = _dependencies(manifest(root / place))
    if foreign := next((tool for tool in _FOREIGN if tool in depended), None):
        return f"{file} tests with {foreign}, which has no runner here: vitest, jest and node:test have"
    return f'{file} names no test tool: add vitest or jest, or node\'s own ("test": "node --test")'


Version = tuple[int, ...]
_BOUND = re.compile(r"(\^|~|>=|<=|>|<|=)?\s*v?(\d+(?:\.(?:\d+|[x*]))*)")


def version(text: str) -> Version:
    """The first that stands in a text; empty where there is none."""
    found = re.search(r"\d+(\.\d+)*", text)
    return tuple(map(int, found.group().split("."))) if found else ()


def fits(found: Version, wanted: str) -> bool:
    """Whether one alternative between `||` holds; what is not understood holds."""
    choices = [_BOUND.findall(choice) for choice in wanted.split("||")]
    return not all(choices) or any(all(_holds(found, *bound) for bound in choice) for choice in choices)


def _holds(found: Version, sign: str, bound: str) -> bool:
    given = tuple(int(part) for part in bound.split(".") if part.isdigit())
    full = (*given, 0, 0)[:3]
    match sign:
        case ">=":
            return found >= full
        case "<":
            return found < full
        case ">":
            return found > full
        case "<=":
            return found <= full or found[: len(given)] == given
        case "^":
            fixed = 1 if full[0] else 2
            return found >= full and found[:fixed] == full[:fixed]
        case "~":
            return found >= full and found[:2] == full[:2]
        case _:
            return found[: len(given)] == given


_SETUP = re.compile(
    r"""["']?\b(?:setupFiles\w*|globalSetup|globalTeardown|snapshotSerializers|testEnvironment|runner)["']?\s*:\s*"""
    r"""(\[[^\]]*\]|["'`][^"'`\n]*["'`])"""
)
_QUOTED = re.compile(r"""["'`](?:<rootDir>/|\./)?([^"'`\n]+)["'`]""")
_NODE_CONFIG = frozenset(
    f"{name}.{end}"
    for name in ("vitest.config", "vite.config", "jest.config", "vitest.workspace")
    for end in ("ts", "mts", "cts", "js", "mjs", "cjs", "json")
) | {"package.json"}


def layout(home: Path) -> Detected:
    return Detected(flat=True, tests=_setup_files(home))


def _setup_files(home: Path) -> tuple[str, ...]:
    """Files that a runner's configuration, also a package's own, says it loads before or around the tests."""
    found: dict[str, None] = {}
    for folder, _, files in walk(home, PACKAGES_DEPTH):
        if configured := sorted(_NODE_CONFIG & frozenset(files)):
            named = (path for text in _texts(home / folder, configured) for path in _named_files(text))
            found |= dict.fromkeys(f"{folder}/{path}".removeprefix("./") for path in named)
    return tuple(literal_glob(path) for path in found if _is_ours(home, path))


def _texts(folder: Path, configured: list[str]) -> Iterator[str]:
    yield json.dumps(manifest(folder).get("jest"))
    yield text_in(folder, *(name for name in configured if name != "package.json"))


def _named_files(text: str) -> Iterator[str]:
    return (path for words in _SETUP.findall(text) for path in _QUOTED.findall(words))


def _is_ours(home: Path, path: str) -> bool:
    return (
        not path.startswith("/")
        and ".." not in path
        and (home / path).is_file()
        and is_usable_glob(literal_glob(path))
    )
