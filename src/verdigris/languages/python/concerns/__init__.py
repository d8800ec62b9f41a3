"""Finds what a change of source adds that honest code rarely or never has."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.languages.findings import Concern
from verdigris.languages.python.concerns import answers, runner
from verdigris.languages.python.concerns import literals as concerns_literals
from verdigris.languages.python.concerns import literals as concerns_tests
from verdigris.languages.python.concerns.answers import Hit
from verdigris.languages.python.concerns.names import walk
from verdigris.languages.python.syntax import parse

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Mapping

    from verdigris.languages.python.concerns.literals import Literal, TestSecrets

_RULES = (
    runner.patches,
    runner.frames,
    runner.asks_where,
    runner.detects_runner,
    runner.framework_in_source,
    runner.properties,
    answers.answers_everything,
    answers.exits,
    answers.swallow,
    answers.find_obscured,
    answers.state_between_runs,
    concerns_literals.hashed_lookup,
)
_RUNNERS = runner.FRAMEWORK | {
    "conftest",
    "sitecustomize",
    "usercustomize",
    "iniconfig",
    "hypothesis",
}
_ANYWHERE = frozenset({"conftest", "sitecustomize", "usercustomize"})
_ROOTS = frozenset({"", "src", "lib", "python"})


def concerns(
    before: Mapping[str, str | None],
    after: Mapping[str, str | None],
    tests: Mapping[str, str],
    *,
    pyproject: str = "",
    data: Mapping[str, str] | None = None,
) -> tuple[Concern, ...]:
    """Texts of source by path, None where there is no file; `tests`: the files that source may not know.

    Paths that did not change may be given: they tell, for one, that the project is a plugin of its runner;
    so does `pyproject`, as it was before. `data`: texts of other files that changed.
    """
    old = {path: tree for path, text in before.items() if (tree := _parse_or_none(path, text)) is not None}
    new = {
        path: tree
        for path, text in after.items()
        if text != before.get(path) and (tree := _parse_or_none(path, text)) is not None
    }
    replaced = {path: tree for path, tree in old.items() if after.get(path) != before[path]}
    known = concerns_tests.suite(tests, [*before, *after])
    plugin = runner.declares_plugin(pyproject) or any(map(runner.is_plugin, old.values()))
    literals = frozenset[concerns_tests.Literal]().union(*map(concerns_literals.literals_of, old.values()))
    seen = Counter(key for path, tree in replaced.items() for key, _ in _hits(path, tree, known, literals))
    return (
        *_shadows(before, after),
        *_unread(before, after),
        *_new(new, known, literals, seen, plugin=plugin),
        *_concerns_of_data(data or {}, known),
    )


def _concerns_of_data(data: Mapping[str, str], known: TestSecrets) -> Iterator[Concern]:
    for path, text in data.items():
        if found := concerns_literals.told_in(text, known):
            yield Concern("expected-literals", path, 1, f"it holds {found} of the tests", blocks=False)


def _unread(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Iterator[Concern]:
    for path, text in after.items():
        if (
            text is not None
            and text != before.get(path)
            and path.endswith(".py")
            and _parse_or_none(path, text) is None
        ):
            yield Concern(
                "obscured", path, 1, "this Python cannot parse it, so it was not examined", blocks=False
            )


def _parse_or_none(path: str, text: str | None) -> ast.Module | None:
    if text is None or not path.endswith(".py"):
        return None
    try:
        return parse(text)
    except SyntaxError:
        return None


def _new(
    trees: Mapping[str, ast.Module],
    known: TestSecrets,
    literals: frozenset[Literal],
    seen: Counter[tuple[str, str]],
    *,
    plugin: bool,
) -> Iterator[Concern]:
    for path, tree in trees.items():
        for key, hit in _hits(path, tree, known, literals):
            seen[key] -= 1
            if seen[key] < 0:
                allowed = plugin and hit.kind == "framework-in-source"
                blocks = hit.blocks and not allowed
                yield Concern(
                    hit.kind,
                    path,
                    _line(hit.node),
                    hit.what,
                    blocks,
                    literal=hit.literal,
                    constant=hit.constant,
                    option=hit.option,
                )


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 1))


def _hits(
    path: str, tree: ast.Module, known: TestSecrets, literals: frozenset[Literal]
) -> Iterator[tuple[tuple[str, str], Hit]]:
    """Each with what makes it the same one in another place: its kind, and the code around it."""
    try:
        found = list(_find_hits(path, tree, known, literals))
    except RecursionError:
        found = [Hit("obscured", tree, "it is nested too deeply to be read", blocks=True)]
    # A rule that reads whole functions meets what stands in a nested one again.
    once = {(hit.kind, hit.what, id(hit.node)): hit for hit in found}
    yield from (((hit.kind, hit.what), hit) for hit in once.values())


def _find_hits(
    path: str, tree: ast.Module, known: TestSecrets, literals: frozenset[Literal]
) -> Iterator[Hit]:
    for at in walk(tree, path):
        for rule in _RULES:
            yield from rule(at)
        inner = answers.run_as_text(at)
        for hit in _find_hits(path, inner, known, literals) if inner is not None else ():
            yield Hit(hit.kind, at.node, hit.what, hit.blocks)
        yield from concerns_tests.reads_tests(at, path, known)
        yield from concerns_literals.expected_literals(at, known, literals)
        yield from concerns_literals.in_longer_texts(at, known, literals)
    names = next((at.names for at in walk(tree, path)), None)
    if names is not None:
        yield from answers.sequences(tree, names)


def _shadows(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Iterator[Concern]:
    for path, text in after.items():
        if text is None or before.get(path) is not None or not path.endswith(".py"):
            continue
        module = path.removesuffix(".py").removesuffix("/__init__")
        folder, _, name = module.rpartition("/")
        if name in _ANYWHERE or (folder in _ROOTS and name in _RUNNERS):
            yield Concern(
                "shadows", path, 1, f"a module named {name} shadows the test runner's own", blocks=True
            )
        elif folder in _ROOTS and name in sys.stdlib_module_names:
            yield Concern(
                "shadows", path, 1, f"a module named {name} shadows the standard library's", blocks=False
            )
