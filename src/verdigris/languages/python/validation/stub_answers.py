"""How Python returns constants: what new stubs can return instead of their own."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.conditions import last_name
from verdigris.languages.grammar.trees import part, parts, text_of_node, walk
from verdigris.languages.grammar.validation import UNTOLD, AnswerForms, Returned

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {
    **dict.fromkeys(("list", "List", "Sequence", "Iterable", "Iterator", "Collection"), "list"),
    **dict.fromkeys(("dict", "Dict", "Mapping", "MutableMapping"), "dict"),
    **dict.fromkeys(("set", "Set", "frozenset", "FrozenSet", "AbstractSet"), "set"),
    **dict.fromkeys(("tuple", "Tuple"), "tuple"),
    **{name: name for name in ("bool", "int", "float", "str", "bytes")},
}
_UNCALLED = re.compile(r"__(?:init|new|post_init|init_subclass|del|set_name)__")
_BARE = frozenset({"abstractmethod", "overload", "setter", "deleter"})
_NOTHING = frozenset({"None", "NoReturn", "Never"})
_CONSTANT = frozenset(
    {
        *(
            "return_statement",
            "expression_statement",
            "integer",
            "float",
            "true",
            "false",
            "none",
            "ellipsis",
        ),
        *("string", "string_start", "string_content", "string_end", "escape_sequence", "concatenated_string"),
        *("unary_operator", "tuple", "list", "set", "dictionary", "pair", "comment"),
    }
)
_INSIDE = re.compile(r"(?:\w+\.)*(?:Optional|Annotated|Final)\[(.*)\]", re.DOTALL)


def _work(function: Node) -> Node | None:
    """The statement of a stub that a `return` can replace; those after it then do not run."""
    body = parts(part(function, "body"))
    above = function.parent
    marks = parts(above)[:-1] if above is not None and above.type == "decorated_definition" else []
    named = {last_name(part(one, "function") or one) for mark in marks for one in parts(mark)}
    while above is not None and above.type != "function_definition":
        above = above.parent
    if above is not None or named & _BARE or not body or not all(map(_is_empty, body)):
        return None
    has_docstring = body[0].type == "expression_statement" and len(body) > 1
    return body[1] if has_docstring else body[0]


def _is_empty(statement: Node) -> bool:
    return statement.type in {"pass_statement", "raise_statement"} or all(
        node.type in _CONSTANT or text_of_node(node) == "NotImplemented"
        for node in walk(statement)
        if node.is_named
    )


def _return_form(function: Node, work: Node) -> Returned | None:
    annotation = text_of_node(part(function, "return_type")).strip("'\" ")
    if _UNCALLED.fullmatch(text_of_node(part(function, "name"))) or annotation.rpartition(".")[2] in _NOTHING:
        return None
    returns = (one for one in walk(part(function, "body") or work) if one.type == "return_statement")
    given = next((one for one in returns if parts(one)), None)
    kind = _kind_of_literal(text_of_node(parts(given)[0])) if given is not None and not annotation else ""
    return Returned(_kind(annotation) or _KINDS.get(kind, UNTOLD), "%s")


def _kind(annotation: str) -> str:
    """The first kind that an annotation names; empty if there is none."""
    while inner := _INSIDE.fullmatch(annotation):
        annotation = inner[1]
    names = (re.sub(r"\[.*", "", one, flags=re.DOTALL).strip(" ,") for one in annotation.split("|"))
    return next((_KINDS[head] for name in names if (head := re.split(r"[.,]", name)[-1]) in _KINDS), "")


def _kind_of_literal(text: str) -> str:
    try:
        return type(ast.literal_eval(text)).__name__
    except (ValueError, TypeError, SyntaxError):
        return ""


FORMS = AnswerForms(
    functions={"function_definition": _work},
    returned=_return_form,
    constants={
        "bool": ("", "True", "False"),
        "int": ("0", "N", "-N"),
        "float": ("0.0", "N.5", "-N.25"),
        "str": ('""', '"W"', '"W N"'),
        "bytes": ('b""', 'b"W"', 'b"W N"'),
        "list": ("[]", '["W"]', "[N, -N]"),
        "tuple": ("()", '("W",)', "(N, -N)"),
        "set": ("set()", '{"W"}', "{N, -N}"),
        "dict": ("{}", '{"W": N}', '{"W": "W", N: -N}'),
    },
    untold=("int", "str", "list", "dict", "bool"),
    answer="return %s",
    errors=('raise ValueError("W")', 'raise RuntimeError("W")'),
    kind_of=_kind_of_literal,
)
