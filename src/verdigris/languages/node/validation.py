"""Finds matchers that are never called, callbacks that are not awaited, and mocks of the code under test."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verdigris.core.value import replace
from verdigris.languages.findings import TestFault
from verdigris.languages.grammar.language import GrammarValidation
from verdigris.languages.grammar.trees import (
    line_of,
    on_one_line,
    part,
    parts,
    short,
    text_of_node,
    tree_of,
    walk,
)
from verdigris.languages.node.imports import ALL, ImportedName, read_imported

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tree_sitter import Node

    from verdigris.languages.findings import TestText


_MODULES = frozenset({"vi.mock", "vi.doMock", "jest.mock", "jest.doMock", "jest.setMock", "mock.module"})
_SPIES = frozenset({"vi.spyOn", "jest.spyOn", "mock.method", "t.mock.method"})
_ACTUAL = re.compile(r"importActual|requireActual|importOriginal|\.\.\.\s*\(?\s*await")
_REPLACES = re.compile(r"\.(mock(ReturnValue|Implementation|Resolved|Rejected)\w*)\s*\(")
_ENDING = re.compile(r"\.[cm]?[jt]sx?$")


@dataclass(slots=True)
class _ModuleMocks:
    imports: dict[str, ImportedName] = field(default_factory=dict)
    """Imports from the project's own modules, by local name."""
    mocked: dict[tuple[str, str], int] = field(default_factory=dict)
    """Maps module and name to the line that mocks it; `*` for the whole module."""
    spied: dict[tuple[str, str], int] = field(default_factory=dict)
    """Maps object and method, as written, to the line that replaces the method."""
    made: dict[str, str] = field(default_factory=dict)
    """Maps variables to the class of their object."""


class NodeValidation(GrammarValidation):
    def empty_assertions(self, test: TestText) -> tuple[TestFault, ...] | None:
        faults, lines = super().empty_assertions(test), self._lines(test)
        if faults is None or lines is None:
            return None
        known = {fault.line for fault in faults}
        return (*faults, *(fault for fault in _find_unheard(test, *lines) if fault.line not in known))

    def mocked_subjects(self, test: TestText, sources: Collection[str]) -> tuple[TestFault, ...] | None:  # noqa: ARG002 - by relative paths
        lines = self._lines(test)
        return None if lines is None else _find_mocked_subjects(test, *lines)

    def _lines(self, test: TestText) -> tuple[int, int] | None:
        """The first and the last line of the test."""
        written = self.language.tests.written_tests(test.path, test.texts.get(test.path, ""), ())
        return next(((one.first, one.last) for one in written if one.name == test.name), None)


def _root_of(test: TestText) -> Node:
    return tree_of(test.path, test.texts[test.path].encode("utf-8", "surrogateescape"))[0]


def _find_mocked_subjects(test: TestText, first: int, last: int) -> tuple[TestFault, ...]:
    """Finds mocks of code that the test calls, between these lines."""
    root = _root_of(test)
    reading = _ModuleMocks()
    for node in walk(root):
        _take_bound(reading, node)
        _take_mock(reading, node)
    calls = [n for n in walk(root) if n.type == "call_expression" and first <= line_of(n) <= last]
    replaced: dict[int, str] = {}
    for line, target in (pair for call in calls for pair in _find_replaced(reading, call)):
        replaced.setdefault(line, target)
    return tuple(
        TestFault(
            test.path,
            line,
            f"`{target}` is replaced here and called by the test, which asserts the replacement: "
            "call the real one, and replace only what it uses",
        )
        for line, target in sorted(replaced.items())
    )


def _own_module(name: str) -> str:
    """The path of a module without its ending; empty if it is not the project's own."""
    return _ENDING.sub("", name) if name.startswith((".", "#", "@/", "~/")) else ""


def _take_bound(reading: _ModuleMocks, node: Node) -> None:
    """Takes what a statement binds: names of own modules, and an object of a class."""
    for bound in read_imported(node):
        if module := _own_module(bound.module):
            reading.imports[bound.local] = replace(bound, module=module)
    given = part(node, "value") if node.type == "variable_declarator" else None
    if given is not None and given.type == "new_expression":
        reading.made[text_of_node(part(node, "name"))] = text_of_node(part(given, "constructor"))


def _take_mock(reading: _ModuleMocks, node: Node) -> None:
    if node.type != "call_expression":
        return
    called, given = text_of_node(part(node, "function")), parts(part(node, "arguments"))
    if called in _MODULES and given and (module := _own_module(text_of_node(given[0]).strip("'\"`"))):
        for name in _mocked_names(given[1:]):
            reading.mocked.setdefault((module, name), line_of(node))
    elif called in _SPIES and len(given) > 1:
        own = len(given) > 2 and called.endswith("method")  # noqa: PLR2004 - the third is what is put there
        above = node.parent.parent if node.parent is not None else None
        if own or (above is not None and _REPLACES.search(text_of_node(above))):
            where = text_of_node(given[0]), text_of_node(given[1]).strip("'\"`")
            reading.spied.setdefault(where, line_of(node))


def _mocked_names(given: list[Node]) -> list[str]:
    """The names that a mock replaces: those that its factory lists if it keeps the others, else all."""
    factory = given[0] if given else None
    if factory is None or not _ACTUAL.search(text_of_node(factory)):
        return [ALL]
    table = next((node for node in walk(factory) if node.type == "object"), None)
    pairs = [one for one in parts(table) if one.type in {"pair", "method_definition"}]
    return [text_of_node(part(one, "key") or part(one, "name")) for one in pairs]


def _find_replaced(reading: _ModuleMocks, call: Node) -> Iterator[tuple[int, str]]:
    function = part(call, "function")
    owner, name = text_of_node(part(function, "object")), text_of_node(part(function, "property"))
    known = reading.imports.get(owner or text_of_node(function))
    if known is not None and (not owner or known.name == ALL):
        taken = name if owner else known.name
        for one in (taken, ALL):
            if (known.module, one) in reading.mocked and not name.startswith("mock"):
                yield reading.mocked[known.module, one], f"{known.module}: {taken}"
    made = reading.made.get(owner, "")
    for place in ((owner, name), (f"{made}.prototype", name)):
        root = place[0].split(".")[0]
        if place in reading.spied and (
            root in reading.imports or reading.made.get(root, "") in reading.imports
        ):
            yield reading.spied[place], ".".join(place)
    made_here = next((n for n in walk(call) if n.type == "new_expression"), None)
    built = reading.imports.get(text_of_node(part(made_here, "constructor")))
    if built is not None and (built.module, ALL) in reading.mocked:
        yield reading.mocked[built.module, ALL], f"{built.module}: {built.name}"


_LATER = frozenset({"then", "catch", "finally"})
_TIMERS = frozenset({"setTimeout", "setImmediate", "setInterval", "queueMicrotask"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_MATCHER = re.compile(r"to[A-Z]\w*")
_ASSERTS = re.compile(r"\b(expect|assert)\b\s*[.(]")


def _find_unheard(test: TestText, first: int, last: int) -> Iterator[TestFault]:
    """Finds, between these lines, expectations without a called matcher and callbacks that run too late."""
    for node in walk(_root_of(test)):
        if not first <= line_of(node) <= last:
            continue
        shown = short(on_one_line(node))
        if node.type == "expression_statement" and (why := _why_unfinished(parts(node)[:1])):
            yield TestFault(test.path, line_of(node), f"`{shown}` {why}")
        elif node.type == "call_expression" and _is_late(node):
            yield TestFault(
                test.path, line_of(node), f"`{shown}` asserts after the test has ended: put `await` before it"
            )


def _why_unfinished(found: list[Node]) -> str:
    for node in found:
        if node.type == "call_expression" and text_of_node(part(node, "function")) == "expect":
            return "has no matcher: it asserts nothing"
        if node.type == "member_expression" and text_of_node(node).startswith("expect("):
            word = text_of_node(part(node, "property"))
            return "is not called: it asserts nothing" if _MATCHER.fullmatch(word) else ""
    return ""


def _is_late(call: Node) -> bool:
    """Whether a callback with assertions is passed to a function that calls it after the test has ended."""
    function = part(call, "function")
    later = text_of_node(part(function, "property")) in _LATER or text_of_node(function) in _TIMERS
    given = [one for one in parts(part(call, "arguments")) if one.type in _FUNCTIONS]
    if not later or not any(_ASSERTS.search(text_of_node(one)) for one in given):
        return False
    top = call
    while top.parent is not None and top.parent.type in {"member_expression", "call_expression"}:
        top = top.parent
    return top.parent is not None and top.parent.type == "expression_statement" and not _has_own_end(call)


def _has_own_end(call: Node) -> bool:
    """Whether the call is inside a function with a parameter that ends the test, like `done` or `resolve`."""
    above = call.parent
    while above is not None:
        if above.type in _FUNCTIONS and (parts(part(above, "parameters")) or part(above, "parameter")):
            return True
        above = above.parent
    return False
