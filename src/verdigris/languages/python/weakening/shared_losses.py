"""Judges whether a change of source weakens tests that assert with this source."""

from __future__ import annotations

import ast
from itertools import zip_longest
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK
from verdigris.core.value import value
from verdigris.languages.python.modules import dotted_name
from verdigris.languages.python.renames import Renaming, read_renaming
from verdigris.languages.python.syntax import nodes_in
from verdigris.languages.python.tests import failing_condition, fails
from verdigris.languages.python.tests.shared_oracle import OracleFiles
from verdigris.languages.python.weakening import weakenings
from verdigris.languages.tracing import SharedLosses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.languages.python.tests.code import Code, Place
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


def judge_shared(
    before: Mapping[str, str], after: Mapping[str, str], shared: Iterable[SharedOracle]
) -> SharedLosses:
    """Judges which of these assertions and expected values a change of source weakens; texts by path."""
    shared = tuple(shared)
    old, new = OracleFiles({}, before), OracleFiles({}, after)
    blocking, noted = _lost_assertions(old, before, after, [s for s in shared if s.kind == "assertion"])
    expectations = [oracle for oracle in shared if oracle.kind == "expectation"]
    renaming = read_renaming(before, after) if expectations else Renaming()
    for oracle in expectations:
        was, now = (_read_table(files, oracle) for files in (old, new))
        if change := _changed_value(was, now, renaming):
            harmless = _is_stub(was, before) or _only_grew(was, now) or (_is_empty(was) and _is_empty(now))
            where = f"{oracle.path}:{oracle.line}: {oracle.name}"
            told = f"{where} {change}; {oracle.test} expects what it holds"
            (noted if harmless else blocking).append(told)
    return SharedLosses(tuple(dict.fromkeys(blocking)), tuple(dict.fromkeys(noted)))


def _lost_assertions(
    files: OracleFiles, before: Mapping[str, str], after: Mapping[str, str], shared: list[SharedOracle]
) -> tuple[list[str], list[str]]:
    places = frozenset[tuple[str, str]]()
    for oracle in shared:
        code = files.code(oracle.path)
        places |= frozenset() if code is None else files.asserting_functions((code, oracle.name))
    ranges = [
        (path, node.lineno, node.end_lineno or node.lineno)
        for path, name in places
        if (code := files.code(path)) is not None and (node := code.functions.get(name)) is not None
    ]
    blocking: list[str] = []
    noted: list[str] = []
    use = {"test_of_what_is_shared.py": _write_calling_tests(shared)}
    for less in weakenings({**use, **before}, {**use, **after}) if ranges else ():
        if any(path == less.path and first <= less.line <= last for path, first, last in ranges):
            now = f", is `{less.after}`" if less.after else ""
            loss = f"{less.path}:{less.line}: {less.kind}: was `{less.before}`{now}; tests assert with it"
            (blocking if less.kind in _LOSES else noted).append(loss)
    return blocking, noted


def _write_calling_tests(shared: Iterable[SharedOracle]) -> str:
    """Tests that call each of these functions, so that a function which moved is found by its import."""
    names = [(dotted_name(oracle.path), oracle.name) for oracle in shared]
    return "".join(
        f"from {module} import {name}\n\n\ndef test_{name}():\n    {name}(value)\n"
        for module, name in names
        if "::" not in name
    )


@value
class _Table:
    """A value of source from which tests take what they expect."""

    code: Code | None
    values: Sequence[ast.expr]
    """Those that the branches of the file assign to it, in order."""


def _read_table(files: OracleFiles, oracle: SharedOracle) -> _Table:
    code = files.code(oracle.path)
    place = None if code is None else files.resolve(code, oracle.name)
    return _Table(None, ()) if place is None else _Table(place[0], place[0].values.get(place[1], ()))


def _changed_value(was: _Table, now: _Table, renaming: Renaming) -> str:
    """Describes the first branch in which a table has another value; empty if there is none."""
    for old, new in zip_longest(was.values, now.values) if was.values else ():
        if old is None or new is None or not renaming.keeps(old, new):
            held = f"was `{_short(old)}`" if old else "had no value in this branch"
            became = f"is `{_short(new)}`" if new else "it is gone"
            return f"{held}, {became}"
    return ""


def _is_stub(table: _Table, texts: Mapping[str, str]) -> bool:
    """Whether the last value was only a stub: the marker is on its lines or right above."""
    if table.code is None or not table.values:
        return False
    held, lines = table.values[-1], texts[table.code.path].split("\n")
    return any(STUB_MARK in line for line in lines[max(held.lineno - 2, 0) : held.end_lineno])


def _short(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _is_empty(table: _Table) -> bool:
    """Whether a table is empty as written: source fills it at run time."""
    match table.values:
        case [ast.Dict(keys=[]) | ast.List(elts=[])]:
            return True
        case [ast.Call(func=func, args=[], keywords=[])] if table.code is not None:
            first, dot, rest = ast.unparse(func).partition(".")
            return f"{table.code.imports.get(first, first)}{dot}{rest}" in _CONTAINERS
        case _:
            return False


def _only_grew(was: _Table, now: _Table) -> bool:
    """Whether a table still has all its old entries, unchanged."""
    if not was.values or len(was.values) != len(now.values):
        return False
    try:
        held, holds = (ast.literal_eval(table.values[-1]) for table in (was, now))
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
    files = OracleFiles({}, sources)
    idle = []
    for oracle in shared:
        code = files.code(oracle.path)
        place = None if code is None else files.resolve(code, oracle.name)
        lines = {} if place is None else _assertion_lines(files, place)
        if lines and not any(lines[path] & ran.get(path, frozenset()) for path in lines):
            where = f"{oracle.path}:{oracle.line}: {oracle.name}"
            idle.append(f"{where}: {oracle.test} asserts with it, and no assertion in it ran")
    return tuple(idle)


def _assertion_lines(files: OracleFiles, place: Place) -> dict[str, frozenset[int]]:
    lines: dict[str, frozenset[int]] = {}
    for path, name in files.asserting_functions(place):
        code = files.code(path)
        node = None if code is None else code.functions.get(name)
        parts = [] if node is None else nodes_in(node)
        # A `raise AssertionError` runs only where it fails; the condition above it runs always.
        asserting = (part for part in parts if fails(part) or failing_condition(part) is not None)
        own = frozenset(getattr(part, "lineno", 0) for part in asserting)
        lines[path] = lines.get(path, frozenset()) | own
    return lines
