"""What of a module a test can run: not what only a type checker reads, and not the list of its exports."""

from __future__ import annotations

import ast

from verdigris.languages.python.stubs.forms import last_name

_TYPE_FORMS = frozenset(
    {
        *("Literal", "Union", "Optional", "Callable", "Type", "TypeGuard", "TypeIs", "Concatenate", "Unpack"),
        *("Dict", "List", "Set", "FrozenSet", "Tuple", "Mapping", "Sequence", "Iterable", "Iterator"),
        *("dict", "list", "set", "frozenset", "tuple", "type", "Awaitable", "Coroutine", "Generator"),
    }
)
_EXPORTS = "__all__"


def remove_types(tree: ast.Module) -> ast.Module:
    """Takes out of the tree what no test can run."""
    _RemoveTypes().visit(tree)
    return tree


class _RemoveTypes(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        super().generic_visit(node)
        if isinstance(body, list) and first is not None and not body:
            body.append(ast.copy_location(ast.Pass(), first))
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        match node.test:
            case ast.UnaryOp(op=ast.Not(), operand=asked) if _asks_for_types(asked):
                kept = node.body
            case asked if _asks_for_types(asked):
                kept = node.orelse
            case _:
                return self.generic_visit(node)
        block = ast.Module(kept, [])
        self.generic_visit(block)
        return block.body

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST | None:
        return (
            None if any(last_name(base) == "TypedDict" for base in node.bases) else self.generic_visit(node)
        )

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        overload = any(last_name(one) == "overload" for one in node.decorator_list)
        return None if overload else self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST | None:
        overload = any(last_name(one) == "overload" for one in node.decorator_list)
        return None if overload else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        named = all(isinstance(target, ast.Name) for target in node.targets)
        return None if named and (_makes_type(node.value) or _lists_exports(node.targets[0])) else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        return None if last_name(node.annotation) == "TypeAlias" or _lists_exports(node.target) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | None:
        return None if _lists_exports(node.target) else node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        match node.value:
            case ast.Call(func=ast.Attribute(value=target)) if _lists_exports(target):
                return None
            case _:
                return node

    def visit_TypeAlias(self, _: ast.AST) -> None:
        """From Python 3.12 on: `type Mode = Literal["read", "write"]`."""


def _asks_for_types(test: ast.expr) -> bool:
    return last_name(test) == "TYPE_CHECKING"


def _makes_type(found: ast.expr) -> bool:
    return isinstance(found, ast.Subscript) and last_name(found.value) in _TYPE_FORMS


def _lists_exports(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == _EXPORTS
