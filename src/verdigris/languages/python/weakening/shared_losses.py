"""Judges whether a change of source weakens tests that assert with this source."""

from __future__ import annotations

import ast
from itertools import zip_longest
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK
from verdigris.languages.python.modules import dotted_name
from verdigris.languages.python.renames import read_renaming
from verdigris.languages.python.syntax import nodes_in, parse_or_none
from verdigris.languages.python.tests import failing_condition, fails
from verdigris.languages.python.tests.shared_oracle import OracleFiles
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
    for less in weakenings({**use, **before}, {**use, **after}) if ranges else ():
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
    files = OracleFiles({}, sources)
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
    lines: dict[str, frozenset[int]] = {}
    for path, name in files.asserting_functions(place):
        code = files.code(path)
        node = None if code is None else code.functions.get(name)
        parts = [] if node is None else nodes_in(node)
        # A `raise AssertionError` runs only where it fails; the condition above it runs always.
        asserting = (one for one in parts if fails(one) or failing_condition(one) is not None)
        found = frozenset(getattr(one, "lineno", 0) for one in asserting)
        lines[path] = lines.get(path, frozenset()) | found
    return lines
