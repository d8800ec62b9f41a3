"""What mutants of Python need: how conditions are forced, and which code no test can run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.conditions import last_name
from verdigris.languages.grammar.mutation import IMPORTED, MutationForms, runnable
from verdigris.languages.grammar.trees import part, parts, text_of_node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

_TELLING = re.compile(
    r"(?:^|\.)(?:(?i:log|warn|print|debug|info|error|exception|critical)\w*"
    r"|TypeVar|ParamSpec|NewType|cast|dataclass|namedtuple|NamedTuple)$"
)
_LOOKING_UP = frozenset({"vars", "dir", "getattr", "globals", "locals", "import_module"})
_TYPE_FORMS = frozenset(
    {
        *("Literal", "Union", "Optional", "Callable", "Type", "TypeGuard", "TypeIs", "Concatenate", "Unpack"),
        *("Dict", "List", "Set", "FrozenSet", "Tuple", "Mapping", "Sequence", "Iterable", "Iterator"),
        *("dict", "list", "set", "frozenset", "tuple", "type", "Awaitable", "Coroutine", "Generator"),
    }
)


def visited(node: Node) -> Sequence[Node]:
    """The children that a test can run: not what only a type checker reads, and not the list of exports."""
    children = [one for one in runnable(node) if not _is_for_types(one)]
    if node.type == "if_statement":
        condition = part(node, "condition")
        if last_name(condition) == "TYPE_CHECKING":
            return [one for one in children if one.type in {"elif_clause", "else_clause"}]
        if last_name(part(condition, "argument")) == "TYPE_CHECKING":
            return [one for one in children if one.type == "block"]
    return children


def _is_for_types(node: Node) -> bool:
    match node.type:
        case "type_alias_statement":
            return True
        case "decorated_definition":
            return any(
                last_name(parts(one)[0]) == "overload" for one in parts(node) if one.type == "decorator"
            )
        case "class_definition":
            return any(last_name(base) == "TypedDict" for base in parts(part(node, "superclasses")))
        case "expression_statement":
            return _declares_types(parts(node)[0] if parts(node) else node)
        case _:
            return False


def _declares_types(node: Node) -> bool:
    """Whether an expression names a type, or changes `__all__`."""
    target = part(part(node, "function"), "object") if node.type == "call" else part(node, "left")
    if text_of_node(target) == "__all__":
        return True
    if node.type != "assignment" or target is None or target.type != "identifier":
        return False
    annotation, value = parts(part(node, "type")), part(node, "right")
    is_alias = bool(annotation) and last_name(annotation[0]) == "TypeAlias"
    return is_alias or (
        value is not None and value.type == "subscript" and last_name(part(value, "value")) in _TYPE_FORMS
    )


FORMS = MutationForms(
    either="or True",
    both="and False",
    telling=_TELLING,
    looks_up=_LOOKING_UP,
    nothing="pass",
    answers=("None", "0", '""', "[]", "True", "False", "1", "{}", f"{IMPORTED}MagicMock()"),
    alike={"0": "False", "False": "0", "1": "True", "True": "1"},
    nothings="[None] * %d",
    visited=visited,
)
