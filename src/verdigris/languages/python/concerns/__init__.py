"""Finds code in a change of source that no run can judge: what it knows of its tests, and of who runs it."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.languages.concern_rules import Hit, added_concerns, read_rules
from verdigris.languages.findings import Concern, MeasuredFault
from verdigris.languages.python.concerns.lines import lines_of, module_meanings
from verdigris.languages.python.concerns.literals import collect_secrets, find_secrets
from verdigris.languages.python.modules import without_suffix
from verdigris.languages.python.syntax import find_untouched, parse, shared_tree, split_statements

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from verdigris.languages.python.concerns.literals import TestSecrets

    Texts = Mapping[str, str | None]
    Trees = Mapping[str, ast.Module]

_TOOLS = ("pytest", "_pytest", "unittest", "pluggy", "nose", "doctest", "xdist", "hypothesis")
_RULES = read_rules(
    Path(__file__).parents[1] / "concerns.txt",
    tools="|".join((*_TOOLS, "verdigris_reporter", "numpy", "pandas")),
    stdlib="|".join(sorted(sys.stdlib_module_names)),
)
_LONG = 100


def concerns(before: Texts, after: Texts, tests: Mapping[str, str]) -> tuple[Concern, ...]:
    """Finds the concerns of a change. `before`, `after`: source by path, None if there is no file.

    `tests`: the files whose content source may not know.
    """
    old = _trees(before)
    new = _trees({path: text for path, text in after.items() if text != before.get(path)})
    replaced = {path: tree for path, tree in old.items() if after.get(path) != before[path]}
    secrets = collect_secrets(tests, [*before, *after], old.values())
    untouched = _find_untouched(before, after, replaced, new)
    had, has = (
        (hit for path, tree in trees.items() for hit in _hits(path, tree, secrets, untouched.get(path, ())))
        for trees in (replaced, new)
    )
    return (
        *_find_shadows(before, after),
        *_find_unread(before, after),
        *added_concerns(had, has),
    )


def _trees(texts: Texts) -> dict[str, ast.Module]:
    parsed = {
        path: shared_tree(text) for path, text in texts.items() if text is not None and path.endswith(".py")
    }
    return {path: tree for path, tree in parsed.items() if tree is not None}


def _find_unread(before: Texts, after: Texts) -> Iterator[Concern]:
    unread = "this Python cannot parse it, so it was not examined"
    changed = (path for path, text in after.items() if text is not None and text != before.get(path))
    for path in changed:
        if path.endswith(".py") and shared_tree(after[path] or "") is None:
            yield Concern("obscured", path, 1, unread, blocks=False)


def _find_untouched(before: Texts, after: Texts, old: Trees, new: Trees) -> dict[str, frozenset[ast.stmt]]:
    """Statements that are the same on both sides, in files where the names around them mean the same."""
    untouched: dict[str, frozenset[ast.stmt]] = {}
    for path in old.keys() & new.keys():
        try:
            alike = module_meanings(old[path], path) == module_meanings(new[path], path)
        except RecursionError:
            continue
        if alike:
            sides = ((before[path] or "", old[path]), (after[path] or "", new[path]))
            untouched[path] = find_untouched(*(split_statements(*side) for side in sides))
    return untouched


def _hits(path: str, tree: ast.Module, secrets: TestSecrets, untouched: Collection[ast.stmt]) -> list[Hit]:
    try:
        body = [node for node in tree.body if node not in untouched]
        found = [*_find_lines(path, tree, untouched), *find_secrets(path, body, secrets)]
    except RecursionError:
        found = [Concern("obscured", path, 1, "it is nested too deeply to be read", blocks=True)]
    return [Hit(concern, concern.what) for concern in found]


def _find_lines(
    path: str, tree: ast.Module, untouched: Collection[ast.stmt] = (), *, measured: bool = False
) -> Iterator[Concern]:
    """`measured`: only the rules for code that is measured by a number, which a program may break."""
    for line in lines_of(tree, path, untouched):
        if measured and line.main:
            continue
        also = [*(["import-line"] if line.at_import else ()), *(["answer-line"] if line.answers else ())]
        for shape in ["measured"] if measured else ["line", *also]:
            for rule, match in _RULES.matches(shape, line.text):
                quoted = ast.unparse(line.node).partition("\n")[0]
                short = quoted if len(quoted) <= _LONG else f"{quoted[:_LONG]}…"
                what = rule.what.format(node=short, **match.groupdict())
                yield Concern(rule.kind, path, line.node.lineno, what, rule.blocks)


_ANYWHERE = frozenset({"conftest", "sitecustomize", "usercustomize"})
_RUNNERS = _ANYWHERE | {*_TOOLS, "iniconfig"}
_ROOTS = frozenset({"", "src", "lib", "python"})


def _find_shadows(before: Texts, after: Texts) -> Iterator[Concern]:
    for path, text in after.items():
        if text is None or before.get(path) is not None or not path.endswith(".py"):
            continue
        folder, _, name = without_suffix(path).rpartition("/")
        if name in _ANYWHERE or (folder in _ROOTS and name in _RUNNERS):
            what = f"a module named {name} shadows the test runner's own"
            yield Concern("shadows", path, 1, what, blocks=True)
        elif folder in _ROOTS and name in sys.stdlib_module_names:
            what = f"a module named {name} shadows the standard library's"
            yield Concern("shadows", path, 1, what, blocks=False)


def find_measured_faults(path: str, before: str | None, after: str) -> tuple[MeasuredFault, ...]:
    """The faults that a change adds; a single one if the text cannot be read."""
    try:
        old, new = (
            [Hit(one, one.what) for one in _find_lines(path, parse(text), measured=True)]
            for text in (before or "", after)
        )
    except (SyntaxError, RecursionError, ValueError):
        return (MeasuredFault(1, "it cannot be read"),)
    return tuple(MeasuredFault(fault.line, fault.what) for fault in added_concerns(old, new))
