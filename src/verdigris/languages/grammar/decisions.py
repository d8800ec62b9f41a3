"""Finds the decisions in source, and which of them were there before in another form.

Conditions are compared in one form (`conditions.py`). Names and small functions that only stand for a
condition are written out. An `if` directly inside another is joined to it by `and`; guards that lead to the
same end are joined by `or`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.value import field, replace, value
from verdigris.languages.assertion_matching import match_assertions
from verdigris.languages.assertions import Assertion, Name
from verdigris.languages.grammar.bindings import (
    BLOCKS,
    BOUND,
    FUNCTIONS,
    OWNERS,
    VALUES,
    bound_by,
    bound_names,
    functions_of,
    is_docstring,
    scope_name,
    statements_of,
)
from verdigris.languages.grammar.conditions import (
    COMPARING,
    CONSTANTS,
    IDENTIFIERS,
    LOGICAL,
    TRUTHS,
    Predicate,
    Term,
    WriteOut,
    bare,
    condition_form,
    operator_of,
    read_term,
    shape_of,
)
from verdigris.languages.grammar.trees import COMMENTS, line_of, part, parts, shape, text_of_node, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

    from verdigris.languages.grammar.bindings import Visited
    from verdigris.languages.literals import RenamedWords

_ARMS = frozenset(
    {
        *("switch_case", "switch_default", "catch_clause", "match_arm", "default_case"),
        *("expression_case", "type_case", "communication_case"),
    }
)
_LOOPS = frozenset({"while_statement", "do_statement", "for_statement", "for_clause", "while_expression"})
_IFS = frozenset({"if_statement", "if_expression"})
_TERNARY = "conditional_expression"
_CONDITIONAL = _LOOPS | _IFS | {"elif_clause", "ternary_expression", "match_pattern", _TERNARY, "if_clause"}
_ASSIGNED = {
    "assignment": "right",
    "variable_declarator": "value",
    "let_declaration": "value",
    "short_var_declaration": "right",
}
_RETURNS = frozenset({"return_statement", "return_expression"})
_ENDS = _RETURNS | {"raise_statement", "throw_statement", "continue_statement", "break_statement"}
_WRAPPERS = frozenset({"expression_statement", "expression_list", "else_clause"})
_SCOPES = BLOCKS | {"module", "program", "source_file"}
_LINKS = frozenset({"parenthesized_expression", "binary_expression", "boolean_operator"})
_NUMBERS = frozenset({"int", "float", "bool", "Number", "Boolean", "i32::from", "usize::from", "u8::from"})
_GIVEN = frozenset({"arguments", "argument_list"})
_NUMBERING = _GIVEN | {"parenthesized_expression", "type_cast_expression", "call", "call_expression"}
"""What may stand between a comparison and the number as which it is used."""
_INDEXED = frozenset({"subscript", "subscript_expression", "index_expression"})
_ELSEWHERE = re.compile(r"__main__|\b(?:\w+_)?TYPE_CHECKING\b")
"""What asks whether code runs as a program, or only for a type checker."""
_MACHINE = re.compile(
    r"(?:not |!)?(?:sys\.(?:platform|version_info|implementation\.name)|os\.name|platform\.\w+\(\)"
    r"|process\.platform|runtime\.GO(?:OS|ARCH))(?:\.(?:major|minor))?(?:\[[\d:]+\]|\.startswith\([^()]*\))?"
    r"(?:\s*[=!<>]=?=?\s*(?:\([\d,\s]*\)|[\d.]+|\"[^\"]*\"|'[^']*'))?"
)
"""A condition that only the machine decides: no test here makes it come out otherwise."""
TRUE, FALSE = "true", "false"
_GATHERED = frozenset({"append", "add", "push"})
_OPTIONAL = frozenset(
    {
        *("default_parameter", "typed_default_parameter", "list_splat_pattern", "dictionary_splat_pattern"),
        *("keyword_separator", "optional_parameter", "assignment_pattern", "rest_pattern"),
    }
)
"""Parameters that a call may leave out."""
_PARAMETERS = "parameters"
"""The kind of a site that decides nothing, and only matches the parameters of a function."""


@value
class Site:
    path: str
    nodes: tuple[Node, ...]
    """The nodes of the decision; several if they are read as one."""
    kind: str
    """`condition`, `loop`, `value`, `compared`, `function`, `arm` or `parameters`."""
    about: Assertion
    flipped: bool = False
    ways: tuple[str, str] = ("", "")
    """The first code that runs if the compared condition holds, and the first if it does not."""
    stands_for: tuple[Node, ...] = ()
    """The expressions elsewhere for which its names stand."""

    @property
    def loose_shape(self) -> str:
        return self.about.shape.replace("<=", "<")


@value
class SameDecisions:
    """The indexes of old and new sites that are the same decision."""

    old: frozenset[int]
    new: frozenset[int]


def sites_of(roots: Mapping[str, Node], visited: Visited, *, whole: bool) -> list[Site]:
    """The decisions of all files. `visited`: the children of a node that a test can run.

    `whole`: functions and arms are sites, too; otherwise only the parameters of functions are.
    """
    functions = [(name, node) for root in roots.values() for name, node in functions_of(root, visited)]
    defined = Counter(name.rpartition(".")[2] for name, _ in functions)
    conditions = [(name, one) for name, node in functions if (one := _predicate(node)) is not None]
    owned = Counter(name for name, _ in conditions)
    # If two functions have the same name, it is not known which one is called.
    last = ((name.rpartition(".")[2], one) for name, one in conditions)
    predicates = {name: one for name, one in last if defined[name] == 1}
    predicates |= {name: one for name, one in conditions if "." in name and owned[name] == 1}
    reader = _DecisionReader(visited, predicates, whole=whole)
    return [site for path, root in roots.items() for site in reader.sites(path, root)]


def find_same_decisions(then: Sequence[Site], now: Sequence[Site], renamed: RenamedWords) -> SameDecisions:
    matched = match_assertions([site.about for site in then], [site.about for site in now], renamed)
    pairs = {old: new for old, new in matched.items() if _leads_to_same_code(then[old], now[new])}
    before = {node.id for old in pairs for node in then[old].stands_for}
    inner = {node.id for new in pairs.values() for node in now[new].stands_for}
    return SameDecisions(
        frozenset([*pairs, *(at for at, site in enumerate(then) if _is_within(site, before))]),
        frozenset([*pairs.values(), *(at for at, site in enumerate(now) if _is_within(site, inner))]),
    )


def _leads_to_same_code(old: Site, new: Site) -> bool:
    """Whether a branch of both begins alike. A condition that became its opposite must swap its branches."""
    return old.flipped == new.flipped or any(a == b for a, b in zip(old.ways, new.ways, strict=True))


def _is_within(site: Site, elsewhere: set[int]) -> bool:
    return any(node.id in elsewhere for node in site.nodes)


def _predicate(node: Node) -> Predicate | None:
    """The condition that a function returns and does nothing else, with what it is given."""
    statements = [one for one in statements_of(part(node, "body")) if not is_docstring(one)]
    returned = unwrapped(statements[0]) if len(statements) == 1 else None
    if returned is not None and returned.type in _RETURNS:
        returned = unwrapped(parts(returned)[0]) if parts(returned) else None
    if returned is None or not (_is_comparison(returned) or _is_logical(returned)):
        return None
    listed = [*parts(part(node, "receiver")), *parts(part(node, "parameters"))]
    if any(one.type in _OPTIONAL for one in listed):
        return None
    own = ("this",) if node.type == "method_definition" else ()
    names = (text_of_node(name) for one in listed for name in bound_by(one))
    selves = ("self" for one in listed if one.type == "self_parameter")
    return Predicate(returned, (*own, *selves, *names))


# -- decisions -----------------------------------------------------------------------------------------------


@value
class _Scope:
    name: str
    owner: str = ""
    local: frozenset[str] = frozenset()
    """Names that the functions around bind."""
    named: Mapping[str, Node] = field(default_factory=dict)
    """Names that are bound once in the function, and to a condition."""


@value
class _DecisionReader:
    visited: Visited
    predicates: Mapping[str, Predicate]
    whole: bool

    def sites(self, path: str, root: Node) -> Iterator[Site]:
        joined, absorbed = _joins(root)
        stack = [(root, _Scope(path))]
        while stack:
            node, scope = stack.pop()
            if name := scope_name(node):
                scope = _inner_scope(scope, node, name)
            if node.type in FUNCTIONS or (name and node.type in VALUES):
                yield self._function(path, node, scope)
            elif self.whole and node.type in _ARMS:
                yield _plain_site(path, node, "arm", scope)
            if (test := condition_of(node)) is not None and node.id not in absorbed:
                yield self._asked(path, node, test, scope, joined.get(node.id))
            elif _is_logical(node) and not _is_inside_condition(node):
                yield self._site(path, (node,), "value", read_term(node), scope)
            elif _is_comparison(node) and _is_number(node):
                yield self._site(path, (node,), "condition", read_term(node), scope)
            for compared in _compared(node):
                yield self._site(path, (compared,), "compared", read_term(compared), scope, (TRUE, FALSE))
            stack += ((child, scope) for child in reversed(list(self.visited(node))))

    def _function(self, path: str, node: Node, scope: _Scope) -> Site:
        if self.whole:
            return _plain_site(path, node, "function", scope)
        listed = parts(part(node, "parameters"))
        names = tuple(Name(text_of_node(name), local=True) for one in listed for name in bound_by(one))
        about = Assertion(line_of(node), "", scope.name, f"{_PARAMETERS} {len(names)}", names)
        return Site(path, (), _PARAMETERS, about)

    def _asked(
        self, path: str, node: Node, test: Node, scope: _Scope, more: tuple[str, list[Node]] | None
    ) -> Site:
        kind = "loop" if node.type in _LOOPS else "condition"
        if more is None:
            return self._site(path, (test,), kind, read_term(test), scope, _ways(node))
        word, ifs = more
        tests = tuple(one for each in ifs if (one := condition_of(each)) is not None)
        return self._site(
            path, tests, kind, Term(word, word, tuple(map(read_term, tests))), scope, _ways(ifs[-1])
        )

    def _site(
        self,
        path: str,
        nodes: tuple[Node, ...],
        kind: str,
        term: Term,
        scope: _Scope,
        ways: tuple[str, str] = ("", ""),
    ) -> Site:
        out = WriteOut(scope.named, self.predicates, scope.owner)
        form = condition_form(out.write(term), scope.local, is_value=kind == "value")
        shape = f"loop {form.shape}" if kind == "loop" else form.shape
        about = Assertion(line_of(nodes[0]), "", scope.name, shape, form.names)
        yes, no = ways
        return Site(
            path, nodes, kind, about, form.flipped, (no, yes) if form.flipped else ways, tuple(out.used)
        )


def _inner_scope(scope: _Scope, node: Node, name: str) -> _Scope:
    inner = f"{scope.name}::{name}"
    if node.type in OWNERS:
        return replace(scope, name=inner, owner=name)
    bound = bound_names(node, members=False)
    owner = name.rpartition(".")[0] or scope.owner
    return _Scope(inner, owner, scope.local | frozenset(bound), _named_conditions(node, bound))


def _named_conditions(function: Node, bound: Counter[str]) -> dict[str, Node]:
    conditions: dict[str, Node] = {}
    for node in walk(function):
        field = _ASSIGNED.get(node.type)
        held = unwrapped(part(node, field)) if field else None
        target = unwrapped(part(node, BOUND.get(node.type, "name")))
        if held is None or target is None or target.type not in IDENTIFIERS:
            continue
        if (_is_comparison(held) or _is_logical(held) or _is_negation(held)) and bound[
            text_of_node(target)
        ] == 1:
            conditions[text_of_node(target)] = held
    return conditions


def _plain_site(path: str, node: Node, kind: str, scope: _Scope) -> Site:
    names: list[Name] = []
    shape = f"{kind} {shape_of(node, names, scope.local)}"
    return Site(path, (node,), kind, Assertion(line_of(node), "", scope.name, shape, tuple(names)))


def condition_of(node: Node) -> Node | None:
    """The condition of an `if`, a loop, a ternary, or a filter."""
    if node.type not in _CONDITIONAL:
        return None
    if node.type == _TERNARY:
        return parts(node)[1]
    condition = parts(node)[0] if node.type == "if_clause" else part(node, "condition")
    if condition is None or any(one.type in {"let_condition", "let_chain"} for one in walk(condition)):
        return None
    text = text_of_node(condition)
    if (
        condition.type == "expression_statement"
        or not text.strip(" ;")
        or condition.type in CONSTANTS
        or _ELSEWHERE.search(text)
        or _MACHINE.fullmatch(text_of_node(bare(condition)))
    ):
        return None
    return condition


def _is_logical(node: Node) -> bool:
    return operator_of(node) in LOGICAL


def _is_comparison(node: Node) -> bool:
    return node.type == "comparison_operator" or operator_of(node) in COMPARING


def _is_negation(node: Node) -> bool:
    return node.type == "not_operator" or (node.type == "unary_expression" and text_of_node(node)[:1] == "!")


def _is_number(comparison: Node) -> bool:
    """Whether it chooses as a number or an index does: `(a, b)[x > y]`, `a * (x > y)`."""
    node, above = comparison, comparison.parent
    while above is not None and above.type in _NUMBERING:
        called = part(above.parent, "function") if above.type in _GIVEN else None
        if above.type in _GIVEN and text_of_node(called) not in _NUMBERS:
            return False
        node, above = above, above.parent
    if above is None:
        return False
    if above.type in _INDEXED:
        return parts(above)[0] != node
    return (
        above.type in {"binary_operator", "binary_expression"}
        and operator_of(above) not in COMPARING | LOGICAL
    )


def _is_inside_condition(node: Node) -> bool:
    """Whether the node belongs to a larger condition or chain, which is mutated as a whole."""
    above = node.parent
    while above is not None and above.type in _LINKS:
        if _is_logical(above):
            return True
        node, above = above, above.parent
    return above is not None and condition_of(above) == node


def _compared(node: Node) -> list[Node]:
    """The comparison that a statement returns or assigns."""
    held = part(node, _ASSIGNED[node.type]) if node.type in _ASSIGNED else None
    if node.type in _RETURNS and parts(node):
        held = parts(node)[0]
    held = None if held is None else unwrapped(held)
    return [held] if held is not None and _is_comparison(held) else []


def _joins(root: Node) -> tuple[dict[int, tuple[str, list[Node]]], set[int]]:
    """The `if`s that are read as one, by the id of the first, and the ids of the others."""
    joined: dict[int, tuple[str, list[Node]]] = {}
    absorbed: set[int] = set()
    for node in walk(root):
        groups: list[tuple[str, list[Node]]] = []
        if node.type in _IFS and node.id not in absorbed:
            nested = [node]
            while (inner := _only_if(nested[-1])) is not None:
                nested.append(inner)
            groups.append(("and", nested))
        elif node.type in _SCOPES:
            groups += (("or", guards) for guards in _guards(node))
        for word, ifs in groups:
            if len(ifs) > 1:
                joined[ifs[0].id] = word, ifs
                absorbed |= {one.id for one in ifs[1:]}
    return joined, absorbed


def _plain_if(node: Node) -> list[Node]:
    """The statements under an `if` without an `else`; empty if it is anything else."""
    node = unwrapped(node) or node
    if node.type not in _IFS or part(node, "alternative") is not None or condition_of(node) is None:
        return []
    return [unwrapped(one) or one for one in statements_of(part(node, "consequence"))]


def _only_if(node: Node) -> Node | None:
    inner = _plain_if(node)
    return inner[0] if len(inner) == 1 and _plain_if(inner[0]) else None


def _guards(block: Node) -> Iterator[list[Node]]:
    """Groups of `if` statements below each other that lead to the same end."""
    run: list[Node] = []
    end = ""
    for node in parts(block):
        inner = _plain_if(node)
        this = shape(inner[0]) if len(inner) == 1 and inner[0].type in _ENDS else ""
        if this and this == end:
            run.append(unwrapped(node) or node)
            continue
        yield run
        run, end = [unwrapped(node) or node], this
    yield run


# -- what a decision leads to --------------------------------------------------------------------------------


def _ways(node: Node) -> tuple[str, str]:
    yes, no = part(node, "consequence"), part(node, "alternative")
    if node.type == _TERNARY:
        yes, _, no = parts(node)
    elif node.type == "if_clause":
        return _describe(part(node.parent, "body")), "continue"
    elif node.type == "elif_clause":
        following = node.next_named_sibling
        no = following if following is not None and following.type in {"elif_clause", "else_clause"} else None
    elif node.type in _LOOPS:
        return "", "continue"
    return _describe(yes), _describe(no) if no is not None else _describe_following(node)


def unwrapped(node: Node | None) -> Node | None:
    """The first statement of a block, the expression of a statement."""
    while node is not None and (node.type in _WRAPPERS or node.type in BLOCKS):
        inner = parts(node)
        if not inner or (node.type == "expression_list" and len(inner) > 1):
            break
        node = inner[0]
    return None if node is None else bare(node)


def _describe(node: Node | None) -> str:
    """The value that a statement returns, assigns or gathers; else the statement itself."""
    node = unwrapped(node)
    if node is not None and node.type in _RETURNS:
        node = unwrapped(parts(node)[0]) if parts(node) else None
    elif node is not None and node.type in _ASSIGNED:
        node = unwrapped(part(node, _ASSIGNED[node.type]))
    elif node is not None and node.type in {"call", "call_expression"}:
        name = text_of_node(part(node, "function")).rpartition(".")[2]
        given = parts(part(node, "arguments"))
        node = given[0] if name in _GATHERED and len(given) == 1 else node
    if node is None:
        return "none"
    if node.type in {"continue_statement", "pass_statement"}:
        return "continue"
    return text_of_node(node).lower() if node.type in TRUTHS | {"none"} else shape(node)


def _describe_following(node: Node) -> str:
    """The code that runs after a statement, also where its block ends there."""
    above: Node | None = node
    while above is not None:
        if above.type in _LOOPS:
            return "continue"
        if above.type in FUNCTIONS | VALUES | OWNERS:
            return "none"
        if above.parent is not None and above.parent.type in _SCOPES:
            following = above.next_named_sibling
            while following is not None and following.type in COMMENTS:
                following = following.next_named_sibling
            if following is not None:
                return _describe(following)
        above = above.parent
    return "none"
