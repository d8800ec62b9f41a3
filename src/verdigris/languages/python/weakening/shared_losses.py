"""Judges whether a change of source weakens tests that assert with this source."""

from __future__ import annotations

import ast
from itertools import zip_longest
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK
from verdigris.languages.python.modules import dotted_name
from verdigris.languages.python.renames import read_renaming
from verdigris.languages.python.syntax import nodes_in, parse_or_none
from verdigris.languages.python.tests.shared_oracle import OracleFiles, fails
from verdigris.languages.python.weakening import weakenings
from verdigris.languages.tracing import SharedLosses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.languages.python.renames import Renaming
    from verdigris.languages.python.tests.code import Place
    from verdigris.languages.tracing import SharedOracle

_SHOWN = 60
_LOSES = frozenset({"removed", "dropped", "guarded", "weaker", "cases"})
_CONTAINERS = frozenset(
    {
        *("dict", "list", "set"),
        *(f"collections.{name}" for name in ("OrderedDict", "Counter", "deque", "ChainMap")),
        *(f"weakref.Weak{name}" for name in ("KeyDictionary", "ValueDictionary", "Set")),
    }
)
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def judge_shared(
    before: Mapping[str, str], after: Mapping[str, str], shared: Iterable[SharedOracle]
) -> SharedLosses:
    """Judges which of these assertions and expected values a change of source weakens; texts by path."""
    shared = tuple(shared)
    old, new = OracleFiles({}, before), OracleFiles({}, after)
    blocking, noted = _lost_assertions(old, before, after, [s for s in shared if s.kind == "assertion"])
    renaming = read_renaming(_trees(before), _trees(after))
    for one in shared:
        if one.kind == "expectation" and (told := _changed_table(old, new, one, renaming)):
            harmless = _is_stub(old, before, one) or _only_grew(old, new, one) or _stays_empty(old, new, one)
            (noted if harmless else blocking).append(told)
    return SharedLosses(tuple(dict.fromkeys(blocking)), tuple(dict.fromkeys(noted)))


def _trees(texts: Mapping[str, str]) -> dict[str, ast.Module]:
    return {path: tree for path, text in texts.items() if (tree := parse_or_none(text)) is not None}


def _lost_assertions(
    files: OracleFiles, before: Mapping[str, str], after: Mapping[str, str], shared: list[SharedOracle]
) -> tuple[list[str], list[str]]:
    places = frozenset[tuple[str, str]]()
    for one in shared:
        code = files.code(one.path)
        places |= frozenset() if code is None else files.asserting_functions((code, one.name))
    ranges = [
        (path, node.lineno, node.end_lineno or node.lineno)
        for path, name in places
        if (code := files.code(path)) is not None and (node := code.functions.get(name)) is not None
    ]
    blocking: list[str] = []
    noted: list[str] = []
    use = {"test_of_what_is_shared.py": _write_calling_tests(shared)}
    for less in weakenings(use | _as_assertions(before), use | _as_assertions(after)) if ranges else ():
        if any(path == less.path and first <= less.line <= last for path, first, last in ranges):
            now = f", is `{less.after}`" if less.after else ""
            told = f"{less.path}:{less.line}: {less.kind}: was `{less.before}`{now}; tests assert with it"
            (blocking if less.kind in _LOSES else noted).append(told)
    return blocking, noted


def _write_calling_tests(shared: Iterable[SharedOracle]) -> str:
    """Tests that call each of these functions, so that a function which moved is found by its import."""
    names = [(dotted_name(one.path), one.name) for one in shared]
    return "".join(
        f"from {module} import {name}\n\n\ndef test_{name}():\n    {name}(value)\n"
        for module, name in names
        if "::" not in name
    )


def _as_assertions(texts: Mapping[str, str]) -> dict[str, str]:
    """Rewrites `if C: raise AssertionError` as an `assert`, on the same lines."""
    return {path: _with_assertions(text) for path, text in texts.items()}


def _with_assertions(text: str) -> str:
    if (tree := parse_or_none(text)) is None:
        return text
    nodes = [*nodes_in(tree)]
    lines = text.splitlines()
    for node in nodes:
        match node:
            case ast.If(test=test, body=[ast.Raise() as failure], orelse=[]) if fails(failure):
                first, last = node.lineno - 1, (node.end_lineno or node.lineno)
                made = f"{' ' * node.col_offset}assert {_negate(test)}"
                lines[first:last] = [made, *[""] * (last - first - 1)]
    return "\n".join(lines) + "\n"


def _negate(test: ast.expr) -> str:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ast.unparse(operand)
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _OPPOSITE:
            return ast.unparse(ast.Compare(left, [_OPPOSITE[type(operator)]()], [right]))
        case _:
            return f"not ({ast.unparse(test)})"


def _changed_table(old: OracleFiles, new: OracleFiles, one: SharedOracle, renaming: Renaming) -> str:
    """Describes the first branch in which a table has another value; empty if there is none."""
    before, after = _all_values(old, one), _all_values(new, one)
    pairs = zip_longest(before, after)
    was, now = next(
        ((a, b) for a, b in pairs if a is None or b is None or not renaming.keeps(a, b)), (None, None)
    )
    if not before or was is now:
        return ""
    held = f"was `{_short(was)}`" if was else "had no value in this branch"
    became = f"is `{_short(now)}`" if now else "it is gone"
    return f"{one.path}:{one.line}: {one.name} {held}, {became}; {one.test} expects what it holds"


def _all_values(files: OracleFiles, one: SharedOracle) -> list[ast.expr]:
    """The values that the branches of the file assign to a table."""
    place = _place(files, one)
    return [] if place is None else place[0].values.get(place[1], [])


def _value(files: OracleFiles, one: SharedOracle) -> ast.expr | None:
    """The last of them."""
    values = _all_values(files, one)
    return values[-1] if values else None


def _place(files: OracleFiles, one: SharedOracle) -> Place | None:
    code = files.code(one.path)
    return None if code is None else files.resolve(code, one.name)


def _is_stub(files: OracleFiles, texts: Mapping[str, str], one: SharedOracle) -> bool:
    """Whether the old value was only a stub: the marker is on its lines or right above."""
    place, held = _place(files, one), _value(files, one)
    if place is None or held is None:
        return False
    lines = texts[place[0].path].split("\n")
    return any(STUB_MARK in line for line in lines[max(held.lineno - 2, 0) : held.end_lineno])


def _short(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _stays_empty(old: OracleFiles, new: OracleFiles, one: SharedOracle) -> bool:
    """Whether a table was empty and still is: source fills it at run time."""
    return all(_is_empty(files, one) for files in (old, new))


def _is_empty(files: OracleFiles, one: SharedOracle) -> bool:
    place, values = _place(files, one), _all_values(files, one)
    match values:
        case [ast.Dict(keys=[]) | ast.List(elts=[])]:
            return True
        case [ast.Call(func=func, args=[], keywords=[])] if place is not None:
            first, dot, rest = ast.unparse(func).partition(".")
            return f"{place[0].imports.get(first, first)}{dot}{rest}" in _CONTAINERS
        case _:
            return False


def _only_grew(old: OracleFiles, new: OracleFiles, one: SharedOracle) -> bool:
    """Whether a table still has all its old entries, unchanged."""
    was, now = _value(old, one), _value(new, one)
    if was is None or now is None or len(_all_values(old, one)) != len(_all_values(new, one)):
        return False
    try:
        held, holds = ast.literal_eval(was), ast.literal_eval(now)
    except (ValueError, TypeError, RecursionError):
        return False
    match held, holds:
        case dict(), dict():
            return all(key in holds and holds[key] == held[key] for key in held)
        case (list(), list()) | (tuple(), tuple()):
            return all(item in holds for item in held)
        case set(), set():
            return held <= holds
        case _:
            return False


def idle_assertions(
    sources: Mapping[str, str], shared: Iterable[SharedOracle], ran: Mapping[str, frozenset[int]]
) -> tuple[str, ...]:
    """Lists functions that tests assert with and whose assertions did not run.

    `ran`: the executed lines of traced files, by path.
    """
    files = OracleFiles({}, _as_assertions(sources))
    found = []
    for one in shared:
        code = files.code(one.path)
        place = None if code is None else files.resolve(code, one.name)
        lines = {} if place is None else _assertion_lines(files, place)
        if lines and not any(lines[path] & ran.get(path, frozenset()) for path in lines):
            found.append(
                f"{one.path}:{one.line}: {one.name}: {one.test} asserts with it, and no assertion in it ran"
            )
    return tuple(found)


def _assertion_lines(files: OracleFiles, place: Place) -> dict[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for path, name in files.asserting_functions(place):
        code = files.code(path)
        node = None if code is None else code.functions.get(name)
        lines = (
            [getattr(one, "lineno", 0) for one in nodes_in(node) if fails(one)] if node is not None else []
        )
        found[path] = found.get(path, frozenset()) | frozenset(lines)
    return found
