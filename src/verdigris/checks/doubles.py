"""Judges code of tests that stands in the place of source, as it is written and as it was seen to run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.paths import PathClass
from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.languages.findings import TestText
from verdigris.languages.registry import by_language, is_traced, language_for, reader_of
from verdigris.languages.tests import written_test
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from verdigris.checks.observation import Candidate
    from verdigris.core.report import DoubleCall
    from verdigris.languages.findings import TestFault
    from verdigris.storage.project import Project

SOURCE, TEST = PathClass.SOURCE, PathClass.TEST


@value
class Doubles:
    """What a verdict says of them: a service that is replaced is an honest double, and is not named."""

    hollow: tuple[str, ...] = ()
    """Calls of what only tests provide, so that nothing works without them."""
    noted: tuple[str, ...] = ()


def find_mocked(project: Project, tree: str, natives: Iterable[str]) -> tuple[str, ...]:
    """Where tests replace the very code that they call, as far as their language reads mocks."""
    tests = {native: split_id(native).path for native in natives}
    files = [entry.path for entry in project.workspace.files(tree)]
    by = {cls: [path for path in files if project.classify(path) is cls] for cls in (TEST, SOURCE)}
    faults: dict[TestFault, None] = {}
    for language, paths in by_language(by[TEST]).items():
        mine = {native: path for native, path in tests.items() if language_for(path) is language}
        texts = texts_at(project, tree, paths) if mine else {}
        for native, path in mine.items():
            if (test := written_test(path, texts.get(path, ""), native)) is not None:
                found = language.validation.mocked_subjects(TestText(path, test.name, texts), by[SOURCE])
                faults |= dict.fromkeys(found or ())
    return tuple(f"{fault.path}:{fault.line}: {fault.what}" for fault in faults)


def judge_doubles(candidate: Candidate, claimed: Collection[str], calls: Iterable[DoubleCall]) -> Doubles:
    """`calls`: of the verdict's run of all tests; only those by the source that changed are judged."""
    project, tree, changed = candidate.project, candidate.tree, {c.path for c in candidate.edits.source}
    mine = (call for call in calls if call.test in claimed and call.by in changed)
    asked = [call for call in mine if _is_of_tests(candidate, call)]
    mocked = find_mocked(project, tree, claimed)
    if not asked:
        return Doubles((), mocked)
    paths = [e.path for e in project.workspace.files(tree) if project.classify(e.path) is SOURCE]
    sources = texts_at(project, tree, [path for path in paths if is_traced(path)])
    found = [line for call in asked for line in _judge(call, sources)]
    return Doubles(
        tuple(dict.fromkeys(text for text, refuses in found if refuses)),
        tuple(dict.fromkeys((*mocked, *(text for text, refuses in found if not refuses)))),
    )


def _is_of_tests(candidate: Candidate, call: DoubleCall) -> bool:
    return not call.path or candidate.project.classify(call.path) is TEST


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
