"""Rust tests that gave up at a line of their own are told with the source that they had asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.languages import RUST, language_of
from verdigris.core.pathclass import PathClass
from verdigris.core.report import Place
from verdigris.core.testids import split_id
from verdigris.languages.rust.answers import KINDS, defined, unwrapped
from verdigris.languages.rust.rusttests import without_tests
from verdigris.storage.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.report import TestResult
    from verdigris.storage.project import Project


def with_subjects(project: Project, results: tuple[TestResult, ...]) -> tuple[TestResult, ...]:
    if not any(map(_gave_up, results)):
        return results
    known = _functions(project)
    return tuple(_told(project, result, known) if _gave_up(result) else result for result in results)


def _gave_up(result: TestResult) -> bool:
    failure = result.failure
    if failure is None or failure.assertion or failure.kind not in KINDS:
        return False
    return language_of(split_id(result.native_id).path) == RUST


def _told(project: Project, result: TestResult, known: Mapping[str, str]) -> TestResult:
    failure, native = result.failure, split_id(result.native_id)
    text = text_of(project, native.path)
    found = unwrapped(failure, text, native.function, known) if failure and text else None
    if failure is None or found is None:
        return result
    subject, line = found
    frames = failure.frames or (Place(native.path, line),)
    return replace(result, failure=replace(failure, subject=subject, frames=frames))


def _functions(project: Project) -> dict[str, str]:
    """Of the project's source, without the tests in it."""
    tree = project.workspace.snapshot()
    paths = [entry.path for entry in project.workspace.files(tree) if language_of(entry.path) == RUST]
    source = [path for path in paths if project.classify(path) is PathClass.SOURCE]
    data = project.workspace.read_many(tree, source)
    return defined({p: without_tests(d or b"").decode("utf-8", "surrogateescape") for p, d in data.items()})
