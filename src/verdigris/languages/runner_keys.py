"""Finds the oracle's part of a mixed file: the runner's keys, or tests among source."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from verdigris.core.paths import PathClass
from verdigris.languages.conventions import at, canonical, test_scripts
from verdigris.languages.rust import test_regions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from xml.etree.ElementTree import Element


_SECTIONS = frozenset({"setup.cfg", "tox.ini"})
_COMPILER = frozenset(
    {"tsconfig.json", "tsconfig.base.json", "tsconfig.test.json", "tsconfig.spec.json", "jsconfig.json"}
)
MIXED = (
    frozenset(
        {"pyproject.toml", "package.json", "Cargo.toml", "go.mod", "go.work", "pom.xml", "composer.json"}
    )
    | _SECTIONS
    | _COMPILER
)


def runner_keys(name: str, data: bytes) -> bytes:
    """Canonical bytes of the runner's part; empty when there is none.

    What cannot be parsed counts whole, so that breaking the syntax is a difference.
    """
    try:
        return _reader(name)(data.decode())
    except (ValueError, RecursionError):
        return data


def _reader(name: str) -> Callable[[str], bytes]:
    """Loaded when such a file is met: the gate meets few of them."""
    match name:
        case "package.json":
            from verdigris.languages.node import conventions as node_runnerkeys

            return node_runnerkeys.package
        case _ if name in _COMPILER:
            from verdigris.languages.node import conventions as node_runnerkeys

            return node_runnerkeys.compiler
        case "Cargo.toml":
            from verdigris.languages.rust import conventions as rust_runnerkeys

            return rust_runnerkeys.manifest
        case "go.mod" | "go.work":
            from verdigris.languages.go import conventions as go_runnerkeys

            return go_runnerkeys.module if name == "go.mod" else go_runnerkeys.workspace
        case "pom.xml" | "composer.json":
            return pom if name == "pom.xml" else composer
        case _:
            from verdigris.languages.python import conventions as python_runnerkeys

            return python_runnerkeys.pyproject if name == "pyproject.toml" else python_runnerkeys.sections


_WHOLE = frozenset({"build", "profiles", "parent"})
_PROPERTY = re.compile("test|surefire|failsafe|junit|argline|skip", re.IGNORECASE)
_LISTS = frozenset({"dependencies", "dependencyManagement"})


def composer(text: str) -> bytes:
    document: Any = json.loads(text)
    found = {key: at(document, key) for key in ("require-dev", "autoload-dev")}
    return canonical({**found, "scripts": test_scripts(document)})


def pom(text: str) -> bytes:
    """The build, what properties say of tests, and libraries of test scope; others come and go."""
    from xml.etree import ElementTree as ET

    try:
        root = ET.fromstring(text)  # noqa: S314 - expat bounds what entities grow to
    except ET.ParseError as error:
        raise ValueError(str(error)) from None
    return json.dumps(found).encode() if (found := list(_parts(root))) else b""


def _parts(root: Element) -> Iterator[Any]:
    for child in root:
        name = _name(child)
        if name in _WHOLE:
            yield _plain(child)
        elif name == "properties":
            yield from (_plain(each) for each in child if _PROPERTY.search(_name(each)))
        elif name in _LISTS:
            yield from (_plain(each) for each in child.iter() if _is_for_tests(each))


def _is_for_tests(element: Element) -> bool:
    scopes = (child.text for child in element if _name(child) == "scope")
    return _name(element) == "dependency" and any((scope or "").strip() == "test" for scope in scopes)


def _plain(element: Element) -> list[Any]:
    return [_name(element), (element.text or "").strip(), [_plain(child) for child in element]]


def _name(element: Element) -> str:
    """Without its namespace."""
    return str(element.tag).rpartition("}")[2]


MIXED_SOURCE = (".rs",)
"""Endings of source that may hold tests."""


def holds_tests(path: str, cls: PathClass) -> bool:
    """Whether tests may stand among the source of this file."""
    return cls is PathClass.SOURCE and path.endswith(MIXED_SOURCE)


def is_mixed(path: str, cls: PathClass) -> bool:
    """Whether a part of the file may be the oracle's while the rest is not."""
    folder, _, name = path.rpartition("/")
    return (name in MIXED and "node_modules" not in folder.split("/")) or holds_tests(path, cls)


def oracle_part(path: str, data: bytes) -> bytes:
    """Canonical bytes of what decides; empty when there is nothing. What cannot be read counts whole."""
    name = path.rpartition("/")[2]
    return runner_keys(name, data) if name in MIXED else test_regions.oracle_part(data)


def same_oracle_part(path: str, before: bytes | None, after: bytes | None) -> bool:
    return before == after or oracle_part(path, before or b"") == oracle_part(path, after or b"")
