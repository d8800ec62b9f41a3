"""Finds matchers that are never called, callbacks that are not awaited, and mocks of the code under test."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.findings import TestFault
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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from verdigris.languages.findings import TestText


_MODULES = frozenset({"vi.mock", "vi.doMock", "jest.mock", "jest.doMock", "jest.setMock", "mock.module"})
_SPIES = frozenset({"vi.spyOn", "jest.spyOn", "mock.method", "t.mock.method"})
_ACTUAL = re.compile(r"importActual|requireActual|importOriginal|\.\.\.\s*\(?\s*await")
_REPLACES = re.compile(r"\.(mock(ReturnValue|Implementation|Resolved|Rejected)\w*)\s*\(")
_ENDING = re.compile(r"\.[cm]?[jt]sx?$")
_ALL = "*"


@value
class _Import:
    module: str
    name: str
    """The exported name; `*` for the whole module."""


@dataclass(slots=True)
class _ModuleMocks:
    imports: dict[str, _Import] = field(default_factory=dict)
    """Imports from the project's own modules, by local name."""
    mocked: dict[tuple[str, str], int] = field(default_factory=dict)
    """Maps module and name to the line that mocks it; `*` for the whole module."""
    spied: dict[tuple[str, str], int] = field(default_factory=dict)
    """Maps object and method, as written, to the line that replaces the method."""
    made: dict[str, str] = field(default_factory=dict)
    """Maps variables to the class of their object."""


def find_mocked_subjects(test: TestText, lines: tuple[int, int]) -> tuple[TestFault, ...]:
    """Finds mocks of code that the test calls. `lines`: the first and the last line of the test."""
    root, _ = tree_of(test.path, test.texts[test.path].encode("utf-8", "surrogateescape"))
    reading = _ModuleMocks()
    for node in walk(root):
        _take_import(reading, node)
        _take_mock(reading, node)
    first_line, last_line = lines
    calls = [n for n in walk(root) if n.type == "call_expression" and first_line <= line_of(n) <= last_line]
    found: dict[int, str] = {}
    for call in calls:
        for line, target in _find_replaced(reading, call):
            found.setdefault(line, target)
    return tuple(
        TestFault(
            test.path,
            line,
            f"`{target}` is replaced here and called by the test, which asserts the replacement: "
            "call the real one, and replace only what it uses",
        )
        for line, target in sorted(found.items())
    )


def _module(node: Node | None) -> str:
    """The path of a module without its ending; empty if it is not the project's own."""
    text = text_of_node(node).strip("'\"`")
    return _ENDING.sub("", text) if text.startswith((".", "#", "@/", "~/")) else ""


def _take_import(reading: _ModuleMocks, node: Node) -> None:
    if node.type == "import_statement" and (module := _module(part(node, "source"))):
        for one in walk(node):
            if one.type == "import_specifier":
                name = text_of_node(part(one, "name"))
                reading.imports[text_of_node(part(one, "alias")) or name] = _Import(module, name)
            elif one.type == "namespace_import":
                reading.imports[text_of_node(parts(one)[0])] = _Import(module, _ALL)
            elif one.type == "identifier" and one.parent is not None and one.parent.type == "import_clause":
                reading.imports[text_of_node(one)] = _Import(module, "default")
    elif node.type == "variable_declarator":
        _take_variable(reading, part(node, "name"), part(node, "value"))


def _take_variable(reading: _ModuleMocks, bound: Node | None, given: Node | None) -> None:
    required = text_of_node(part(given, "function")) == "require"
    module = _module(next(iter(parts(part(given, "arguments"))), None)) if required else ""
    if module and bound is not None and bound.type == "object_pattern":
        for one in parts(bound):
            local = text_of_node(part(one, "value") or one)
            reading.imports[local] = _Import(module, text_of_node(part(one, "key") or one))
    elif module:
        reading.imports[text_of_node(bound)] = _Import(module, _ALL)
    elif given is not None and given.type == "new_expression":
        reading.made[text_of_node(bound)] = text_of_node(part(given, "constructor"))


def _take_mock(reading: _ModuleMocks, node: Node) -> None:
    if node.type != "call_expression":
        return
    called, given = text_of_node(part(node, "function")), parts(part(node, "arguments"))
    if called in _MODULES and given and (module := _module(given[0])):
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
        return [_ALL]
    table = next((node for node in walk(factory) if node.type == "object"), None)
    pairs = [one for one in parts(table) if one.type in {"pair", "method_definition"}]
    return [text_of_node(part(one, "key") or part(one, "name")) for one in pairs]


def _find_replaced(reading: _ModuleMocks, call: Node) -> Iterator[tuple[int, str]]:
    function = part(call, "function")
    owner, name = text_of_node(part(function, "object")), text_of_node(part(function, "property"))
    known = reading.imports.get(owner or text_of_node(function))
    if known is not None and (not owner or known.name == _ALL):
        taken = name if owner else known.name
        for one in (taken, _ALL):
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
    if built is not None and (built.module, _ALL) in reading.mocked:
        yield reading.mocked[built.module, _ALL], f"{built.module}: {built.name}"


_LATER = frozenset({"then", "catch", "finally"})
_TIMERS = frozenset({"setTimeout", "setImmediate", "setInterval", "queueMicrotask"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_MATCHER = re.compile(r"to[A-Z]\w*")
_ASSERTS = re.compile(r"\b(expect|assert)\b\s*[.(]")


def find_unheard(test: TestText, first: int, last: int) -> Iterator[TestFault]:
    """Finds, between these lines, expectations without a called matcher and callbacks that run too late."""
    root, _ = tree_of(test.path, test.texts[test.path].encode("utf-8", "surrogateescape"))
    for node in walk(root):
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
