"""Finds the tests in the text of a Python file, reads their facts, and marks one as skipped."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from verdigris.languages.assertions import is_in_scope, skip_of
from verdigris.languages.findings import TestFacts, WrittenTest
from verdigris.languages.literals import quote_line
from verdigris.languages.python.same_code import declares_encoding, foreign_encoding
from verdigris.languages.python.stubs.forms import Function, is_docstring, last_name
from verdigris.languages.python.syntax import CODING_LINE, first_line, lines_of, parse_or_none, split_lines
from verdigris.languages.python.tests import collected_tests, decorators, definitions, is_fixture, read
from verdigris.languages.python.tests.assertion_places import reached_assertions
from verdigris.languages.python.tests.code import Files
from verdigris.languages.python.tests.marks import marks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def written_tests(text: str, known: Collection[str]) -> Iterator[WrittenTest]:
    """Finds tests. `known`: names that runs reported, since a project may collect tests of other names."""
    if (tree := parse_or_none(text)) is None:
        return
    names = {*(name for name, _ in collected_tests(tree)), *known}
    # The last definition of a name counts.
    for name, node in reversed([*definitions(tree.body)]):
        if name in names and isinstance(node, Function):
            yield WrittenTest(name, *lines_of(node))


def stands(text: str, function: str) -> bool:
    """Whether the text defines a test, or a class of tests, of this qualified name."""
    return any(True for _ in _definitions_of(text, function))


def _definitions_of(text: str, name: str) -> Iterator[Function | ast.ClassDef]:
    tree = parse_or_none(text)
    return (node for known, node in definitions(() if tree is None else tree.body) if known == name)


def cut_test(text: str, name: str) -> str:
    """Removes a test, or a class of tests, from a text; a text that does not parse stays as it is."""
    lines = text.splitlines(keepends=True)
    for node in sorted(_definitions_of(text, name), key=first_line, reverse=True):
        first = first_line(node)
        indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
        lines[first - 1 : node.end_lineno] = [f"{indent}pass\n"]
    return "".join(lines)


def expressions(text: str, lines: Collection[int]) -> list[str]:
    """The expressions that begin on the given lines."""
    if (tree := parse_or_none(text)) is None:
        return []
    return [
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.expr) and node.lineno in lines
    ]


def read_test_facts(path: str, text: str, name: str) -> TestFacts | None:
    """The facts of the named function, which is a test by any name; None if it is missing or a fixture."""
    files = Files({path: text})
    code = files.code(path)
    function = None if code is None else code.functions.get(name)
    if code is None or function is None or is_fixture(function):
        return None
    inside = (shown.what for shown in read(text).assertions if is_in_scope(shown.scope, name))
    rows = sum(what.startswith("parametrize ") for what in inside)
    asserted = sum(1 for _ in reached_assertions(files, code, name))
    return TestFacts(asserted, rows, skip_of(name, marks(code.tree)))


def mark_skipped(text: str, name: str, why: str) -> str | None:
    """See `Language.with_skip`."""
    tree = parse_or_none(text)
    if tree is None or foreign_encoding(text) is not None:
        return None
    bare_name = name.partition("[")[0]
    everything = list(definitions(tree.body))
    functions = [node for known, node in everything if known == bare_name and isinstance(node, Function)]
    if not functions:
        return None
    running = [function for function in functions if "skip" not in decorators(function)]
    if not running:
        return text
    # A class with a base may be a `TestCase`, which only knows unittest's decorators.
    owners = [node for known, node in everything if known == bare_name.rpartition("::")[0]]
    bases = [base for node in owners if isinstance(node, ast.ClassDef) for base in node.bases]
    module = "unittest" if any(last_name(base) != "object" for base in bases) else "pytest"
    alias = _alias(tree, module, min(function.lineno for function in functions))
    reason = quote_line(why)
    if declares_encoding(text):
        reason = reason.encode("ascii", "backslashreplace").decode()
    mark = f"skip({reason})" if module == "unittest" else f"mark.skip(reason={reason})"
    bare = text.removeprefix("\ufeff")
    lines = split_lines(bare)
    end = lines[0][len(lines[0].rstrip("\r\n")) :] or "\n"
    for node in sorted(running, key=lambda node: -node.lineno):
        at = first_line(node) - 1
        indent = lines[at][: node.col_offset]
        lines.insert(at, f"{indent}@{alias or module}.{mark}{end}")
    if not alias:
        _add_import(lines, tree, module, end)
    return "".join([text[: len(text) - len(bare)], *lines])


def _alias(tree: ast.Module, module: str, line: int) -> str | None:
    """The name of a module above this line; None if it is not imported, or only under a condition."""
    for node in tree.body:
        for alias in node.names if isinstance(node, ast.Import) and node.lineno < line else ():
            if alias.name == module:
                return alias.asname or module
    return None


def _add_import(lines: list[str], tree: ast.Module, module: str, end: str) -> None:
    """Adds an import in its place: before third-party imports, else after the last import, else on top."""
    heads = [node for node in tree.body[:1] if is_docstring(node)]
    rest = tree.body[len(heads) :]
    while rest and isinstance(rest[0], ast.ImportFrom) and rest[0].module == "__future__":
        heads.append(rest.pop(0))
    imports: list[ast.stmt] = []
    while rest and isinstance(rest[0], ast.Import | ast.ImportFrom):
        imports.append(rest.pop(0))
    behind = [node for node in imports if module in sys.stdlib_module_names or not _is_standard(node)]
    if behind:
        lines.insert(behind[0].lineno - 1, f"import {module}{end}")
    elif above := imports or heads:
        lines.insert(above[-1].end_lineno or 0, f"{end}import {module}{end}")
    else:
        top = [at for at, line in enumerate(lines[:2], 1) if line.startswith("#!") or CODING_LINE.match(line)]
        lines.insert(max(top, default=0), f"import {module}{end}{end}{end}")


def _is_standard(node: ast.stmt) -> bool:
    match node:
        case ast.ImportFrom(level=0, module=str(name)):
            return name.partition(".")[0] in sys.stdlib_module_names
        case ast.Import(names=names):
            return all(alias.name.partition(".")[0] in sys.stdlib_module_names for alias in names)
        case _:
            return False
