"""Reads what code has and does: calls, handlers, locks, decorators, arguments.

Each thing comes with the edits that take out just that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.value import replace, value
from verdigris.languages.grammar.conditions import (
    IDENTIFIERS,
    LOGICAL,
    MEMBERS,
    SELVES,
    last_name,
    operator_of,
)
from verdigris.languages.grammar.decisions import condition_of
from verdigris.languages.grammar.origins import head_of
from verdigris.languages.grammar.trees import COMMENTS, on_one_line, part, parts, text_of_node, walk
from verdigris.languages.probes import ByteEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from verdigris.languages.grammar.mutation import MutationForms
    from verdigris.languages.grammar.origins import Names

CALLS = frozenset({"call", "call_expression", "new_expression"})
_AWAITING = frozenset({"await", "await_expression", "try_expression", "parenthesized_expression"})
_STATEMENTS = frozenset({"expression_statement", "defer_statement", "go_statement"})
_RAISES = frozenset({"raise_statement", "throw_statement"})
_STORES = frozenset({"assignment", "augmented_assignment", "assignment_expression", "assignment_statement"})
_ITEMS = frozenset({"subscript", "subscript_expression", "index_expression"})
_SPREAD = frozenset({"list_splat", "dictionary_splat", "spread_element", "variadic_argument"})
_HOLDING = frozenset({"list", "dictionary", "array", "object"})
_UNUSED = re.compile(r"_\w*\Z")
"""Matches the names of what is only kept alive."""
_FOR_READERS = frozenset(
    {
        *("overload", "override", "final", "no_type_check", "deprecated", "abstractmethod", "inline"),
        *("must_use", "allow", "expect", "doc", "cfg_attr", "warn", "deny", "track_caller"),
    }
)
"""Decorators and attributes that only people, type checkers and compilers read."""
_FOR_PEOPLE = frozenset({"doc=", "help=", "description=", "stacklevel="})
_FOR_OTHERS = frozenset({"ImportError", "ModuleNotFoundError"})
"""Handlers that serve other versions and installations."""
_NO_CONTEXT = '__import__("contextlib").nullcontext()'


@value
class Thing:
    path: str
    kind: str
    """`call`, `argument`, `copy`, `lock`, `handler`, `cleanup`, `raised`, `await`, `set`, `decorator` or
    `base`."""
    name: str
    """A call's is qualified by the package it comes from: `secrets:choice`."""
    node: Node
    ways: tuple[tuple[ByteEdit, ...], ...] = ()
    """Edits, each of which takes it out."""
    of: str = ""
    """What is called with the argument; of a call that is a statement, the object."""
    operands: tuple[str, ...] = ()
    outside: bool = False
    """Whether it is known to be none of the project's: a library's, or built in."""
    weak: bool = False
    """True if it changes only what people read, or what other installations need."""

    @property
    def key(self) -> str:
        return f"{self.kind} {self.name}"


@value
class ThingReader:
    path: str
    root: Node
    forms: MutationForms
    names: Names

    def things(self, node: Node) -> Iterator[Thing]:
        """What a node itself is, without the nodes inside it."""
        match node.type:
            case kind if kind in CALLS:
                yield from self._call(node)
            case "with_item":
                held = _without_alias(part(node, "value"))
                if held is not None:
                    yield self._thing(
                        "lock", _called(held) or on_one_line(held), node, _replaced(held, _NO_CONTEXT)
                    )
            case "except_clause":
                yield from self._except(node)
            case "catch_clause":
                yield from self._catch(node)
            case "finally_clause":
                yield self._thing("cleanup", node.type, node, _without_cleanup(node))
            case kind if kind in _RAISES:
                yield from self._raised(node)
            case "await" | "await_expression":
                inner = parts(node)[0]
                yield self._thing("await", _called(inner), node, _replaced(node, text_of_node(inner)))
            case "delete_statement":
                target = parts(node)[0]
                thing = self._thing("set", f"del {on_one_line(target)}", node, self._nothing(node))
                yield replace(thing, weak=target.type in IDENTIFIERS)
            case kind if kind in _STORES:
                yield from self._stored(node)
            case _:
                yield from self._copy(node)

    def declared(self, node: Node) -> Iterator[Thing]:
        """The decorators and bases of a definition."""
        for one in decorators_of(node):
            expression = parts(one)[0] if parts(one) else one
            named = text_of_node(part(expression, "function") if expression.type in CALLS else expression)
            name = _called(expression) or named
            if name == "derive":
                yield from self._derived(one)
            elif name not in _FOR_READERS:
                thing = self._thing("decorator", name, one, _replaced(one, ""))
                yield replace(thing, outside=self.names.is_outside(named))
        for base in parts(part(node, "superclasses")):
            keyword = text_of_node(part(base, "name")) if base.type == "keyword_argument" else ""
            yield self._base(f"{keyword}=" if keyword else on_one_line(base), base, _without_item(base))
        for heritage in (one for one in node.children if one.type == "class_heritage"):
            for clause in parts(heritage):
                if clause.type != "implements_clause":
                    base = part(clause, "value") or clause
                    yield self._base(on_one_line(base), clause, _replaced(heritage, ""))

    def _thing(self, kind: str, name: str, node: Node, *edits: ByteEdit) -> Thing:
        return Thing(self.path, kind, name, node, (edits,) if edits else ())

    def _nothing(self, statement: Node) -> ByteEdit:
        return _replaced(statement, self.forms.nothing)

    def _call(self, node: Node) -> Iterator[Thing]:
        function, listed = part(node, "function") or part(node, "constructor"), part(node, "arguments")
        called, name = text_of_node(function), _called(function)
        if not name or (node.parent is not None and node.parent.type in {*_RAISES, "decorator", "with_item"}):
            return
        package, receiver = self.names.package_of(called), self._receiver(function)
        name = f"{package}:{name}" if package else name
        values = [one for one in parts(listed) if one.type not in _SPREAD and one.type != "keyword_argument"]
        operands = [receiver, *values] if receiver is not None else values
        thing = replace(
            self._thing("call", name, node),
            operands=tuple(map(on_one_line, operands)),
            outside=bool(package) or (receiver is None and self.names.is_outside(called)),
            weak=self.forms.telling.search(on_one_line(function)) is not None,
        )
        if _is_condition(node):
            yield thing
            return
        kept = self._kept_import(called)
        if (statement := _statement_of(node)) is not None:
            yield replace(thing, ways=((self._nothing(statement), *kept),), of=on_one_line(receiver))
        else:
            ways = ((_replaced(node, f"({text_of_node(one)})"), *kept) for one in operands[:2])
            yield replace(thing, ways=tuple(ways))
        if self.root.type in {"module", "program"} and name != "super":
            yield from self._arguments(thing, listed)

    def _arguments(self, call: Thing, listed: Node | None) -> Iterator[Thing]:
        """The arguments of a call that may leave them out, since nothing checks them before it runs."""
        for at, one in enumerate(parts(listed)):
            pairs = [pair for pair in parts(one) if one.type == "object" and pair.type == "pair"]
            for named in [one] if one.type == "keyword_argument" else pairs:
                slot = f"{text_of_node(part(named, 'name') or part(named, 'key'))}="
                yield self._argument(call, slot, named, part(named, "value"))
            if one.type not in {*_SPREAD, "keyword_argument"} and text_of_node(one) not in SELVES:
                yield self._argument(call, f"#{at + 1}", one, one)

    def _argument(self, call: Thing, slot: str, node: Node, held: Node | None) -> Thing:
        thing = self._thing("argument", f"{call.name} {slot}", node, _without_item(node))
        weak = call.weak or slot in _FOR_PEOPLE
        return replace(thing, of=call.key, operands=(on_one_line(held),), weak=weak)

    def _receiver(self, function: Node | None) -> Node | None:
        """The object whose method is called; None if it is a module or a class."""
        if function is None or function.type not in MEMBERS:
            return None
        of = part(function, MEMBERS[function.type][0])
        text = text_of_node(of)
        is_class = text.isidentifier() and text[:1].isupper()
        return None if is_class or head_of(text) in self.names.origins or text.startswith("super(") else of

    def _kept_import(self, called: str) -> tuple[ByteEdit, ...]:
        if not self.forms.keeping or "." not in called or head_of(called) not in self.names.origins:
            return ()
        end = self.root.end_byte
        return (ByteEdit(end, end, self.forms.keeping % called),)

    def _except(self, node: Node) -> Iterator[Thing]:
        caught = _without_alias(part(node, "value"))
        if caught is None:
            at = node.children[0].end_byte
            yield self._thing("handler", "BaseException", node, ByteEdit(at, at, " ()"))
            return
        classes = parts(caught) if caught.type == "tuple" else [caught]
        for one in classes:
            rest = "".join(f"{text_of_node(other)}, " for other in classes if other != one)
            name = _called(one) or on_one_line(one)
            thing = self._thing("handler", name, one, _replaced(caught, f"({rest})"))
            yield replace(thing, weak=name in _FOR_OTHERS)

    def _catch(self, node: Node) -> Iterator[Thing]:
        body, fault = part(node, "body"), part(node, "parameter")
        if body is not None:
            bound = "" if fault is not None else "(fault) "
            first = ByteEdit(
                body.start_byte, body.start_byte + 1, f"{bound}{{ throw {text_of_node(fault) or 'fault'};"
            )
            yield self._thing("handler", "catch", node, first)

    def _raised(self, node: Node) -> Iterator[Thing]:
        raised = next(iter(parts(node)), None)
        if raised is None:
            return
        named = (part(raised, "function") or part(raised, "constructor")) if raised.type in CALLS else raised
        name, other = _called(named), "Exception" if node.type == "raise_statement" else "Error"
        if named is not None and name[:1].isupper():
            yield self._thing("raised", name, node, *([_replaced(named, other)] if name != other else []))

    def _stored(self, node: Node) -> Iterator[Thing]:
        """An attribute or an item that is set."""
        target = part(node, "left")
        if target is not None and target.type == "expression_list" and len(parts(target)) == 1:
            target = parts(target)[0]
        whole = node if node.type == "assignment_statement" else _statement_of(node)
        if target is None or whole is None or (target.type not in MEMBERS and target.type not in _ITEMS):
            return
        name = f".{last_name(target)}" if target.type in MEMBERS else f"{on_one_line(parts(target)[0])}[]"
        yield self._thing("set", name, node, self._nothing(whole))

    def _copy(self, node: Node) -> Iterator[Thing]:
        """`x[:]`, `[*x]`, `{**x}`, `[...x]`."""
        inner = parts(node)
        if node.type == "subscript" and text_of_node(part(node, "subscript")) == ":":
            source = inner[0]
        elif node.type in _HOLDING and len(inner) == 1 and inner[0].type in _SPREAD:
            source = parts(inner[0])[0]
        else:
            return
        if node.parent is None or part(node.parent, "left") != node:
            thing = self._thing("copy", "of a value", node, _replaced(node, f"({text_of_node(source)})"))
            yield replace(thing, operands=(on_one_line(source),))

    def _derived(self, attribute: Node) -> Iterator[Thing]:
        names = [one for one in walk(attribute) if one.type == "identifier"][1:]
        for one in names:
            rest = ", ".join(text_of_node(other) for other in names if other != one)
            edit = ByteEdit(names[0].start_byte, names[-1].end_byte, rest)
            yield self._thing("decorator", f"derive({text_of_node(one)})", one, edit)

    def _base(self, expression: str, node: Node, edit: ByteEdit) -> Thing:
        name = expression.partition("[")[0]
        return replace(
            self._thing("base", name.rpartition(".")[2], node, edit), outside=self.names.is_outside(name)
        )


def decorators_of(node: Node) -> list[Node]:
    """The decorators or attributes of a definition."""
    if node.parent is not None and node.parent.type == "decorated_definition":
        return [one for one in node.parent.children if one.type == "decorator"]
    mine = [one for one in node.children if one.type == "decorator"]
    before = node.prev_sibling
    while before is not None and before.type in {"decorator", "attribute_item", *COMMENTS}:
        mine += [before] if before.type not in COMMENTS else []
        before = before.prev_sibling
    return [parts(one)[0] if one.type == "attribute_item" else one for one in mine]


def _called(node: Node | None) -> str:
    """The last name of what is called."""
    if node is None:
        return ""
    if node.type in CALLS:
        return _called(part(node, "function") or part(node, "constructor"))
    if node.type == "generic_function":
        return _called(part(node, "function"))
    return text_of_node(part(node, "name")) if node.type == "scoped_identifier" else last_name(node)


def _without_alias(node: Node | None) -> Node | None:
    return parts(node)[0] if node is not None and node.type == "as_pattern" else node


def _is_condition(node: Node) -> bool:
    """Whether a call is a condition or a part of one: what it decides is asked by forcing it."""
    while node.parent is not None and condition_of(node.parent) != node:
        above = node.parent
        if (
            above.type not in {"parenthesized_expression", "not_operator"}
            and operator_of(above) not in LOGICAL
        ):
            return False
        node = above
    return node.parent is not None


def _statement_of(node: Node) -> Node | None:
    """The statement that is nothing but this call or assignment, or that binds it to an unused name."""
    above = node.parent
    while above is not None and above.type in _AWAITING:
        above = above.parent
    if above is not None and above.type in _STATEMENTS:
        return above
    while above is not None and above.type in {*MEMBERS, "call_expression"}:
        above = above.parent
    if above is not None and above.type == "let_declaration":
        return above if _UNUSED.match(text_of_node(part(above, "pattern"))) else None
    return None


def _without_cleanup(node: Node) -> ByteEdit:
    """Makes the code after `finally` run only where nothing failed."""
    keyword, following = node.children[0], node.children[1]
    is_caught = node.parent is not None and any(
        one.type in {"except_clause", "catch_clause"} for one in node.parent.children
    )
    if following.type == ":":
        indent = " " * node.start_point[1]
        return _replaced(keyword, "else" if is_caught else f"except ():\n{indent} pass\n{indent}else")
    return _replaced(keyword, "" if is_caught else "catch (fault) { throw fault; }")


def _without_item(node: Node) -> ByteEdit:
    """Takes an item out of a list, with the comma behind or before it."""
    after, before = node.next_sibling, node.prev_sibling
    if after is not None and after.type == ",":
        return ByteEdit(node.start_byte, after.end_byte, "")
    start = before.start_byte if before is not None and before.type == "," else node.start_byte
    return ByteEdit(start, node.end_byte, "")


def _replaced(node: Node, text: str) -> ByteEdit:
    return ByteEdit(node.start_byte, node.end_byte, text)
