"""Plans the changed texts of test files: which assertion is changed in which text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.languages import GO, NODE
from verdigris.core.test_ids import makes
from verdigris.core.value import value
from verdigris.languages.grammar.literals import Pool
from verdigris.languages.grammar.opposites import Change, apply_edits, draw_changes, opposite_of, pool_of
from verdigris.languages.grammar.trees import grammar_of, line_of, on_one_line, part, said, short, tree_of
from verdigris.languages.node.test_ids import SEPARATOR
from verdigris.languages.registry import suite_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from tree_sitter import Node

    from verdigris.languages.grammar.suite import Suite

_FUNCTIONS = frozenset(
    {
        *("arrow_function", "function_expression", "generator_function", "method_definition"),
        *("func_literal", "closure_expression", "async_block"),
    }
)
_RUN_AT_ONCE = frozenset({"forEach", "each", "for", "Run", "describe", "it", "test", "suite", "context"})


@value
class Probe:
    """One assertion, with ways to change it."""

    path: str
    line: int
    what: str
    changes: tuple[Change, ...]
    names: frozenset[str]
    """Tests, by their names without the file, that surely come to it and must fail."""
    maybe: frozenset[str] = frozenset()
    """Those that a condition or a callback may keep from it."""
    opposite: Change | None = None
    """What surely builds where another value may not."""

    @property
    def at(self) -> str:
        return f"{self.path}:{self.line}: `{self.what}`"


@value
class Try:
    """One assertion as one text has it."""

    probe: Probe
    change: Change


@value
class Reading:
    """One test file, read for its assertions."""

    path: str
    language: str
    suite: Suite


def readings(texts: Mapping[str, bytes]) -> tuple[Reading, ...]:
    """Of the files that a grammar reads whole."""
    found = []
    for path, data in texts.items():
        root, fault = tree_of(path, data)
        if fault is None:
            suite = suite_of(path)
            suite.collect(root)
            suite.read(root)
            found.append(Reading(path, grammar_of(path) or "", suite))
    return tuple(found)


def probes(
    read: Sequence[Reading], names: Mapping[str, Sequence[str]], dice: Random, count: int
) -> tuple[Probe, ...]:
    """`names`: the tests to try by their file; `count`: how many changes are drawn of an assertion."""
    pool = Pool()
    for one in read:
        mine = pool_of(one.language, [node for node, _ in one.suite.asserted])
        pool = Pool(pool.literals | mine.literals, pool.members | mine.members)
    return tuple(probe for one in read for probe in _probes(one, names.get(one.path, ()), pool, dice, count))


def _probes(read: Reading, names: Sequence[str], pool: Pool, dice: Random, count: int) -> Iterator[Probe]:
    suite = read.suite
    failing = {mark.scope for mark in suite.marks if mark.kind == "skipped"}
    found: dict[int, tuple[Node, set[str], set[str]]] = {}
    for node, at in suite.asserted:
        mine = {name for name in names if _is_of(read.language, at.scope, name)}
        if mine and at.scope not in failing:
            _, sure, maybe = found.setdefault(node.start_byte, (node, set(), set()))
            (maybe if at.guards or not _surely_runs(suite, node) else sure).update(mine)
    for node, sure, maybe in found.values():
        if changes := draw_changes(read.language, node, pool, dice, count):
            what = short(on_one_line(node))
            opposite = opposite_of(read.language, node)
            yield Probe(
                read.path, line_of(node), what, changes, frozenset(sure), frozenset(maybe - sure), opposite
            )


def draw_members(found: Sequence[Probe], dice: Random, most: int, least: int) -> list[tuple[Try, ...]]:
    """Which assertions are others in each changed text: one of every test, and no change comes twice.

    Of a test none of whose assertions surely runs, all are others at once: one of them must be seen to fail.
    """
    sure = {(probe.path, name) for probe in found for name in probe.names}
    times = [0] * len(found)
    members: list[tuple[Try, ...]] = []
    while len(members) < most and (len(members) < least or 0 in times):
        chosen: list[Try] = []
        taken: set[tuple[str, str]] = set()
        for number in sorted(range(len(found)), key=lambda at: (times[at], dice.random())):
            probe = found[number]
            mine = {(probe.path, name) for name in probe.names}
            alone = not mine and any((probe.path, name) not in sure for name in probe.maybe)
            if times[number] == len(probe.changes) or mine & taken or not (mine or alone):
                continue
            one = Try(probe, probe.changes[times[number]])
            if not any(_overlap(one, other) for other in chosen):
                chosen.append(one)
                times[number] += 1
                taken |= mine
        if not chosen:
            break
        members.append(tuple(chosen))
    return members


def changed_texts(texts: Mapping[str, bytes], member: Sequence[Try]) -> dict[str, bytes]:
    """All of them, those without a change too."""
    return {
        path: apply_edits(
            data, (edit for one in member if one.probe.path == path for edit in one.change.edits)
        )
        for path, data in texts.items()
    }


def opposites(member: Sequence[Try]) -> tuple[Try, ...]:
    """The same assertions, each as its opposite where it has one."""
    return tuple(Try(one.probe, one.probe.opposite) for one in member if one.probe.opposite is not None)


def _overlap(one: Try, other: Try) -> bool:
    return one.probe.path == other.probe.path and any(
        mine.start < its.end and its.start < mine.end
        for mine in one.change.edits
        for its in other.change.edits
    )


def _is_of(language: str, scope: str, name: str) -> bool:
    """The test that holds another fails with it."""
    inner = {GO: "/", NODE: SEPARATOR}.get(language)
    return makes(language, scope, name) or (inner is not None and scope.startswith(f"{name}{inner}"))


def _surely_runs(suite: Suite, node: Node) -> bool:
    helpers = {function.id for function in suite.functions.values()}
    return all(one.id in helpers or _is_run(one) for one in _functions_around(node))


def _functions_around(node: Node) -> Iterator[Node]:
    above = node.parent
    while above is not None:
        if above.type in _FUNCTIONS:
            yield above
        above = above.parent


def _is_run(function: Node) -> bool:
    """An argument of what declares a test or goes through a table."""
    call = function.parent.parent if function.parent is not None else None
    called = part(call, "function")
    while called is not None and called.type == "call_expression":
        called = part(called, "function")
    words = said(called).split("(")[0].replace("\n", "").split(".")
    return bool(_RUN_AT_ONCE.intersection(word.strip() for word in words))
