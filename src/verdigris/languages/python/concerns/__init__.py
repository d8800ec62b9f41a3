"""Finds code in a change of source that honest code rarely or never has."""

from __future__ import annotations

import ast
import sys
import tomllib
from typing import TYPE_CHECKING

from verdigris.core.value import replace
from verdigris.languages.concern_rules import Hit, added_concerns
from verdigris.languages.findings import Concern, MeasuredFault
from verdigris.languages.python.concerns import answers, literals
from verdigris.languages.python.concerns.names import FRAMEWORK, RULES, module_names, walk
from verdigris.languages.python.concerns.shapes import Quotes, shapes
from verdigris.languages.python.modules import without_suffix
from verdigris.languages.python.syntax import (
    find_untouched,
    nodes_in,
    parse,
    parse_or_none,
    shared_tree,
    split_statements,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from verdigris.languages.python.concerns.literals import TestSecrets
    from verdigris.languages.python.concerns.names import Names, SeenNode

    Texts = Mapping[str, str | None]
    Trees = Mapping[str, ast.Module]

_RUNS = frozenset({"builtins.exec", "builtins.eval", "builtins.compile"})
_CHECKS = (
    answers.find_agreeable_methods,
    answers.find_counters,
    answers.find_marker_files,
    literals.find_hashed_lookups,
)
_CHECKS_OF_SECRETS = (
    literals.find_test_reads,
    literals.find_expected_literals,
    literals.find_in_longer_texts,
)


def concerns(
    before: Texts,
    after: Texts,
    tests: Mapping[str, str],
    *,
    pyproject: str = "",
    data: Mapping[str, str] | None = None,
) -> tuple[Concern, ...]:
    """Finds the concerns of a change. `before`, `after`: source by path, None if there is no file.

    `tests`: the files whose content source may not know. `data`: texts of other files that changed.
    Unchanged source may be given, too: it shows, for example, that the project is a plugin of its runner.
    So does `pyproject`, the text of `pyproject.toml` before the change.
    """
    old, new = (
        _trees(before),
        _trees({path: text for path, text in after.items() if text != before.get(path)}),
    )
    replaced = {path: tree for path, tree in old.items() if after.get(path) != before[path]}
    secrets = literals.collect_secrets(tests, [*before, *after], old.values())
    untouched = _find_untouched(before, after, replaced, new)
    had, has = (
        (hit for path, tree in trees.items() for hit in _hits(path, tree, secrets, untouched.get(path, ())))
        for trees in (replaced, new)
    )
    plugin = _declares_plugin(pyproject) or any(map(_is_plugin, old.values()))
    allowed = {"framework-in-source"} if plugin else set[str]()
    return (
        *_find_shadows(before, after),
        *_find_unread(before, after),
        *(replace(one, blocks=one.blocks and one.kind not in allowed) for one in added_concerns(had, has)),
        *_concerns_of_data(data or {}, secrets),
    )


def _trees(texts: Texts) -> dict[str, ast.Module]:
    parsed = {
        path: shared_tree(text) for path, text in texts.items() if text is not None and path.endswith(".py")
    }
    return {path: tree for path, tree in parsed.items() if tree is not None}


def _concerns_of_data(data: Mapping[str, str], secrets: TestSecrets) -> Iterator[Concern]:
    for path, text in data.items():
        if known := literals.describe_answers_in(text, secrets):
            yield Concern("expected-literals", path, 1, f"it contains {known} from the tests", blocks=False)


def _find_unread(before: Texts, after: Texts) -> Iterator[Concern]:
    unread = "this Python cannot parse it, so it was not examined"
    for path, text in after.items():
        if (
            text is not None
            and text != before.get(path)
            and path.endswith(".py")
            and shared_tree(text) is None
        ):
            yield Concern("obscured", path, 1, unread, blocks=False)


def _find_untouched(before: Texts, after: Texts, old: Trees, new: Trees) -> dict[str, frozenset[ast.stmt]]:
    """Statements that are the same on both sides, in files where the names around them mean the same."""
    untouched: dict[str, frozenset[ast.stmt]] = {}
    for path in old.keys() & new.keys():
        try:
            alike = _surroundings(old[path], path) == _surroundings(new[path], path)
        except RecursionError:
            continue
        if alike:
            sides = ((before[path] or "", old[path]), (after[path] or "", new[path]))
            untouched[path] = find_untouched(*(split_statements(*side) for side in sides))
    return untouched


def _surroundings(tree: ast.Module, path: str) -> tuple[Names, dict[str, str]]:
    names = module_names(tree, path)
    return names, answers.module_sequences(tree, names)


def _hits(path: str, tree: ast.Module, secrets: TestSecrets, untouched: Collection[ast.stmt]) -> list[Hit]:
    try:
        # A check that reads whole functions finds the code of a nested function twice.
        concerns = dict.fromkeys(_read(path, tree, secrets, untouched))
    except RecursionError:
        concerns = {Concern("obscured", path, 1, "it is nested too deeply to be read", blocks=True): None}
    return [Hit(concern, concern.what) for concern in concerns]


def _read(
    path: str, tree: ast.Module, secrets: TestSecrets, untouched: Collection[ast.stmt]
) -> Iterator[Concern]:
    sequences = answers.module_sequences(tree, module_names(tree, path))
    for at in walk(tree, path, untouched):
        for shape, text in shapes(at):
            for rule, match in RULES.matches(shape, text):
                what = rule.what.format_map(Quotes(at, match.groupdict()))
                yield at.concern(rule.kind, what, blocks=rule.blocks)
        for check in _CHECKS:
            yield from check(at)
        for check_secrets in _CHECKS_OF_SECRETS:
            yield from check_secrets(at, secrets)
        yield from answers.find_sequences(at, sequences)
        if (inner := _program_in_text(at)) is not None:
            for concern in _read(path, inner, secrets, ()):
                yield at.concern(concern.kind, concern.what, blocks=concern.blocks)


def _program_in_text(at: SeenNode) -> ast.Module | None:
    """The program in a constant text that is passed to `exec` or its like."""
    match at.node:
        case ast.Call(func=func, args=[text, *_]) if at.text(func) in _RUNS:
            return parse_or_none(at.names.constant(text) or "")
    return None


_ANYWHERE = frozenset({"conftest", "sitecustomize", "usercustomize"})
_RUNNERS = _ANYWHERE | {*FRAMEWORK, "iniconfig", "hypothesis"}
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


def _declares_plugin(pyproject: str) -> bool:
    """Whether `pyproject.toml` declares the project as a plugin of the runner."""
    try:
        project = tomllib.loads(pyproject).get("project", {})
    except tomllib.TOMLDecodeError:
        return False
    if not isinstance(project, dict):
        return False
    named = str(project.get("name", "")).startswith(("pytest-", "pytest_"))
    return named or "pytest11" in project.get("entry-points", {})


def _is_plugin(tree: ast.Module) -> bool:
    """Whether a file has hooks of the framework or imports pytest: then more of that is no concern."""
    for node in nodes_in(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if any(RULES.matches("define", name)):
                    return True
            case ast.Import(names=aliases) if any(alias.name == "pytest" for alias in aliases):
                return True
            case ast.ImportFrom(module="pytest"):
                return True
    return False


def find_measured_faults(path: str, before: str | None, after: str) -> tuple[MeasuredFault, ...]:
    """The faults that a change adds; a single one if the text cannot be read."""
    try:
        added = added_concerns(*(list(_find_faults(path, text)) for text in (before or "", after)))
    except (SyntaxError, RecursionError, ValueError):
        return (MeasuredFault(1, "it cannot be read"),)
    return tuple(MeasuredFault(fault.line, fault.what) for fault in added)


def _find_faults(path: str, text: str) -> Iterator[Hit]:
    for at in walk(parse(text), path):
        for shape, written in shapes(at) if not at.main else ():
            for rule, _ in RULES.matches(f"measured-{shape}", written):
                quoted = ast.unparse(at.node)
                what = rule.what.format(node=quoted if len(quoted) <= _LONG else f"{quoted[:_LONG]}…")
                yield Hit(at.concern(rule.kind, what), what)


_LONG = 60
