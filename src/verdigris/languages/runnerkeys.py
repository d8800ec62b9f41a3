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
            from verdigris.languages.node import node_runnerkeys

            return node_runnerkeys.package
        case _ if name in _COMPILER:
            from verdigris.languages.node import node_runnerkeys

            return node_runnerkeys.compiler
        case "Cargo.toml":
            from verdigris.languages.rust import rust_runnerkeys

            return rust_runnerkeys.manifest
        case "go.mod" | "go.work":
            from verdigris.languages.go import go_runnerkeys

            return go_runnerkeys.module if name == "go.mod" else go_runnerkeys.workspace
        case "pom.xml" | "composer.json":
            from verdigris.languages import others_runnerkeys

            return others_runnerkeys.pom if name == "pom.xml" else others_runnerkeys.composer
        case _:
            from verdigris.languages.python import python_runnerkeys

            return python_runnerkeys.pyproject if name == "pyproject.toml" else python_runnerkeys.sections
