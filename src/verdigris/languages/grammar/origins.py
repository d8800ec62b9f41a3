"""Reads where the names of a file come from: from outside the project, or from within."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.grammar.conditions import IDENTIFIERS
from verdigris.languages.grammar.trees import part, text_of_node, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

_OWN = frozenset({"crate", "self", "super"})


@value
class Names:
    origins: Mapping[str, str]
    """By local name, the package that it is imported from; empty for a relative import."""
    bound: frozenset[str]
    """All names that the file binds."""
    own: frozenset[str]
    """Folders and modules of the project."""

    def package_of(self, expression: str) -> str:
        """The package outside the project that a dotted name leads to; empty if there is none."""
        origin = self.origins.get(head_of(expression), "")
        return "" if origin in self.own else origin

    def is_outside(self, expression: str) -> bool:
        """Whether a name is a library's, or built in."""
        return bool(self.package_of(expression)) or head_of(expression) not in self.bound


def head_of(expression: str) -> str:
    """The first of the names that lead to a member."""
    return expression.replace("::", ".").split(".")[0]


def origins_of(root: Node) -> dict[str, str]:
    """Maps local names to the packages that they are imported from; empty for a relative import."""
    return {name: _package(module) for node in walk(root) for name, module in _imported(node)}


def _imported(node: Node) -> Iterator[tuple[str, str]]:
    match node.type:
        case "import_from_statement":
            module = text_of_node(part(node, "module_name"))
            for one in node.children_by_field_name("name"):
                yield text_of_node(part(one, "alias") or one), module
        case "import_statement" if part(node, "source") is None:
            for one in node.children_by_field_name("name"):
                name = text_of_node(part(one, "name") or one)
                yield text_of_node(part(one, "alias")) or name.partition(".")[0], name
        case "import_statement":
            yield from _bound(node, text_of_node(part(node, "source")).strip("\"'"))
        case "variable_declarator" if text_of_node(part(node, "value")).startswith("require("):
            module = text_of_node(part(node, "value"))[len("require(") :].rstrip(")").strip("\"'`")
            yield from _bound(part(node, "name"), module)
        case "import_spec":
            path = text_of_node(part(node, "path")).strip('"`')
            yield text_of_node(part(node, "name")) or path.rpartition("/")[2], path
        case "use_declaration":
            path = text_of_node(part(node, "argument"))
            yield from _bound(node, path.split("::")[0])


def _bound(node: Node | None, module: str) -> Iterator[tuple[str, str]]:
    for one in walk(node) if node is not None else ():
        if one.type in IDENTIFIERS and not _is_renamed(one):
            yield text_of_node(one), module


def _is_renamed(node: Node) -> bool:
    above = node.parent
    alias = None if above is None else part(above, "alias")
    return alias is not None and alias != node


def _package(module: str) -> str:
    """The name by which a package is known; empty for the project's own."""
    if module.startswith(".") or module in _OWN:
        return ""
    module = module.removeprefix("node:")
    first, _, rest = module.partition("/")
    if "." in first and rest:
        return module.rpartition("/")[2]
    return module if module.startswith("@") else first.partition(".")[0]
