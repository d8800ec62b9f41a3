"""Mutates the code that a refactor changed.

Where runs are not traced, a new function or arm is made to fail: a test that runs it fails.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from verdigris.core.value import field, replace, value
from verdigris.languages.findings import Mutant, Mutated
from verdigris.languages.grammar.bindings import FUNCTIONS, is_docstring, read_renaming, statements_of
from verdigris.languages.grammar.conditions import (
    IDENTIFIERS,
    NUMBERS,
    TEXTS,
    TRUTHS,
    bare,
    is_interpolated,
    last_name,
    literal_text,
    operator_of,
)
from verdigris.languages.grammar.decisions import find_same_decisions, sites_of
from verdigris.languages.grammar.parameters import added_defaults
from verdigris.languages.grammar.trees import (
    COMMENTS,
    line_of,
    on_one_line,
    part,
    parts,
    short,
    text_of_node,
    tree_of,
    walk,
)
from verdigris.languages.literals import Literal, compare_literals
from verdigris.languages.probes import ByteEdit, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tree_sitter import Node

    from verdigris.languages.findings import MutantKind
    from verdigris.languages.grammar.bindings import Visited
    from verdigris.languages.grammar.decisions import SameDecisions, Site
    from verdigris.languages.grammar.parameters import Signature

    Change = tuple[Node, tuple[ByteEdit, ...], str]
    """A node, its edits, and what is told of them."""


_FAILING = frozenset({"function", "arm"})
"""Kinds of places that are made to fail as a whole."""
_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_NUMBER = re.compile(r"(0|[1-9][\d_]*)((?:\.\d+)?)")
_SILENT = frozenset(
    {
        *("import_statement", "import_declaration", "throw_statement", "macro_invocation", "attribute_item"),
        *("use_declaration", "type_annotation", "inner_attribute_item", "literal_type", "raise_statement"),
        *("interface_declaration", "type_alias_declaration", "ambient_declaration", "assert_statement"),
        *("type", "parameters", "case_pattern", "decorator", "interpolation", "ERROR"),
    }
)
_TELLING = re.compile(r"^(?:console|log|fmt|errors)\.|^Error\w*$")
_RETURNING = frozenset(
    {"return_statement", "return_expression", "yield", "lambda", "arrow_function", "closure_expression"}
)
_ENDING_ANSWERS = frozenset(
    {*("block", "statement_block", "module", "comparison_operator", "program", "source_file")}
)
_DEFINITIONS = frozenset({"function_definition"})
_NO_WORK = frozenset({"pass_statement", "raise_statement"})
_SHOWN = frozenset({"__repr__", "GoString"})
_ALL_NAMES = frozenset({"locals", "vars", "eval", "exec", "arguments"})
"""By these a body reads each of its parameters."""
IMPORTED = '__import__("unittest.mock").mock.'
"""Before the name of an object that answers everything; a person is not shown it."""
_LISTS = frozenset({"list", "tuple", "set", "array"})
_FEW = 3
"""So many names make a table."""


def runnable(node: Node) -> Iterable[Node]:
    return (one for one in node.children if one.type not in COMMENTS | {"token_tree", "ERROR"})


@value
class MutationForms:
    """How a language writes what a mutant needs."""

    statement: str = ""
    """A statement that fails when it runs; empty where executed lines are traced."""
    expression: str = ""
    """Replaces a body that is an expression; empty if the language has no such functions."""
    either: str = "|| true"
    both: str = "&& false"
    """`either` and `both`: what is added to a condition that shall always, or never, hold."""
    telling: re.Pattern[str] = _TELLING
    """Functions whose literals are messages, or names that only a type checker reads."""
    looks_up: frozenset[str] = frozenset()
    """Functions that look names up."""
    nothing: str = ";"
    """A statement that does nothing."""
    keeping: str = ""
    """What is added to a file so that an import which nothing else needs is allowed; `%s` is a use of it."""
    answers: tuple[str, ...] = ()
    """What a body that knows nothing returns; empty where the type of an answer has to be known."""
    alike: Mapping[str, str] = field(default_factory=dict)
    """Answers that equal another one: where source returns that, they are no other answer."""
    nothings: str = ""
    """A list of so many items that hold nothing."""
    visited: Visited = runnable
    """The children of a node that a test can run."""


def mutate_by_grammar(
    forms: MutationForms,
    strip: Callable[[bytes], bytes],
    before: Mapping[str, bytes | None],
    after: Mapping[str, bytes | None],
) -> Mutated:
    """Mutates files that have a grammar; `strip` removes the tests that stand among the source."""
    texts = {path: data for path, data in after.items() if data is not None}
    old, new = read_roots(strip, before), read_roots(strip, texts)
    then, now = (sites_of(roots, forms.visited, whole=bool(forms.statement)) for roots in (old, new))
    renamed = read_renaming(old, new)
    same = find_same_decisions(then, now, renamed)
    mutants = list(mutate_decisions(forms, then, now, same, texts))
    kept = [then[at] for at in same.old], [now[at] for at in same.new]
    was, held = (list(_literals_of(forms, *side)) for side in zip((old, new), kept, strict=True))
    surplus = compare_literals([about for _, _, about in was], [about for _, _, about in held])
    left = [was[at][2] for at in surplus.left]
    names = {node.id for root in new.values() for node in _tables_of_names(forms, root)}
    for at, weak in surplus.found.items():
        path, node, about = held[at]
        edit = None if any(renamed.covers(one, about) for one in left) else _change_literal(node)
        if edit is not None:
            mutant = _make_mutant(path, texts[path], *_told(node, (edit,)))
            kind: MutantKind = "answer" if _is_returned(node) and not _is_shown(node) else "literal"
            mutants.append(replace(mutant, weak=weak or node.id in names, kind=kind))
    gone = {one.value for one in left}
    mutants += (_hold_default(*one, texts, gone) for one in added_defaults(old, new, forms.visited))
    return Mutated(tuple(mutants))


def mutate_decisions(
    forms: MutationForms,
    then: Sequence[Site],
    now: Sequence[Site],
    same: SameDecisions,
    texts: Mapping[str, bytes],
) -> Iterator[Mutant]:
    """Mutants of the decisions of `now` that `then` has not; `texts`: the files of `now`."""
    moved = {site.loose_shape for at, site in enumerate(then) if at not in same.old}
    for at, site in enumerate(now):
        if at not in same.new:
            # A boundary that moved (`<` became `<=`) is new behaviour; one that was rewritten is not.
            yield from _mutate_site(forms, site, texts[site.path], weak=site.loose_shape not in moved)


def read_roots(strip: Callable[[bytes], bytes], texts: Mapping[str, bytes | None]) -> dict[str, Node]:
    return {path: tree_of(path, strip(data))[0] for path, data in texts.items() if data is not None}


# -- decisions -----------------------------------------------------------------------------------------------


def _mutate_site(forms: MutationForms, site: Site, data: bytes, *, weak: bool) -> Iterator[Mutant]:
    mutant = partial(_make_mutant, site.path, data)
    for node in site.nodes:
        if site.kind in _FAILING:
            yield from (replace(mutant(*one), fails=True) for one in _fail(forms, node, site.kind))
            continue
        yield from (mutant(*one) for one in _force_decision(forms, node, site.kind))
        yield from (replace(mutant(*one), weak=weak, kind="bound") for one in _boundaries(node))


def _make_mutant(path: str, data: bytes, node: Node, edits: tuple[ByteEdit, ...], what: str) -> Mutant:
    return Mutant(path, line_of(node), what, apply_edits(data, edits), subject=short(text_of_node(node)))


def _told(node: Node, edits: tuple[ByteEdit, ...]) -> Change:
    """The edits of a node, with what they make of it."""
    start = node.start_byte
    moved = [ByteEdit(one.start - start, one.end - start, one.text) for one in edits]
    text = apply_edits(node.text or b"", moved).decode("utf-8", "surrogateescape")
    return node, edits, f"`{short(text_of_node(node))}` → `{short(text)}`: no test notices"


def _fail(forms: MutationForms, node: Node, kind: str) -> Iterator[Change]:
    if kind == "arm":
        edits = _failing_arm(forms, node)
        name = short(text_of_node(node), 40)
    else:
        edits = _edit_to_fail(forms, part(node, "body"))
        name = text_of_node(part(node, "name")) or text_of_node(part(node.parent, "name")) or "a function"
    if edits is not None:
        yield node, edits, f"`{name}` is new or changed, and no test runs it"


def _force_decision(forms: MutationForms, node: Node, kind: str) -> Iterator[Change]:
    """Changes that each fix one decision of a condition."""
    inner = bare(node)
    operator = operator_of(inner)
    ways = {"and": (forms.either,), "or": (forms.both,), "??": ()}.get(operator, (forms.either, forms.both))
    operands = list(_operands(inner, operator)) if operator in {"and", "or"} else [inner]
    if operator in {"and", "or"} and kind != "condition":
        operands.pop()  # the last part of a value is the value itself, and a loop must be able to end
    for one in operands:
        for way in ways:
            if kind == "compared" or (kind == "loop" and one is inner and way == forms.either):
                continue
            ends = (
                ByteEdit(one.start_byte, one.start_byte, "(("),
                ByteEdit(one.end_byte, one.end_byte, f") {way})"),
            )
            yield _told(one, ends)
    if kind == "value":
        first = next(_operands(inner, operator))
        yield _told(inner, (ByteEdit(inner.start_byte, inner.end_byte, f"({text_of_node(first)})"),))


def _operands(node: Node, operator: str) -> Iterator[Node]:
    for side in (part(node, "left"), part(node, "right")):
        if side is not None and operator_of(side) == operator:
            yield from _operands(side, operator)
        elif side is not None:
            yield side


def _boundaries(node: Node) -> Iterator[Change]:
    for one in walk(node):
        if (sign := operator_of(one)) in _BOUNDARY:
            token = next(child for child in one.children if text_of_node(child) == sign)
            yield _told(one, (ByteEdit(token.start_byte, token.end_byte, _BOUNDARY[sign]),))


def _edit_to_fail(forms: MutationForms, body: Node | None) -> tuple[ByteEdit, ...] | None:
    if body is None:
        return None
    if body.type in {"statement_block", "block"}:
        return (ByteEdit(body.start_byte + 1, body.start_byte + 1, f" {forms.statement} "),)
    if not forms.expression:
        return None
    return (ByteEdit(body.start_byte, body.end_byte, forms.expression),)


def _failing_arm(forms: MutationForms, node: Node) -> tuple[ByteEdit, ...] | None:
    if node.type == "catch_clause":
        return _edit_to_fail(forms, part(node, "body"))
    if node.type == "match_arm":
        found = part(node, "value")
        if found is None:
            return None
        start = ByteEdit(found.start_byte, found.start_byte, f"{{ {forms.statement} ")
        return start, ByteEdit(found.end_byte, found.end_byte, " }")
    colon = next((child for child in node.children if child.type == ":"), None)
    return None if colon is None else (ByteEdit(colon.end_byte, colon.end_byte, f" {forms.statement} "),)


# -- literals ------------------------------------------------------------------------------------------------


def _literals_of(
    forms: MutationForms, roots: Mapping[str, Node], same: Iterable[Site]
) -> Iterator[tuple[str, Node, Literal]]:
    """The literals outside of unchanged conditions, whose literals did not change either."""
    conditions = (site for site in same if site.kind not in _FAILING)
    within = {one.id for site in conditions for node in (*site.nodes, *site.stands_for) for one in walk(node)}
    for path, root in roots.items():
        for node in _literals(forms, root):
            if node.id not in within:
                yield path, node, Literal(literal_text(node), _place(node))


def _place(node: Node) -> str:
    above = node.parent
    if above is None:
        return ""
    function = text_of_node(part(above.parent, "function")).rpartition(".")[2]
    at = [child.id for child in above.children].index(node.id)
    return f"{at} {above.type} {function} {' '.join(child.type for child in above.children)}"


def _literals(forms: MutationForms, root: Node) -> Iterator[Node]:
    """The numbers, texts and booleans that code works with; not those of messages, imports and types."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in NUMBERS | TEXTS | TRUTHS:
            if not is_interpolated(node):
                yield node
        elif not _is_silent(forms, node):
            stack += reversed(list(forms.visited(node)))


def _is_silent(forms: MutationForms, node: Node) -> bool:
    match node.type:
        case "export_statement":
            return part(node, "source") is not None
        case "expression_statement":
            return is_docstring(node)
        case "call" | "call_expression" | "new_expression":
            called = part(node, "function") or part(node, "constructor")
            return forms.telling.search(on_one_line(called)) is not None
        case "assignment":
            return text_of_node(part(node, "left")).startswith("__")
        case kind:
            return kind in _SILENT


def _tables_of_names(forms: MutationForms, root: Node) -> Iterator[Node]:
    """The items of lists and sets of names, in a module that looks names up."""
    called = {last_name(part(node, "function")) for node in walk(root) if node.type == "call"}
    if called.isdisjoint(forms.looks_up):
        return
    for node in walk(root):
        items = parts(node) if node.type in _LISTS else []
        if len(items) >= _FEW and all(literal_text(one).strip("'").isidentifier() for one in items):
            yield from items


def _change_literal(node: Node) -> ByteEdit | None:
    text = text_of_node(node)
    if node.type in TEXTS:
        end = node.children[-1].start_byte if node.children else node.end_byte - 1
        return ByteEdit(end, end, "~")
    if text.lower() in _OTHER_TRUTH:
        other = _OTHER_TRUTH[text.lower()]
        return ByteEdit(node.start_byte, node.end_byte, other if text.islower() else other.title())
    number = _NUMBER.fullmatch(text)
    if number is None:
        return None
    return ByteEdit(node.start_byte, node.end_byte, f"{int(number[1]) + 1}{number[2]}")


def _is_returned(node: Node) -> bool:
    """Whether a literal takes part in what a function returns, and not in a comparison there."""
    above = node.parent
    while above is not None and above.type not in _RETURNING:
        if above.type in _ENDING_ANSWERS:
            return False
        above = above.parent
    return above is not None


def _is_shown(node: Node) -> bool:
    """Whether a literal stands in a function by which only people read a value: its text may be any."""
    above = node.parent
    while above is not None and above.type not in FUNCTIONS:
        above = above.parent
    return text_of_node(part(above, "name")) in _SHOWN


_OTHER_TRUTH = {"true": "false", "false": "true"}


# -- bodies --------------------------------------------------------------------------------------------------


def empty_bodies(
    forms: MutationForms,
    before: Mapping[str, bytes | None],
    after: Mapping[str, bytes | None],
    named: Collection[str] | None = None,
    lengths: Collection[int] = (),
) -> Iterator[Mutant]:
    """Replaces bodies by answers that know nothing: a weak test passes one of them.

    Those of new and changed functions that do some work; with `named`, of all functions with such a name,
    stubs too. `lengths`: of lists that hold nothing.
    """
    old, new = read_roots(bytes, before), read_roots(bytes, after)
    known = {text_of_node(one) for root in old.values() for one in walk(root) if one.type in _DEFINITIONS}
    for path, root in new.items():
        for function in (one for one in walk(root) if one.type in _DEFINITIONS):
            if named is None:
                asked = text_of_node(function) not in known and _does_work(function)
            else:
                asked = text_of_node(part(function, "name")) in named
            if asked:
                answers = (*forms.answers, *(forms.nothings % length for length in lengths))
                yield from _empty_body(replace(forms, answers=answers), path, after[path] or b"", function)


def _work_of(function: Node) -> list[Node]:
    return [one for one in statements_of(part(function, "body")) if not is_docstring(one)]


def _does_work(function: Node) -> bool:
    work = _work_of(function)
    return len(work) > 1 or any(one.type not in _NO_WORK for one in work)


def _empty_body(forms: MutationForms, path: str, data: bytes, function: Node) -> Iterator[Mutant]:
    body, named = part(function, "body"), text_of_node(part(function, "name"))
    work = _work_of(function) or statements_of(body)[-1:]
    if body is None or not work:
        return
    parameters = part(function, "parameters")
    taken = [last_name(one) for one in parts(parameters)[:2]]
    first = [name for name in taken if name not in {"", "self", "cls"}][:1]
    own = on_one_line(work[0]).removeprefix("return ")
    subject = short(f"def {named}{on_one_line(parameters)}")
    for answer in (*forms.answers, *first):
        if own in {answer, forms.alike.get(answer)}:
            continue
        edit = ByteEdit(work[0].start_byte, body.end_byte, f"return {answer}")
        what = f"`return {answer.removeprefix(IMPORTED)}` instead of the body of `{named}`"
        yield replace(_make_mutant(path, data, function, (edit,), what), subject=subject, kind="body")


# -- parameters ----------------------------------------------------------------------------------------------


def _is_used(function: Node, parameter: str) -> bool:
    """Whether the body reads a parameter: to hold another one at its default changes nothing."""
    body = part(function, "body") or function
    names = {text_of_node(node) for node in walk(body) if node.type in IDENTIFIERS}
    return parameter in names or not names.isdisjoint(_ALL_NAMES)


def _hold_default(
    function: Signature, name: str, default: Node, texts: Mapping[str, bytes], gone: Collection[str]
) -> Mutant:
    """Sets a new parameter to its default: if no test notices, the parameter is not needed yet.

    `gone`: literals that are in no other place any more; a default with such a value is where it moved to.
    """
    data, told = texts[function.path], text_of_node(default)
    what = f"the parameter `{name}` of `{function.name}` is new, and no test needs more than `{told}`"
    edit = _first_statement(function.node, data, f"{name} = {told}")
    mutant = _make_mutant(function.path, data, function.node, (edit,), what)
    subject = f"{name}={told}"
    kind: MutantKind = "default" if _is_used(function.node, name) else "literal"
    return replace(mutant, weak=literal_text(default) in gone, subject=subject, kind=kind)


def _first_statement(function: Node, data: bytes, statement: str) -> ByteEdit:
    """Adds a statement as the first one of a function, below its docstring."""
    body = part(function, "body")
    if body is not None and text_of_node(body).startswith("{"):
        return ByteEdit(body.start_byte + 1, body.start_byte + 1, f" {statement};")
    inner = statements_of(body)
    first = next((one for one in inner if not is_docstring(one)), inner[-1])
    at = first.start_byte
    indent = data[data.rfind(b"\n", 0, at) + 1 : at].decode("utf-8", "surrogateescape")
    return ByteEdit(at, at, f"{statement}; " if indent.strip() else f"{statement}\n{indent}")
