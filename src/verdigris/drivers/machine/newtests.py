"""What a tester's step adds: how many new tests, and whether a new red asks anything of the source."""

from __future__ import annotations

import ast
import keyword
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from verdigris.core.languages import PYTHON, language_of
from verdigris.core.pathclass import PathClass
from verdigris.core.testids import split_id
from verdigris.execution.python_call import call
from verdigris.execution.test_selection import by_stack
from verdigris.languages.python.parsed import parse
from verdigris.storage.texts import texts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from verdigris.core.report import TestReport
    from verdigris.storage.project import Project

_WORD = re.compile(r"[^\W\d]\w+")
_DECLARED = re.compile(r"\b(?:function|const|let|var|class|fn|func|use|import)\b[^\n]*")
_GRAMMAR = frozenset(
    re.findall(
        r"\S+",
        """
        function const let var export default new this null undefined true false async await
        fn pub mut mod use crate self super impl struct enum match macro_rules cfg
        func package type interface map range nil string int bool
        test it describe expect toBe toEqual assert assert_eq assert_ne pytest vitest testing Errorf
        """,
    )
) | frozenset(keyword.kwlist)
"""Words that say nothing about whose code is meant."""


# -- how many ---------------------------------------------------------------------------------


def new_functions(report: TestReport, changed: Collection[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Tests of the changed files whose name stands in none of the texts from before.

    The cases of one function count as one, and so do the titles that one line of a table makes.
    """
    before = "\n".join(texts)
    found: dict[tuple[str, str | int], str] = {}
    for result in report.results:
        test = split_id(result.native_id)
        name = re.split(r"::| › ", test.function)[-1]
        if test.path in changed and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", before):
            found.setdefault((test.path, result.line or test.function), f"{test.path}::{test.function}")
    return tuple(found.values())


def test_texts_at(project: Project, tree: str) -> dict[str, str]:
    return _texts(project, tree, PathClass.TEST)


# -- whether it asks anything of the source -----------------------------------------------------


def asks_source(project: Project, start: str, tree: str, red: str) -> bool:
    """Whether a red names something of the source, or is seen to run some of it."""
    path = split_id(red).path
    sources = _texts(project, tree, PathClass.SOURCE)
    before, after = texts_at(project, start, [path]), texts_at(project, tree, [path])
    if names_source(path, before.get(path, ""), after.get(path, ""), sources):
        return True
    return language_of(path) == PYTHON and _runs_source(project, red, sources)


def names_source(path: str, before: str, after: str, sources: Mapping[str, str]) -> bool:
    """By the words of the new lines: names that the source has, its modules, or a helper beside the test."""
    new = "\n".join(_new_lines(path, before, after))
    words = {word for word in _WORD.findall(new) if not word.lower().startswith("test")} - _GRAMMAR
    stems = {part for name in sources for part in re.split(r"[/.]", name)} - {
        "src",
        "py",
        "ts",
        "js",
        "rs",
        "go",
    }
    known = {word for text in sources.values() for word in _WORD.findall(text)}
    if language_of(path) != PYTHON:
        known |= {word for line in _DECLARED.findall(before) for word in _WORD.findall(line)}
    return not words.isdisjoint((known | stems) - _GRAMMAR)


def _new_lines(path: str, before: str, after: str) -> list[str]:
    """In Python their expressions alone, so that neither comments nor imports count."""
    lines = after.splitlines()
    numbers = _added(before.splitlines(), lines)
    if language_of(path) != PYTHON:
        return [lines[number - 1] for number in numbers]
    try:
        tree = parse(after)
    except SyntaxError:
        return []
    return [
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.expr) and node.lineno in numbers
    ]


def _added(before: list[str], after: list[str]) -> list[int]:
    matcher = SequenceMatcher(a=before, b=after, autojunk=False)
    spans = (range(j1 + 1, j2 + 1) for tag, _, _, j1, j2 in matcher.get_opcodes() if tag != "equal")
    return [number for span in spans for number in span]


def _runs_source(project: Project, red: str, sources: Mapping[str, str]) -> bool:
    """Lines of functions: those of a module's top run when it is imported."""
    paths = [path for path in sources if path.endswith(".py")]
    for stack, names in by_stack(project.settings.stacks, [red]).items() if paths else ():
        report = call(project, stack, names, trace=paths)
        if any(_inner_lines(sources[path]) & ran for path, ran in report.lines.items() if path in sources):
            return True
    return False


def _inner_lines(text: str) -> frozenset[int]:
    try:
        tree = parse(text)
    except SyntaxError:
        return frozenset()
    return frozenset(
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    )


def _texts(project: Project, tree: str, cls: PathClass) -> dict[str, str]:
    paths = [entry.path for entry in project.workspace.files(tree) if project.classify(entry.path) is cls]
    return texts_at(project, tree, [path for path in paths if language_of(path)])
