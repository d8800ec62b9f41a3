"""Finds the language of a file, and asks it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core import languages
from verdigris.core.languages import PYTHON, RUST, language_of
from verdigris.core.paths import PathClass
from verdigris.languages import conventions as others
from verdigris.languages.assertions import Reading
from verdigris.languages.findings import StubFinding
from verdigris.languages.go import conventions as go
from verdigris.languages.grammar.trees import grammar_of, tree_of
from verdigris.languages.node import conventions as node
from verdigris.languages.python import conventions as python
from verdigris.languages.python.missing_names import stub_of_edit
from verdigris.languages.python.stubs import only_stubs as only_python_stubs
from verdigris.languages.python.syntax import same_python_tree
from verdigris.languages.runner_keys import is_mixed, same_oracle_part
from verdigris.languages.rust import conventions as rust
from verdigris.languages.rust import test_regions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from verdigris.core.actions import FileWrite
    from verdigris.core.settings import Stack
    from verdigris.languages.conventions import Usual
    from verdigris.languages.grammar.stubs import Forms
    from verdigris.languages.grammar.suite import Suite
    from verdigris.languages.grammar.trees import Unparsed


def usual(stack: Stack) -> Usual:
    match stack.language:
        case "python":
            return python.PLACES
        case "node":
            return node.places(stack.runner)
        case "rust":
            return rust.PLACES
        case "go":
            return go.PLACES
        case language:
            return others.places(language)


def beyond_stubs(path: str, before: bytes | None, after: bytes) -> StubFinding | None:
    """Where a change of source is more than stubs, and why; of Rust, tests among the source do not count."""
    language = language_of(path)
    if language == RUST:
        before, after = (
            None if before is None else test_regions.without_tests(before),
            test_regions.without_tests(after),
        )
    if before is not None and is_same_tree(path, before, after):
        return None
    if language in {PYTHON, None}:
        return only_python_stubs(None if before is None else _text(before), _text(after))
    from verdigris.languages.grammar.stubs import only_stubs

    if not is_read(path):
        return StubFinding(
            1, f"no grammar reads {path.rpartition('.')[2]} files here, so it counts as an edit"
        )
    return only_stubs(_forms(path), path, before, after)


def _forms(path: str) -> Forms:
    from verdigris.languages.grammar.trees import grammar_of

    match grammar_of(path):
        case "rust":
            from verdigris.languages.rust.stubs import RustForms

            return RustForms()
        case "go":
            from verdigris.languages.go.stubs import GoForms

            return GoForms()
        case _:
            from verdigris.languages.node.stubs import NodeForms

            return NodeForms()


def is_same_tree(path: str, before: bytes, after: bytes) -> bool:
    """Whether comments and layout are all that differs; False where nobody can read the language."""
    if language_of(path) in {PYTHON, None}:
        return same_python_tree(_text(before), _text(after))
    from verdigris.languages.grammar.trees import grammar_of, same_tree

    return grammar_of(path) is not None and same_tree(path, before, after)


def is_read(path: str) -> bool:
    """Whether a grammar reads the file."""
    if language_of(path) in {PYTHON, None}:
        return False
    from verdigris.languages.grammar.trees import grammar_of

    return grammar_of(path) is not None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def with_facts(file: FileWrite) -> FileWrite:
    """The write with what its language tells of it: more than stubs? a change of the oracle's part?"""
    path = file.path or file.spelling
    mixed = is_mixed(path, file.cls) and not same_oracle_part(path, file.before, file.after)
    file = replace(file, changes_oracle=mixed)
    if file.cls is not PathClass.SOURCE or file.after is None:
        return file
    found = beyond_stubs(path, file.before, file.after)
    return with_stub_facts(file, found)


def with_stub_facts(file: FileWrite, found: StubFinding | None) -> FileWrite:
    """`found`: where the change is more than stubs."""
    why = "" if found is None else f"line {found.line}: {found.why}"
    is_python = language_of(file.path or "") == PYTHON
    stub = stub_of_edit(file.before or b"", file.after or b"") if is_python else ""
    return replace(file, beyond_stubs=why, stub=stub)


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
