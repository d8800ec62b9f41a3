"""Which assertions of claimed tests can be changed so that honest code fails them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.declared import makes
from verdigris.core.value import value
from verdigris.kernel.grammar.opposites import Edit, applied, opposed
from verdigris.kernel.grammar.readings import suite_of
from verdigris.kernel.grammar.trees import grammar_of, line_of, on_one_line, part, said, short, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

    from verdigris.kernel.grammar.suite import Suite

_FUNCTIONS = frozenset(
    {
        *("arrow_function", "function_expression", "generator_function", "method_definition"),
        *("func_literal", "closure_expression", "async_block"),
    }
)
_RUN_AT_ONCE = frozenset({"forEach", "each", "for", "Run", "describe", "it", "test", "suite", "context"})


@value
class Probe:
    path: str
    line: int
    what: str
    edits: tuple[Edit, ...]
    names: frozenset[str]
    """Claimed tests, by their names without the file, that must fail."""


def probes(path: str, data: bytes, names: Sequence[str], more: str) -> tuple[Probe, ...]:
    """In the order of the text; none of an assertion that a condition or a callback may keep from running.

    `more`: letters that nobody can know before.
    """
    language, root, fault = grammar_of(path) or "", *tree_of(path, data)
    if fault is not None:
        return ()
    suite = suite_of(path)
    suite.collect(root)
    suite.read(root)
    failing = {mark.scope for mark in suite.marks if mark.kind == "skipped"}
    found: dict[int, Probe] = {}
    for node, at in suite.asserted:
        mine = frozenset(name for name in names if _is_of(language, at.scope, name))
        if not mine or at.guards or at.scope in failing or not _surely_runs(suite, node):
            continue
        known = found.get(node.start_byte)
        edits = known.edits if known else opposed(language, node, more)
        if edits:
            told = mine | (known.names if known else frozenset())
            found[node.start_byte] = Probe(path, line_of(node), short(on_one_line(node)), edits, told)
    return tuple(found.values())


def waves(found: Sequence[Probe]) -> list[list[Probe]]:
    """As few as can be, so that in each a test has one changed assertion."""
    made: list[list[Probe]] = []
    for probe in found:
        free = (
            wave for wave in made if not any(p.path == probe.path and p.names & probe.names for p in wave)
        )
        wave = next(free, None)
        if wave is None:
            made.append([probe])
        else:
            wave.append(probe)
    return made


def changed(texts: Mapping[str, bytes], wave: Sequence[Probe]) -> dict[str, bytes]:
    paths = dict.fromkeys(probe.path for probe in wave)
    return {
        path: applied(texts[path], [edit for probe in wave if probe.path == path for edit in probe.edits])
        for path in paths
    }


def _is_of(language: str, scope: str, name: str) -> bool:
    return makes(language, scope, name) or (language == "go" and scope.startswith(f"{name}/"))


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
