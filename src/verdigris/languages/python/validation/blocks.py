"""Finds assertions of a Python test that never run, or whose failure is caught, because of their blocks."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import replace, value
from verdigris.languages.findings import TestFault
from verdigris.languages.python.stubs.forms import Function, first_line_of, last_name
from verdigris.languages.python.tests import LEAVES, is_assert_call
from verdigris.languages.python.tests.assertion_places import BROAD
from verdigris.languages.python.tests.code import own_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@value
class BlockPlace:
    path: str
    dead: str = ""
    """Why nothing here ever runs; else empty."""
    swallowed: str = ""
    """What catches the failure of an assertion here; else empty."""
    sure: bool = True
    """True if this place runs whenever the test runs."""


def find_block_faults(path: str, function: Function) -> Iterator[TestFault]:
    yield from _check_block(function.body, BlockPlace(path))
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    for node in own_nodes(function):
        if not isinstance(node, Function) or node.name in used or node.decorator_list:
            continue
        if any(map(_asserts, ast.walk(node))):
            yield TestFault(path, node.lineno, f"`{node.name}` asserts, and nobody calls it: call it")


def _check_block(body: Iterable[ast.stmt], at: BlockPlace) -> Iterator[TestFault]:
    dead = at.dead
    for node in body:
        yield from _check_statement(node, replace(at, dead=dead))
        if isinstance(node, LEAVES):
            dead = dead or f"line {node.lineno} leaves before it"


def _check_statement(node: ast.stmt, at: BlockPlace) -> Iterator[TestFault]:
    if _asserts(node) and (at.dead or at.swallowed):
        why = f"is never reached: {at.dead}" if at.dead else f"fails unnoticed: {at.swallowed} catches it"
        yield TestFault(at.path, node.lineno, f"`{first_line_of(node)}` {why}")
        return
    match node:
        case ast.Expr(value=ast.Compare() as compared):
            yield TestFault(at.path, node.lineno, f"`{ast.unparse(compared)}` is compared and not asserted")
        case ast.Expr(value=ast.Attribute(attr=name)) if name.startswith("assert"):
            yield TestFault(
                at.path, node.lineno, f"`{first_line_of(node)}` is not called: it asserts nothing"
            )
        case ast.Expr(value=ast.Call(func=func)) if last_name(func) == "fail" and at.sure and not at.dead:
            yield TestFault(
                at.path,
                node.lineno,
                f"`{first_line_of(node)}` fails whatever the code does: assert an answer instead",
            )
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            yield from _check_context(node, [item.context_expr for item in items], body, at)
        case ast.Try():
            yield from _check_try(node, at)
        case ast.If(test=test, body=body, orelse=orelse):
            never = [f"`{first_line_of(node)}` never holds" if truth_of(test) is False else "", ""]
            never[1] = f"`{first_line_of(node)}` always holds" if truth_of(test) is True else ""
            for block, dead in zip((body, orelse), never, strict=True):
                yield from _check_block(block, replace(at, dead=at.dead or dead, sure=False))
        case ast.For(iter=ast.List(elts=[]) | ast.Tuple(elts=[]), body=body):
            yield from _check_block(body, replace(at, dead=at.dead or "it loops over an empty list"))
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return
        case _:
            for part in ("body", "orelse"):
                yield from _check_block(getattr(node, part, []), replace(at, sure=False))


def _check_context(
    node: ast.stmt, contexts: Iterable[ast.expr], body: Sequence[ast.stmt], at: BlockPlace
) -> Iterator[TestFault]:
    swallowed = at.swallowed
    for call in contexts:
        if isinstance(call, ast.Call) and (kind := _broad_kind(call)):
            name = last_name(call.func)
            if name == "suppress" or kind == "AssertionError" or any(map(_asserts, body)):
                swallowed = swallowed or f"`{ast.unparse(call)}`"
            elif not any(keyword.arg == "match" for keyword in call.keywords):
                yield TestFault(
                    at.path,
                    node.lineno,
                    f"`{ast.unparse(call)}` takes any error, a missing name too: "
                    "name the error, or `match` its text",
                )
    yield from _check_block(body, replace(at, swallowed=swallowed))


def _broad_kind(call: ast.Call) -> str:
    """The exception type of `suppress` or `raises` that also catches a failed assertion; else empty."""
    if last_name(call.func) not in {"suppress", "raises", "assertRaises"}:
        return ""
    kinds = (last_name(part) for arg in call.args for part in ast.walk(arg) if isinstance(part, ast.expr))
    return next((kind for kind in kinds if kind in BROAD), "")


def _check_try(node: ast.Try, at: BlockPlace) -> Iterator[TestFault]:
    silent = next((handler for handler in node.handlers if _is_silent(handler)), None)
    caught = "" if silent is None else f"the `except` of line {silent.lineno}"
    yield from _check_block(node.body, replace(at, swallowed=at.swallowed or caught, sure=False))
    for block in (*(handler.body for handler in node.handlers), node.orelse):
        yield from _check_block(block, replace(at, sure=False))
    yield from _check_block(node.finalbody, at)


def _is_silent(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches a failed assertion and neither raises nor asserts."""
    kinds = [handler.type] if handler.type is not None else []
    named = {last_name(part) for kind in kinds for part in ast.walk(kind) if isinstance(part, ast.expr)}
    if kinds and not named & BROAD:
        return False
    return not any(isinstance(part, ast.Raise) or _asserts(part) for part in ast.walk(handler))


def _asserts(node: ast.AST) -> bool:
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and is_assert_call(node.value))


def truth_of(test: ast.expr) -> bool | None:
    match test:
        case ast.Constant(value=found):
            return bool(found)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = truth_of(operand)
            return None if inner is None else not inner
        case ast.Name(id="TYPE_CHECKING"):
            return False
        case _:
            return None
