"""Mutates the code that a refactor changed, and gives tests other inputs."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.findings import Mutant, Mutated
from verdigris.languages.literals import Replaced, other_value
from verdigris.languages.python.mutation.decisions import find_same_decisions, is_decision, sites_of
from verdigris.languages.python.mutation.defaults import added_defaults
from verdigris.languages.python.mutation.literals import changed_literals
from verdigris.languages.python.mutation.runnable import remove_types
from verdigris.languages.python.renames import read_renaming
from verdigris.languages.python.stubs.forms import Function, is_docstring, last_name
from verdigris.languages.python.syntax import first_line, parse, parse_or_none
from verdigris.languages.python.tests import collected_tests

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from verdigris.languages.literals import Chance, RenamedWords
    from verdigris.languages.python.mutation.decisions import SameDecisions, Site


_BOUNDARY = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_WIDTH = 50


@value
class _MutantChange:
    node: ast.expr
    now: str
    weak: bool = False


def mutate(before: Mapping[str, str], after: Mapping[str, str]) -> Mutated:
    """Mutates Python source; `before`, `after`: texts by path, of the files that differ."""
    after = {path: text.removeprefix("\ufeff") for path, text in after.items()}
    old, new = _read_trees(before), _read_trees(after)
    then, now = sites_of(old), sites_of(new)
    renamed = read_renaming(old, new).words
    same = find_same_decisions(then, now, renamed)
    unchanged = [then[at] for at in same.old], [now[at] for at in same.new]
    literals = changed_literals(old, new, unchanged, renamed)
    mutants: list[Mutant] = []
    untried: list[str] = []
    changes = [
        *_mutate_decisions(then, now, same),
        *((one.path, _MutantChange(one.node, one.other, weak=weak)) for one, weak in literals.new),
    ]
    for path, change in changes:
        data = _apply_change(after[path], change)
        line, said = change.node.lineno, _short(ast.unparse(change.node))
        if data is None:
            untried.append(f"{path}:{line}: `{said}`")
        else:
            what = f"`{said}` → `{_short(change.now)}`: no test notices"
            mutants.append(Mutant(path, line, what, data, change.weak))
    mutants += _mutate_defaults(old, new, after, literals.gone)
    return Mutated(tuple(mutants), tuple(dict.fromkeys(untried)))


def read_words(before: Mapping[str, str], after: Mapping[str, str]) -> RenamedWords:
    """Reads which names a change of source may have renamed."""
    return read_renaming(_read_trees(before), _read_trees(after)).words


def _read_trees(texts: Mapping[str, str]) -> dict[str, ast.Module]:
    trees = {path: tree for path, text in texts.items() if (tree := parse_or_none(text)) is not None}
    return {path: remove_types(tree) for path, tree in trees.items()}


def _mutate_decisions(
    then: Sequence[Site], now: Sequence[Site], same: SameDecisions
) -> Iterator[tuple[str, _MutantChange]]:
    moved = {_loose_shape(site) for at, site in enumerate(then) if at not in same.old}
    for at, site in enumerate(now):
        if at not in same.new and is_decision(site):
            # A boundary that moved (`<` became `<=`) is new behaviour; one that was rewritten is not.
            weak = _loose_shape(site) not in moved
            yield from (
                (site.path, change)
                for node in site.nodes
                for change in _force_decision(node, site.kind, weak=weak)
            )


def _loose_shape(site: Site) -> str:
    return site.about.shape.replace("(LtE )", "(Lt )")


def _force_decision(node: ast.expr, kind: str, *, weak: bool) -> Iterator[_MutantChange]:
    """Changes that each fix one decision of a condition, or move a boundary.

    `weak`: tests need not notice a moved boundary.
    """
    match node:
        case ast.BoolOp(op=op, values=parts):
            neutral = "True" if isinstance(op, ast.And) else "False"
            word = "or" if neutral == "True" else "and"
            conditional = [part for part in parts if kind == "condition" or part is not parts[-1]]
            yield from (
                _MutantChange(part, f"(({ast.unparse(part)}) {word} {neutral})") for part in conditional
            )
            if kind == "value":
                yield _MutantChange(node, f"({ast.unparse(parts[0])})")
        case _ if kind != "compared":
            text = ast.unparse(node)
            if kind != "loop":
                yield _MutantChange(node, f"(({text}) or True)")
            yield _MutantChange(node, f"(({text}) and False)")
    for part in ast.walk(node):
        match part:
            case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _BOUNDARY:
                moved = f"{ast.unparse(left)} {_BOUNDARY[type(sign)]} {ast.unparse(right)}"
                yield _MutantChange(part, moved, weak=weak)


def _mutate_defaults(
    old: Mapping[str, ast.Module],
    new: Mapping[str, ast.Module],
    texts: Mapping[str, str],
    gone: Collection[str],
) -> Iterator[Mutant]:
    """Mutants that set a new parameter to its default: if no test notices, the parameter is not needed yet.

    `gone`: literals that are in no other place any more; a default with such a value is where it moved to.
    """
    for function, name, default in added_defaults(old, new):
        told = ast.unparse(default)
        data = _add_statement(texts[function.path], function.node, f"{name} = {told}")
        what = f"the parameter `{name}` of `{function.name}` is new, and no test needs more than `{told}`"
        yield Mutant(function.path, function.node.lineno, what, data, weak=told in gone)


def _apply_change(text: str, change: _MutantChange) -> bytes | None:
    """Applies a change. None if a node's position is wrong, as inside f-strings in older Pythons."""
    lines = _lines(text)
    node = change.node
    start = _offset(lines, node.lineno, node.col_offset)
    end = _offset(lines, node.end_lineno or node.lineno, node.end_col_offset or 0)
    data = b"".join(lines)
    made = data[:start] + change.now.encode("utf-8", "surrogateescape") + data[end:]
    try:
        was = ast.parse(b"(" + data[start:end] + b"\n)", mode="eval").body
        parse(made.decode("utf-8", "surrogateescape"))
    except (SyntaxError, ValueError):
        return None
    return made if ast.dump(was) == ast.dump(node) else None


def _add_statement(text: str, node: Function, statement: str) -> bytes:
    lines = _lines(text)
    first = next((one for one in node.body if not is_docstring(one)), node.body[-1])
    line = first_line(first)
    start = _offset(lines, line, first.col_offset)
    apart = "; " if line == node.lineno else "\n" + " " * first.col_offset
    data = b"".join(lines)
    return data[:start] + f"{statement}{apart}".encode() + data[start:]


def _lines(text: str) -> list[bytes]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [f"{line}\n".encode("utf-8", "surrogateescape") for line in lines]


def _offset(lines: list[bytes], line: int, column: int) -> int:
    return sum(map(len, lines[: line - 1])) + column


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def replace_inputs(text: str, lot: Chance, tried: Collection[int] = ()) -> tuple[Replaced, ...]:
    """Replaces one literal of every test of a Python file, chosen at random."""
    if (tree := parse_or_none(text)) is None:
        return ()
    names = {name.rpartition("::")[2] for name, _ in collected_tests(tree)}
    data = text.encode("utf-8", "surrogateescape")
    starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.name in names:
            inputs = {
                starts[one.lineno - 1] + one.col_offset: one
                for one in _inputs(node)
                if one.end_lineno is not None
            }
            if inputs:
                start = lot.choice([at for at in inputs if at not in tried] or list(inputs))
                one = inputs[start]
                end = starts[(one.end_lineno or 1) - 1] + (one.end_col_offset or 0)
                was = data[start:end].decode("utf-8", "surrogateescape")
                found.append(Replaced(one.lineno, start, end, was, repr(other_value(one.value, lot))))
    return tuple(found)


def _inputs(test: Function) -> Iterator[ast.Constant]:
    """The literals that a test passes to the code: arguments of calls, and the rows of its table."""
    stack: list[tuple[ast.AST, bool]] = [(one, False) for one in test.body if not is_docstring(one)]
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and last_name(decorator.func) == "parametrize":
            stack += ((row, True) for row in decorator.args[1:2])
    while stack:
        node, given = stack.pop()
        match node:
            case ast.Constant(value=bool() | None):
                continue
            case ast.Constant(value=int() | float() | str()) if given:
                yield node
            case ast.JoinedStr() | ast.keyword(arg="match"):
                continue
            case ast.Call(func=func, args=args, keywords=keywords):
                stack += [(func, given), *((one, True) for one in (*args, *keywords))]
            case _:
                stack += ((child, given) for child in ast.iter_child_nodes(node))
