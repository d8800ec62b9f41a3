"""Which part of a mixed file belongs to the oracle: the keys that the test runner reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

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
            from verdigris.core.runnerkeys import node

            return node.package
        case _ if name in _COMPILER:
            from verdigris.core.runnerkeys import node

            return node.compiler
        case "Cargo.toml":
            from verdigris.core.runnerkeys import rust

            return rust.manifest
        case "go.mod" | "go.work":
            from verdigris.core.runnerkeys import go

            return go.module if name == "go.mod" else go.workspace
        case "pom.xml" | "composer.json":
            from verdigris.core.runnerkeys import others

            return others.pom if name == "pom.xml" else others.composer
        case _:
            from verdigris.core.runnerkeys import python

            return python.pyproject if name == "pyproject.toml" else python.sections
