"""Finds code in a change of source that honest code rarely or never has."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.value import field, value
from verdigris.languages.findings import Concern, MeasuredFault
from verdigris.languages.python.concerns import answers, runner
from verdigris.languages.python.concerns import literals as concerns_literals
from verdigris.languages.python.concerns.answers import Hit
from verdigris.languages.python.concerns.names import module_names, walk
from verdigris.languages.python.modules import without_suffix
from verdigris.languages.python.syntax import (
    find_untouched,
    nodes_in,
    parse,
    shared_tree,
    split_statements,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.languages.python.concerns.literals import Literal, TestSecrets
    from verdigris.languages.python.concerns.names import SeenNode, SourceNames


_RULES = (
    runner.find_patches,
    runner.find_frames,
    runner.find_place_detection,
    runner.find_runner_detection,
    runner.find_framework_use,
    runner.find_property_settings,
    answers.find_answers_to_all,
    answers.find_exits,
    answers.find_swallowed,
    answers.find_obscured,
    answers.find_state_between_runs,
    concerns_literals.find_hashed_lookups,
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


@value
class _Search:
    """What the rules need to know when they read a text."""

    secrets: TestSecrets
    literals: frozenset[Literal]
    """The literals of all source before the change."""
    untouched: Mapping[str, frozenset[ast.stmt]] = field(default_factory=dict)
    """By path: top-level statements that are the same on both sides, and so have the same hits."""


def concerns(
    before: Mapping[str, str | None],
    after: Mapping[str, str | None],
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
    old = {path: tree for path, text in before.items() if (tree := _tree_of(path, text)) is not None}
    new = {
        path: tree
        for path, text in after.items()
        if text != before.get(path) and (tree := _tree_of(path, text)) is not None
    }
    replaced = {path: tree for path, tree in old.items() if after.get(path) != before[path]}
    known = concerns_literals.collect_secrets(tests, [*before, *after])
    plugin = runner.declares_plugin(pyproject) or any(map(runner.is_plugin, old.values()))
    literals = frozenset[concerns_literals.Literal]().union(*map(concerns_literals.literals_of, old.values()))
    search = _Search(known, literals, _find_untouched(before, after, replaced, new))
    seen = Counter(key for path, tree in replaced.items() for key, _ in _hits(path, tree, search))
    return (
        *_find_shadows(before, after),
        *_find_unread(before, after),
        *_new_concerns(new, search, seen, plugin=plugin),
        *_concerns_of_data(data or {}, known),
    )


def _concerns_of_data(data: Mapping[str, str], known: TestSecrets) -> Iterator[Concern]:
    for path, text in data.items():
        if found := concerns_literals.describe_answers_in(text, known):
            yield Concern("expected-literals", path, 1, f"it contains {found} from the tests", blocks=False)


def _find_unread(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Iterator[Concern]:
    for path, text in after.items():
        if (
            text is not None
            and text != before.get(path)
            and path.endswith(".py")
            and _tree_of(path, text) is None
        ):
            yield Concern(
                "obscured", path, 1, "this Python cannot parse it, so it was not examined", blocks=False
            )


def _tree_of(path: str, text: str | None) -> ast.Module | None:
    return None if text is None or not path.endswith(".py") else shared_tree(text)


def _find_untouched(
    before: Mapping[str, str | None],
    after: Mapping[str, str | None],
    old: Mapping[str, ast.Module],
    new: Mapping[str, ast.Module],
) -> dict[str, frozenset[ast.stmt]]:
    """Statements that are the same on both sides, in files where the names around them mean the same."""
    found: dict[str, frozenset[ast.stmt]] = {}
    for path in old.keys() & new.keys():
        try:
            alike = _surroundings(old[path], path) == _surroundings(new[path], path)
        except RecursionError:
            continue
        if alike:
            sides = ((before[path] or "", old[path]), (after[path] or "", new[path]))
            found[path] = find_untouched(*(split_statements(*side) for side in sides))
    return found


def _surroundings(tree: ast.Module, path: str) -> tuple[SourceNames, dict[str, str]]:
    names = module_names(tree, path)
    return names, {name: ast.dump(node) for name, node in answers.module_sequences(tree, names).items()}


def _new_concerns(
    trees: Mapping[str, ast.Module],
    search: _Search,
    seen: Counter[tuple[str, str]],
    *,
    plugin: bool,
) -> Iterator[Concern]:
    for path, tree in trees.items():
        for key, hit in _hits(path, tree, search):
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


def _hits(path: str, tree: ast.Module, search: _Search) -> Iterator[tuple[tuple[str, str], Hit]]:
    """The hits, each with a key by which it is found again in another place: its kind and its text."""
    try:
        found = list(_find_hits(path, tree, search))
    except RecursionError:
        found = [Hit("obscured", tree, "it is nested too deeply to be read", blocks=True)]
    # A rule that reads whole functions finds the code of a nested function twice.
    once = {(hit.kind, hit.what, id(hit.node)): hit for hit in found}
    yield from (((hit.kind, hit.what), hit) for hit in once.values())


def _find_hits(path: str, tree: ast.Module, search: _Search) -> Iterator[Hit]:
    names = module_names(tree, path)
    untouched = search.untouched.get(path, frozenset())
    for at in walk(tree, path, untouched, names):
        for rule in _RULES:
            yield from rule(at)
        inner = answers.program_in_text(at)
        for hit in _find_hits(path, inner, search) if inner is not None else ():
            yield Hit(hit.kind, at.node, hit.what, hit.blocks)
        yield from concerns_literals.find_test_reads(at, path, search.secrets)
        yield from concerns_literals.find_expected_literals(at, search.secrets, search.literals)
        yield from concerns_literals.find_in_longer_texts(at, search.secrets, search.literals)
    yield from answers.find_sequences(tree, names, untouched)


def _find_shadows(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Iterator[Concern]:
    for path, text in after.items():
        if text is None or before.get(path) is not None or not path.endswith(".py"):
            continue
        folder, _, name = without_suffix(path).rpartition("/")
        if name in _ANYWHERE or (folder in _ROOTS and name in _RUNNERS):
            yield Concern(
                "shadows", path, 1, f"a module named {name} shadows the test runner's own", blocks=True
            )
        elif folder in _ROOTS and name in sys.stdlib_module_names:
            yield Concern(
                "shadows", path, 1, f"a module named {name} shadows the standard library's", blocks=False
            )


# Changed assertions show whether a test is honest; for a measured number there is no such check. So measured
# code may not end the process, redirect its output, or change the objects that it is given.
_ENDS = frozenset({"sys.exit", "builtins.exit", "builtins.quit", "builtins.SystemExit"})
_ENDED = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit"})
_STREAMS = frozenset({"stdout", "stderr", "__stdout__", "__stderr__", "displayhook", "excepthook"})
_TURNS = frozenset({"os.dup2", "os.close", "os.closerange", "os.kill", "os.killpg", "signal.raise_signal"})
_PROGRAM = frozenset({"__main__", "gc", "ctypes", "_ctypes"})
_SETS = frozenset({"builtins.setattr", "builtins.delattr", "builtins.object.__setattr__", "type.__setattr__"})


def find_measured_faults(path: str, before: str | None, after: str) -> tuple[MeasuredFault, ...]:
    """The faults that a change adds; a single one if the text cannot be read."""
    try:
        old = Counter(what for _, what in _find_faults(path, before or ""))
        found = list(_find_faults(path, after))
    except (SyntaxError, RecursionError, ValueError):
        return (MeasuredFault(1, "it cannot be read"),)
    added: list[MeasuredFault] = []
    for line, what in found:
        old[what] -= 1
        if old[what] < 0:
            added.append(MeasuredFault(line, what))
    return tuple(added)


def _find_faults(path: str, text: str) -> Iterator[tuple[int, str]]:
    tree = parse(text)
    classes = _names_of_classes(tree)
    for seen in walk(tree, path):
        if not seen.main:
            for what in (*_find_ends(seen), *_find_turns(seen), *_find_reaches(seen, classes)):
                yield getattr(seen.node, "lineno", 1), f"`{_shorten(seen.node)}` {what}"


def _shorten(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


_LONG = 60


def _find_ends(seen: SeenNode) -> Iterator[str]:
    match seen.node:
        case ast.Call(func=func) if seen.names.dotted_name(func) in _ENDS:
            yield "ends the process"
        case ast.Raise(exc=ast.expr() as raised):
            kind = raised.func if isinstance(raised, ast.Call) else raised
            if seen.names.dotted_name(kind).rpartition(".")[2] in _ENDED or getattr(kind, "id", "") in _ENDED:
                yield "ends the process"


def _find_turns(seen: SeenNode) -> Iterator[str]:
    names = seen.names
    match seen.node:
        case ast.Attribute(value=owner, attr=attr, ctx=ast.Store() | ast.Del()) if attr in _STREAMS:
            if names.dotted_name(owner) == "sys":
                yield "redirects the output of the whole process"
        case ast.Call(func=func, args=args):
            called = names.dotted_name(func)
            sets = called in _SETS and args and names.dotted_name(args[0]) == "sys"
            if called in _TURNS or called.startswith("contextlib.redirect_") or sets:
                yield "controls the output or the life of the process"


def _find_reaches(seen: SeenNode, classes: frozenset[str]) -> Iterator[str]:
    names = seen.names
    match seen.node:
        case ast.Import(names=aliases) if any(alias.name.partition(".")[0] in _PROGRAM for alias in aliases):
            yield "accesses the program that runs it"
        case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in _PROGRAM:
            yield "accesses the program that runs it"
        case ast.Attribute(value=owner, attr="modules") if names.dotted_name(owner) == "sys":
            yield "accesses the modules of the process"
        case ast.Attribute(value=owner, ctx=ast.Store() | ast.Del()) if _is_class(owner, classes, names):
            yield "changes the class of an object that it was given"
        case ast.Call(func=func, args=[owner, *_]) if names.dotted_name(func) in _SETS:
            if _is_class(owner, classes, names):
                yield "changes the class of an object that it was given"


def _names_of_classes(tree: ast.Module) -> frozenset[str]:
    """Names of variables that hold the class of some object."""
    return frozenset(
        target.id
        for node in nodes_in(tree)
        if isinstance(node, ast.Assign) and _asks_class(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def _is_class(owner: ast.expr, classes: frozenset[str], names: SourceNames) -> bool:
    if isinstance(owner, ast.Name) and owner.id in classes:
        return True
    return _asks_class(owner) and not names.dotted_name(owner)


def _asks_class(node: ast.expr) -> bool:
    """Whether the node is `type(x)` or `x.__class__`; not of `self`, whose class is the project's own."""
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[asked]):
            return not (isinstance(asked, ast.Name) and asked.id == "self")
        case ast.Attribute(value=asked, attr="__class__" | "__dict__"):
            return not (isinstance(asked, ast.Name) and asked.id in {"self", "cls"})
        case ast.Subscript(value=inner) | ast.Attribute(value=inner):
            return _asks_class(inner)
        case _:
            return False
