"""`GrammarSuite`: walks a test file and records its tests, assertions, guards, helpers and tables."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.assertions import (
    HELPER,
    ROW,
    Check,
    Mark,
    PlainFact,
    TestReading,
    TestSeen,
    Word,
    Words,
    assertion,
)
from verdigris.languages.grammar.trees import (
    COMMENTS,
    last_line,
    line_of,
    on_one_line,
    part,
    parts,
    text_of_node,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tree_sitter import Node


_CALLS = 3
"""How deep calls of helpers are followed."""


@value
class At:
    """A place in a suite: its scope, the guards around it, and the values of the names there."""

    scope: str = ""
    guards: tuple[str, ...] = ()
    names: GrammarNames = field(default_factory=lambda: GrammarNames({}))
    calls: int = 0
    test: bool = False

    def under(self, guard: str) -> At:
        return replace(self, guards=(*self.guards, guard))

    def with_binding(self, name: str, words: Words | None) -> At:
        return replace(self, names=self.names.with_binding(name, words))


@value
class TestPlace:
    __test__ = False

    name: str
    node: Node
    """The node that declares the test: a function, a call, or the name of a subtest."""
    body: Node | None


@dataclass(slots=True)
class GrammarSuite:
    """Reads the tests of one file; a subclass knows what the nodes of its language mean."""

    path: str
    tests: list[TestSeen] = field(default_factory=list)
    facts: list[PlainFact] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    functions: dict[str, Node] = field(default_factory=dict)
    """Functions that are not tests, by name."""
    shared: Mapping[str, Node] = field(default_factory=dict)
    """Such functions of the other files."""
    entered: set[str] = field(default_factory=set)
    """Names of functions that some test was seen to call."""
    asserted: list[tuple[Node, At]] = field(default_factory=list)
    """The node and the place of each assertion."""
    places: list[TestPlace] = field(default_factory=list)
    """The place of each test."""

    # -- what each language supplies -------------------------------------------------------------

    @abstractmethod
    def visit(self, node: Node, at: At) -> None:
        """Records what the node means, or visits its children with `visit_children`."""

    @abstractmethod
    def named_function(self, node: Node) -> tuple[str, Node] | None:
        """The name of a function that tests may call, and the function."""

    @abstractmethod
    def bind_names(self, node: Node, at: At) -> At:
        """Adds the names that a statement binds."""

    @abstractmethod
    def list_declared(self, node: Node) -> Iterable[tuple[str, Node]]:
        """The names that a statement declares, each with its value."""

    leaves: frozenset[str] = frozenset()
    """Types of statements after which the rest of a block does not run."""
    functions_of: frozenset[str] = frozenset()
    """Types of inner functions: a `return` in one does not leave the block around it."""

    # -- what follows from these -----------------------------------------------------------------

    def collect(self, root: Node) -> None:
        for node in walk(root):
            found = self.named_function(node)
            if found is not None:
                self.functions.setdefault(*found)

    def read(self, root: Node) -> TestReading:
        """Reads the file; `collect` must have run before."""
        self.visit_block(root, At())
        for name, function in self.functions.items():
            if name not in self.entered:
                self.follow_helper(name, function, (), At(f"{name}{HELPER}"))
        bodies = {_body_text(node): f"{line_of(node)} {name}" for name, node in self.functions.items()}
        return TestReading(tuple(self.tests), tuple(self.facts), tuple(self.marks), bodies)

    def visit_block(self, node: Node, at: At) -> None:
        """Visits a block's statements in order; one that may leave the block guards those after it."""
        for statement in parts(node):
            self.visit(statement, at)
            if self.leaves_block(statement):
                return
            if self.may_leave(statement):
                at = at.under(f"after {on_one_line(part(statement, 'condition'))}")
            at = self.bind_names(statement, at)

    def leaves_block(self, statement: Node) -> bool:
        inner = (
            parts(statement)[0]
            if statement.type == "expression_statement" and parts(statement)
            else statement
        )
        return inner.type in self.leaves

    def may_leave(self, statement: Node) -> bool:
        waiting = [] if statement.type in self.functions_of else [statement]
        while waiting:
            node = waiting.pop()
            if node.type in self.leaves:
                return True
            waiting += [child for child in node.children if child.type not in self.functions_of]
        return False

    def visit_children(self, node: Node | None, at: At) -> None:
        for child in parts(node):
            self.visit(child, at)

    def visit_part(self, node: Node | None, at: At) -> None:
        if node is not None:
            self.visit(node, at)

    def visit_branch(self, node: Node, at: At) -> None:
        """Visits the branches of an `if`, each guarded by the condition."""
        condition = on_one_line(part(node, "condition"))
        self.visit_part(part(node, "consequence"), at.under(f"if {condition}"))
        self.visit_part(part(node, "alternative"), at.under(f"else {condition}"))

    def add_test(self, name: str, node: Node, body: Node | None) -> None:
        self.places.append(TestPlace(name, node, body))
        self.tests.append(TestSeen(name, line_of(node), _body_text(body), last_line(body or node)))

    def add_mark(self, kind: str, node: Node, what: str, scope: str) -> None:
        self.marks.append(Mark(kind, line_of(node), what, scope))

    def add_fact(self, node: Node, check: Check, at: At) -> None:
        self.asserted.append((node, at))
        words = (Word(check.kind), *check.subject, Word("="), *check.expected, Word(f"±{check.slack}"))
        if not check.subject and not check.expected:
            words = (*words, *spell(node, at.names))
        self._take_fact(node, on_one_line(node), words, check, at)

    def add_rows(self, table: Iterable[Node], at: At) -> None:
        for row in table:
            words = spell(row, at.names)
            self._take_fact(row, ROW, words, Check(ROW, 5, words), at, case=on_one_line(row))

    def _take_fact(self, node: Node, what: str, words: Words, check: Check, at: At, case: str = "") -> None:
        line, shown = line_of(node), case or what
        around = (*at.guards, ROW) if case else at.guards
        match, loose = (
            assertion(line, shown, at.scope, around, words, loose=loose) for loose in (False, True)
        )
        self.facts.append(PlainFact(self.path, line, what, at.scope, at.guards, match, case, check, loose))

    def find_declared(self, name: Node) -> Node | None:
        """The value of a name that a block around it declares; declarations above the name come first."""
        scope = name.parent
        while scope is not None:
            above = [one for one in reversed(scope.children) if one.end_byte <= name.start_byte]
            below = (one for one in scope.children if one.start_byte >= name.end_byte)
            for values in map(dict, map(self.list_declared, (*above, *below))):
                if text_of_node(name) in values:
                    return values[text_of_node(name)]
            scope = scope.parent
        return None

    def follow_helper(self, name: str, function: Node, arguments: Sequence[Words], at: At) -> None:
        """Records what a function asserts, with the arguments of the call in place of its parameters."""
        if at.calls >= _CALLS:
            return
        self.entered.add(name)
        alone = function.parent is None or function.parent.parent is None
        inner = replace(at, calls=at.calls + 1, names=GrammarNames({}) if alone else at.names)
        for index, parameter in enumerate(self.parameters(function)):
            inner = inner.with_binding(parameter, arguments[index] if index < len(arguments) else None)
        body = part(function, "body")
        if body is not None:
            self.visit_block(body, inner)

    def parameters(self, function: Node) -> list[str]:
        listed = parts(part(function, "parameters"))
        found: list[Node] = []
        for parameter in listed:
            pattern = part(parameter, "pattern")
            names = [pattern] if pattern is not None else parameter.children_by_field_name("name")
            found += names or ([] if parameter.type == "self_parameter" else [parameter])
        return [text_of_node(name) for name in found]

    def call_helper(self, name: str, arguments: Iterable[Node], at: At) -> bool:
        """Follows a call to a function of the suite; returns False if there is no such function."""
        function = self.functions.get(name) or self.shared.get(name)
        if function is None:
            return False
        self.follow_helper(
            name, function, [_without_passing_signs(spell(a, at.names)) for a in arguments], at
        )
        return True


def _without_passing_signs(words: Words) -> Words:
    """Removes the signs that only say how an argument is passed."""
    while words and words[0].text in {"&", "*", "mut"}:
        words = words[1:]
    return words


def _body_text(node: Node | None) -> str:
    inner = part(node, "body") or node
    if inner is None:
        return ""
    return " ".join(text_of_node(n) for n in walk(inner) if not n.children and n.type not in COMMENTS)


_NAMES = frozenset(
    {
        *("identifier", "type_identifier", "shorthand_property_identifier", "package_identifier"),
        *("property_identifier", "field_identifier", "private_property_identifier"),
    }
)
_MEMBERS = frozenset({"property_identifier", "field_identifier", "private_property_identifier"})
_TEXTS = frozenset({"string", "interpreted_string_literal", "string_literal"})
_DROPPED = frozenset({";", "await", "as", "satisfies"})
_LONGEST = 400
"""The most words of a value by which a name is replaced; a name with a longer value stays."""


@value
class GrammarNames:
    """The values of the names at a place in a test."""

    values: Mapping[str, Words]
    local: frozenset[str] = frozenset()

    def with_binding(self, name: str, words: Words | None) -> GrammarNames:
        """Binds a name. `words` is None for a local name whose value is not known."""
        values = {key: value for key, value in self.values.items() if key != name}
        if words is not None and len(words) <= _LONGEST:
            return GrammarNames(values | {name: words}, self.local - {name})
        return GrammarNames(values, self.local | {name})


def spell(node: Node | None, names: GrammarNames) -> Words:
    return tuple(_spell_words(node, names)) if node is not None else ()


def _spell_words(node: Node, names: GrammarNames) -> list[Word]:
    if node.type in COMMENTS:
        return []
    if node.type in _TEXTS:
        return [Word('"' + text_of_node(node)[1:-1] + '"')]
    if not node.children:
        return _spell_leaf(node, names)
    found: list[Word] = []
    for child in node.children:
        if (
            child.type == ","
            and child.next_sibling is not None
            and child.next_sibling.type in {")", "]", "}"}
        ):
            continue
        found += _spell_words(child, names)
    return found


def _spell_leaf(node: Node, names: GrammarNames) -> list[Word]:
    text = text_of_node(node)
    if node.type in _DROPPED or not text.strip():
        return []
    if node.type not in _NAMES:
        return [Word(text)]
    called = node.next_sibling is not None and node.next_sibling.type in {"arguments", "argument_list"}
    if node.type in _MEMBERS or _follows_dot(node):
        parent = node.parent
        after = parent.next_sibling if parent is not None else None
        return [
            Word(text, name=True, called=after is not None and after.type in {"arguments", "argument_list"})
        ]
    if text in names.values:
        return list(names.values[text])
    return [Word(text, name=True, local=text in names.local, called=called)]


def _follows_dot(node: Node) -> bool:
    """Whether a name is a member. In a Rust macro, which is only tokens, the sign before it shows that."""
    before = node.prev_sibling
    return before is not None and before.type in {".", "::"}
