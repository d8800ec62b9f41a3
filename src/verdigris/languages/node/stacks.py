"""Finds the stacks of a project of JavaScript or TypeScript by its `package.json` files."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from verdigris.core.languages import FACTS
from verdigris.core.settings import Stack
from verdigris.core.value import value
from verdigris.languages.folders import FoundStacks, folders_with, holds_suffix, is_below, text_in, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verdigris.languages.folders import Folder


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
class _NodePackage:
    place: str
    runner: str | None
    """The test tool that its own scripts, dependencies or test files name; None if there is none."""
    runs_all: bool
    """True if it has workspaces and its own script runs the tool over all of them."""
    tested: bool
    """True if it has a test script or test files."""


def find_stacks(root: Path, known: Sequence[Folder]) -> FoundStacks:
    stacks: dict[str, Stack] = {}
    packages: dict[str, _NodePackage] = {}
    notes = []
    for place in folders_with(known, ["package.json"]):
        package = _package(root, place)
        outer = [packages[at] for at in packages if is_below(place, at)]
        # A workspace often lists its tools only at its root.
        nearest = next((above.runner for above in reversed(outer) if above.runner), None)
        runner = package.runner or (nearest if package.tested else None)
        covered = any(p.runs_all and p.place in stacks and runner in {None, p.runner} for p in outer)
        packages[place] = package
        if covered:
            continue
        if runner is not None and not _only_delegates(root, place):
            stacks[place] = Stack(root=place, language="node", runner=runner)
        elif not any(p.place in stacks for p in outer) and holds_suffix(known, place, FACTS["node"].suffixes):
            notes.append(_describe_no_tool(root, place))
    return FoundStacks(tuple(stacks.values()), () if stacks else tuple(notes))


def manifest(home: Path) -> dict[str, Any]:
    """The content of `package.json`; empty if it is missing or broken."""
    try:
        document = json.loads(text_in(home, "package.json"))
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _package(root: Path, place: str) -> _NodePackage:
    home = root / place
    document = manifest(home)
    is_workspace = bool(document.get("workspaces")) or (home / "pnpm-workspace.yaml").is_file()
    script = _test_scripts(document)
    depended = _dependencies(document)
    runner = _tool_in_script(script) or next((tool for tool in _TOOLS if tool in depended), None)
    if runner is None and any(_IMPORTED.search(text_in(home, path)) for path in _test_files(home)):
        runner = "node-test"
    return _NodePackage(
        place,
        runner,
        runs_all=is_workspace and _tool_in_script(script) is not None and not _DELEGATED.search(script),
        tested=bool(script) or any(True for _ in _test_files(home)),
    )


def _only_delegates(root: Path, place: str) -> bool:
    """Whether the test script only runs those of the workspaces, so that the root has no tests of its own."""
    script = _test_scripts(manifest(root / place))
    return bool(_DELEGATED.search(script)) and _tool_in_script(_DELEGATED.split(script)[0]) is None


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


def _dependencies(document: dict[str, Any]) -> set[str]:
    tables = (document.get(key) for key in ("dependencies", "devDependencies"))
    return {str(name) for table in tables if isinstance(table, dict) for name in table}


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


def find_bare(root: Path, known: Sequence[Folder]) -> FoundStacks:
    """Notes that a package without code names no test tool."""
    return (
        FoundStacks(notes=(_describe_no_tool(root, "."),))
        if "package.json" in known[0].files
        else FoundStacks()
    )


def _describe_no_tool(root: Path, place: str) -> str:
    file = "package.json" if place == "." else f"{place}/package.json"
    depended = _dependencies(manifest(root / place))
    if foreign := next((tool for tool in _FOREIGN if tool in depended), None):
        return f"{file} tests with {foreign}, which has no runner here: vitest, jest and node:test have"
    return f'{file} names no test tool: add vitest or jest, or node\'s own ("test": "node --test")'
