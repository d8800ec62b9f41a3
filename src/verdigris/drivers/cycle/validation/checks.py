"""Validates the tests of a cycle by their text and by runs, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from verdigris.checks.acceptance import held_out_reds
from verdigris.core.paths import PathClass
from verdigris.core.report import Place
from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.drivers.cycle.validation import Validation, ValidationCheck, ValidationFinding
from verdigris.drivers.cycle.validation.strength import TriedTest, find_stubs, try_strength
from verdigris.drivers.cycle.validation.stub_runs import StubRuns
from verdigris.execution.room import Layer
from verdigris.execution.rooms import frozen_layer
from verdigris.languages.findings import TestFault, TestText
from verdigris.languages.protocol import Language
from verdigris.languages.registry import by_language, language_for
from verdigris.languages.tests import written_test
from verdigris.storage.project import Project, texts_at

_SHARED = frozenset({"conftest", "helpers", "__init__"})
"""Names of test files that other tests use without an import, or by a part of their name."""
VACUITY, MOCKS, HELD_OUT = "vacuity", "mocks", "held-out"


def validate_tests(
    project: Project,
    tests: Sequence[str],
    *,
    start: str,
    before: Sequence[ValidationCheck] = (),
) -> Validation:
    """`tests`: native ids of the tests that carry a scenario, each red by assertion on the present tree.
    `start`: the tree before their author began. `before`: checks that are done already.
    """
    tests = tuple(dict.fromkeys(tests))
    tree = project.workspace.snapshot()
    room = frozen_layer(project, tree, {split_id(native).path: None for native in tests})
    read = _read_tests(project, tree, tests)
    once = tuple({(one.text.path, one.text.name): one for one in read}.values())
    literals = {(test.text.path, test.text.name): test.literals for test in once}
    tried = [
        TriedTest(test.native, test.place, test.source, test.body, literals[test.text.path, test.text.name])
        for test in read
    ]
    stubs = find_stubs(project, tried, start, tree)
    runs = None if room is None else StubRuns(project, tree, room, tests, stubs.stubs)
    strength = try_strength(tried, stubs, runs)
    if runs is not None and tests:
        runs.run([()])
    checks = (
        *before,
        _check_vacuity(once, runs),
        strength,
        _check_mocks(project, once, tree),
        _check_held_out(project, tree, room),
    )
    return Validation(checks)


@value
class _CheckedTest:
    native: str
    line: int
    body: str
    """Its code, without its name and comments."""
    language: Language | None
    text: TestText

    @property
    def place(self) -> str:
        return f"{self.text.path}:{self.line}"

    @property
    def source(self) -> str:
        """The text of its file."""
        return self.text.texts.get(self.text.path, "")

    @property
    def literals(self) -> tuple[str, ...]:
        """Those that it expects."""
        return () if self.language is None else self.language.validation.expected_literals(self.text)


def _read_tests(project: Project, tree: str, natives: Sequence[str]) -> tuple[_CheckedTest, ...]:
    listed = [e.path for e in project.workspace.files(tree) if project.classify(e.path) is PathClass.TEST]
    own = texts_at(project, tree, dict.fromkeys(split_id(native).path for native in natives))
    words = {word for text in own.values() for word in re.findall(r"\w+", text)} | _SHARED
    used = [path for path in listed if path.rpartition("/")[2].partition(".")[0] in words]
    texts = {
        language: texts_at(project, tree, mine)
        for language, mine in by_language(dict.fromkeys((*used, *own))).items()
    }
    return tuple(_read_test(native, texts) for native in natives)


def _read_test(native: str, texts: Mapping[Language, Mapping[str, str]]) -> _CheckedTest:
    path = split_id(native).path
    language = language_for(path)
    mine = {} if language is None else texts[language]
    written = written_test(path, mine.get(path, ""), native)
    name = split_id(native).function if written is None else written.name
    first, last = (1, 0) if written is None else (written.first, written.last)
    lines = [line.strip() for line in mine.get(path, "").splitlines()[first - 1 : last]]
    body = "\n".join(line for line in lines if line and not line.startswith(("#", "//")))
    plain = body.replace(name.rpartition("::")[2].rpartition(" › ")[2], "")
    return _CheckedTest(native, first, plain, language, TestText(path, name, mine))


# -- the text of a test ------------------------------------------------------------------------------------


def _check_vacuity(read: Sequence[_CheckedTest], runs: StubRuns | None) -> ValidationCheck:
    """Finds assertions that cannot fail, are not reached, or fail unseen, and repeated tests."""
    notes: list[str] = []
    found: list[TestFault] = []
    for one in read:
        faults = None if one.language is None else one.language.validation.empty_assertions(one.text)
        if faults is None:
            notes.append(
                f"{one.native}: its text cannot be read, so nobody looked for assertions that cannot fail"
            )
        found += faults or ()
    findings = [*_findings(VACUITY, found)]
    known = {finding.place for finding in findings}
    findings += (one for one in _find_unreached_assertions(read, runs) if one.place not in known)
    findings += _find_repeated_tests(read)
    return ValidationCheck(VACUITY, tuple(findings), tuple(notes))


def _find_repeated_tests(read: Sequence[_CheckedTest]) -> Iterator[ValidationFinding]:
    """Finds tests that are the same under two names: they show one scenario, not two."""
    first: dict[str, _CheckedTest] = {}
    for one in read:
        known = first.setdefault(one.body, one)
        if one.body and known.text.name != one.text.name:
            what = f"{one.native} does the same as {known.native}: assert what its own scenario names"
            yield ValidationFinding(VACUITY, "concern", one.place, what)


def _find_unreached_assertions(
    read: Sequence[_CheckedTest], runs: StubRuns | None
) -> Iterator[ValidationFinding]:
    """Finds assertions above the failed one that the red run did not reach."""
    red = None if runs is None else runs.done.get(())
    if runs is None or red is None:
        return
    for one in read:
        function = split_id(one.native).function
        name = f"{one.text.path}::{function}"
        frames = [at for native, at in red.places.items() if native == name or native.startswith(f"{name}[")]
        failed = min((line for at in frames if (line := _line_in(one, at))), default=0)
        ran = runs.lines.get(one.text.path, frozenset())
        tracing = one.language.tracing() if one.language and ran else None
        own = () if tracing is None else tracing.assertion_lines(one.text)
        for path, line in own:
            if path == one.text.path and line < failed and line not in ran:
                yield ValidationFinding(
                    VACUITY,
                    "concern",
                    f"{path}:{line}",
                    f"{one.native} went round this assertion and failed at line {failed}: "
                    "take away the condition that keeps the test from it",
                )


def _line_in(test: _CheckedTest, frames: Iterable[Place]) -> int:
    own = (frame.line for frame in frames if frame.path == test.text.path and frame.line >= test.line)
    return next(own, 0)


def _check_mocks(project: Project, read: Sequence[_CheckedTest], tree: str) -> ValidationCheck:
    sources = [e.path for e in project.workspace.files(tree) if project.classify(e.path) is PathClass.SOURCE]
    notes: list[str] = []
    found: list[TestFault] = []
    for one in read:
        faults = None if one.language is None else one.language.validation.mocked_subjects(one.text, sources)
        if faults is None:
            language = "its language" if one.language is None else one.language.name
            notes.append(f"{one.native}: nothing here tells what a test in {language} replaces")
        found += faults or ()
    return ValidationCheck(MOCKS, tuple(_findings(MOCKS, found)), tuple(notes))


def _findings(check: str, faults: Iterable[TestFault]) -> Iterator[ValidationFinding]:
    for one in dict.fromkeys(faults):
        yield ValidationFinding(check, "concern", f"{one.path}:{one.line}", one.what)


# -- held-out tests ------------------------------------------------------------------------------------------


def _check_held_out(project: Project, tree: str, room: Layer | None) -> ValidationCheck:
    """Held-out tests have to be red by assertion too; nothing of their text or output is shown."""
    state = project.state()
    if not state.held_out:
        return ValidationCheck(HELD_OUT)
    seen = held_out_reds(project, state, tree, room)
    found = []
    if seen.passing:
        found.append(
            f"{seen.passing} of {seen.total} held-out tests pass before any code is written: "
            "they test something else than the scenarios; whoever wrote them looks at them again"
        )
    if seen.unloaded or not seen.total:
        found.append(
            "held-out tests do not load on the stubs: they name something that the stubs do not have; "
            "whoever wrote them changes the names, or the scenarios have to say them"
        )
    if seen.otherwise:
        found.append(
            f"{seen.otherwise} of {seen.total} held-out tests fail otherwise than by an assertion: "
            "they may name something that the stubs do not have"
        )
    return ValidationCheck(
        HELD_OUT, tuple(ValidationFinding(HELD_OUT, "blocker", "held-out tests", what) for what in found)
    )
