"""`read`: the tests of a file with what they assert."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core import languages
from verdigris.languages.assertions import Reading
from verdigris.languages.grammar.trees import grammar_of, tree_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from verdigris.languages.grammar.suite import Suite
    from verdigris.languages.grammar.trees import Unparsed


def read(path: str, data: bytes) -> Reading:
    """`path` must have a grammar."""
    return read_all({path: data})[path]


def read_all(files: Mapping[str, bytes]) -> dict[str, Reading]:
    """Each may call the others' functions. Of what does not parse, as much as can be made out."""
    trees = {path: tree_of(path, data) for path, data in files.items()}
    suites = {path: suite_of(path) for path in trees}
    for path, suite in suites.items():
        suite.collect(trees[path][0])
    known = {path: (grammar_of(path), suite.functions) for path, suite in suites.items()}
    for path, suite in suites.items():
        kin = (functions for language, functions in known.values() if language == grammar_of(path))
        suite.shared = {name: node for functions in kin for name, node in functions.items()}
    return {path: _read(suites[path], *trees[path]) for path in files}


def _read(suite: Suite, root: Node, fault: Unparsed | None) -> Reading:
    try:
        return replace(suite.read(root), whole=fault is None)
    except RecursionError:
        return Reading(whole=False)


def suite_of(path: str) -> Suite:
    match grammar_of(path):
        case languages.RUST:
            from verdigris.languages.rust.tests import RustSuite

            return RustSuite(path)
        case languages.GO:
            from verdigris.languages.go.tests import GoSuite

            return GoSuite(path)
        case _:
            from verdigris.languages.node.tests import NodeSuite

            return NodeSuite(path)
