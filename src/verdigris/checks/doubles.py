"""Judges code of tests that stood in the place of source while a claimed test ran."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.paths import PathClass
from verdigris.core.value import value
from verdigris.languages.registry import is_traced, reader_of
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from verdigris.checks.observation import Candidate
    from verdigris.core.report import DoubleCall


@value
class Doubles:
    """What a verdict says of them: a service that is replaced is an honest double, and is not named."""

    hollow: tuple[str, ...] = ()
    """Calls of what only tests provide, so that nothing works without them."""
    noted: tuple[str, ...] = ()


def judge_doubles(candidate: Candidate, claimed: Collection[str], calls: Iterable[DoubleCall]) -> Doubles:
    """`calls`: of the verdict's run of all tests, by the source that changed."""
    project, tree = candidate.project, candidate.tree
    asked = [call for call in calls if call.test in claimed and _is_of_tests(candidate, call)]
    if not asked:
        return Doubles()
    paths = [e.path for e in project.workspace.files(tree) if project.classify(e.path) is PathClass.SOURCE]
    sources = texts_at(project, tree, [path for path in paths if is_traced(path)])
    found = [line for call in asked for line in _judge(call, sources)]
    return Doubles(
        tuple(dict.fromkeys(text for text, refuses in found if refuses)),
        tuple(dict.fromkeys(text for text, refuses in found if not refuses)),
    )


def _is_of_tests(candidate: Candidate, call: DoubleCall) -> bool:
    return not call.path or candidate.project.classify(call.path) is PathClass.TEST


def _judge(call: DoubleCall, sources: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """What is said of a call, and whether it refuses the verdict."""
    where = f" ({call.path}:{call.line})" if call.path else ""
    tracing = reader_of(call.by).tracing()
    name = call.name.removeprefix(".")
    if tracing is None or call.by not in sources:
        return
    if name != call.name:
        if not _is_bound_somewhere(rf"\bdef {name}\b|\b{name}\s*[:=]", name, sources):
            yield f"{call.place} calls `{name}`, which only tests define{where}", False
        return
    match tracing.origin_of(sources[call.by], name):
        case "own":
            yield f"{call.test} replaces `{name}` of {call.by}{where}, so it does not run the real one", False
        case "nothing":
            is_set = _is_bound_somewhere(rf"\.{name}\s*=[^=]", name, sources)
            text = f"{call.place} calls `{name}`, and only tests give it a value{where}"
            yield f"{text}: write it in source, or take it as an argument", not is_set


def _is_bound_somewhere(pattern: str, name: str, sources: Mapping[str, str]) -> bool:
    regex = re.compile(rf"{pattern}|[\"']{name}[\"']")
    return any(regex.search(text) for text in sources.values())
