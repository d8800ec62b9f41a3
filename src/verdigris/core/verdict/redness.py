"""Judges whether a test is red for the right reason; if not, says why and what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.languages import compiler_of
from verdigris.core.paths import PathClass
from verdigris.core.report import CollectError, Failure, Place, RunPhase, Status, TestResult
from verdigris.core.test_ids import shell_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from verdigris.core.settings import RedRule


VALID = "valid"
BROKEN = "broken-by-edit"
UNDECLARED = frozenset({"import", "build", "missing-name"})
"""Reasons of invalid reds that a missing declaration may cause."""

WHY_NOT: Mapping[str, tuple[str, str]] = {
    "passing": (
        "it passes already, so it asks for nothing new",
        "assert behaviour that does not exist yet, or claim another test",
    ),
    "skipped": (
        "it was skipped or is expected to fail, so it shows nothing",
        "take away what skips it or expects it to fail, and run `tdd test` again",
    ),
    "xpass": (
        "it is expected to fail but passes",
        "take that mark away: the behaviour is there already",
    ),
    "syntax": (
        "a file does not parse, so nothing was tested",
        "correct the syntax error and run `tdd test` again",
    ),
    "build": (
        "it does not compile, so nothing was tested",
        "`tdd stub FILE` declares in source what is missing, marked STUB:TDD; or correct what is named",
    ),
    "import": (
        "an import failed, so no behaviour was tested",
        "`tdd stub FILE` declares the missing name in source, marked STUB:TDD; or correct the import",
    ),
    "collection": (
        "the test file raised an error while it was collected",
        "move the failing code into the test, or correct the file",
    ),
    "no-runner": (
        "the test runner is not installed where the tests run, so nothing was tested",
        "install it: `tdd doctor` prints the command; then run `tdd test` again",
    ),
    "unhandled": (
        "an error was raised outside of any test",
        "await the promise or handle the error, so that it belongs to a test",
    ),
    "report": (
        "the report of the run is missing, unreadable or contradicts itself, so it proves nothing",
        "run the command by hand and see what it reports; no test may print what the tool itself would say",
    ),
    "fixture": (
        "a fixture or hook failed before the test began",
        "repair it, so that the failure comes from the test's own assertion",
    ),
    "teardown": (
        "the failure came after the test, in a teardown",
        "repair the teardown, so that the failure comes from the test's own assertion",
    ),
    "missing-name": (
        "the test uses a name that it never defines or imports",
        "import or define the name in the test; if source lacks it then, `tdd stub FILE` declares it there",
    ),
    "timeout": (
        "it did not end in time, and was not seen to be inside source then",
        "bound the loop or wait that hangs, or give a test more time: `room.test_timeout` in tdd.yaml",
    ),
    "crash": (
        "the test process ended in it (exit, signal or interrupt)",
        "test what exits in a process of its own, or stop it from ending this one",
    ),
    "not-behaviour": (
        "an error in the test or a library, not the project's behaviour, made it fail",
        "correct the test until it fails on an assertion about source",
    ),
    "imported": (
        "its function is defined in a source file, not in a test file",
        "write the test in a test file, and import names one by one",
    ),
    "assertion-only": (
        "it failed on an exception, and here only a failed assertion counts (`red: assertion`)",
        "stub what is missing with a body marked STUB:TDD, so that the assertion itself fails",
    ),
    "not-a-test": (
        "its file is not of class test, so it would stay writable while going green",
        "move it into a test file, or name the file under `test:` in tdd.yaml",
    ),
    "unrecorded": (
        "no snapshot holds its file (among installed packages, or behind a link), so it could change unseen",
        "move the test into a folder of the project's own tests that is no link, and run `tdd test` again",
    ),
    "moved": (
        "source or tests changed while it ran",
        "run `tdd test` again",
    ),
    BROKEN: (
        "it passed before, and this edit broke it",
        "mend the source until it passes again",
    ),
    "not-collected": (
        "no such test was collected, so nothing ran",
        "check its name and its file, and that the runner's own configuration finds it",
    ),
}


def why_not(code: str) -> tuple[str, str]:
    """Why a red does not count, and what to do."""
    return WHY_NOT.get(code, (f"it failed for another reason ({code})", "revise the test"))


def way_out(code: str, path: str) -> str:
    """What to do about a red that does not count, in a test of `path`."""
    return why_not(code)[1].replace("FILE", shell_words(path))


ASKS_EXISTENCE = "passes over stubs: it asks only whether something exists"
"""What is said of a test that a stub of what source lacks satisfies."""
_MISSING_ATTRIBUTE = re.compile(r"AttributeError: .*has no attribute '(\w+)'")


def lacking_name(failure: str) -> str:
    """The attribute that a failure, as `KIND: MESSAGE`, says is missing; empty where it says none."""
    lacking = _MISSING_ATTRIBUTE.match(failure)
    return lacking[1] if lacking is not None else ""


_SYNTAX = frozenset({"SyntaxError", "IndentationError", "TabError", "syntax error"})
_IMPORT = frozenset(
    ("ImportError", "ModuleNotFoundError", "LoadError", "NoClassDefFoundError", "ClassNotFoundException")
)
_BUILD = frozenset({"build", "build failed", "vet", "compile"})
_NO_RUNNER = frozenset({"NoPytest"})
_REPORT = frozenset(
    (
        "NoReport",
        "UnreadableReport",
        "UnmappedTest",
        "Miscounted",
        "ExitCode",
        "ReportedTwice",
        "Contradiction",
    )
)
_LACKING = frozenset({"AttributeError", "TypeError", "KeyError", "IndexError", "panic", "Err"})
"""Only with a subject: the source whose data lack a key or, in Rust, whose result could not be unwrapped."""
_BY_PHASE = {RunPhase.COLLECT: "collection", RunPhase.SETUP: "fixture", RunPhase.TEARDOWN: "teardown"}
_NOT_PARSED = (
    r"(?:\S+:\d+: )?(?:expected |unexpected closing|mismatched closing|this file contains an un|unknown start"
    r"|unterminated|unclosed|'.+' expected|illegal start of|reached end of file)"
)
"""Messages of compilers, without a code, about text that they cannot parse."""
_TYPES = r"\berror TS\d+|\bTS\d{3,5}:"
_EMPTY = "No test suite found|must contain at least one test"
_NO_PACKAGE = (
    r"no required module provides|is not in (?:std|GOROOT)|cannot find (?:package|module)|could not import"
    r"|no Go files in"
)
_UNHANDLED = "[Uu]nhandled|[Uu]ncaught"


def judge_red(
    result: TestResult,
    *,
    classify: Callable[[str], PathClass],
    rule: RedRule,
    at: Callable[[Place], PathClass] | None = None,
) -> str:
    """`valid`, or a key of WHY_NOT. A test that passes by not raising is a test too.

    `at` gives the class of a line, for files that hold tests among their source.
    """
    match result.status:
        case Status.PASS:
            return "passing"
        case Status.SKIP:
            return "xpass" if result.note == "xpass" else "skipped"
    if result.note == "xpass":
        return "xpass"
    failure = result.failure
    if failure is None:
        return _BY_PHASE.get(result.phase, "crash")
    if failure.kind == "Crash" and not failure.bases:
        return "crash"
    look = at or (lambda place: classify(place.path))
    frames = [PathClass.OTHER if f.path.startswith("/") else look(f) for f in failure.frames]
    if failure.kind == "Timeout" and not failure.bases and result.phase is not RunPhase.TEARDOWN:
        return _judge_stopped(frames, rule)
    return _judge_raised(result, failure, frames, classify) or _judge_failure(failure, frames, classify, rule)


def _judge_stopped(frames: Sequence[PathClass], rule: RedRule) -> str:
    """A hang is behaviour if the test was stopped inside source, or in code that source had called."""
    own = [cls for cls in frames if cls is not PathClass.OTHER]
    if not own or own[-1] is not PathClass.SOURCE:
        return "timeout"
    return VALID if rule == "behaviour" else "assertion-only"


def judge_collect_error(error: CollectError) -> str:
    kind = _last(error.kind)
    if (compiler := compiler_of(error.path, kind)) is not None:
        return _judge_coded_error(error, compiler.import_codes)
    if kind in _SYNTAX or (kind in _BUILD and re.match(_NOT_PARSED, error.message)):
        return "syntax"
    if kind in _IMPORT or (kind in _BUILD and re.search(_NO_PACKAGE, error.message)):
        return "import"
    if kind in _BUILD or re.search(_TYPES, error.message):
        return "build"
    if kind in _REPORT:
        return "report"
    if kind in _NO_RUNNER:
        return "no-runner"
    if re.search(_EMPTY, error.message):
        return "not-collected"
    return "unhandled" if re.match(_UNHANDLED, error.kind) else "collection"


def _judge_coded_error(error: CollectError, of_imports: Collection[str]) -> str:
    if error.kind in of_imports:
        return "import"
    return "syntax" if error.kind == "error" and re.match(_NOT_PARSED, error.message) else "build"


def _judge_raised(
    result: TestResult,
    failure: Failure,
    frames: Sequence[PathClass],
    classify: Callable[[str], PathClass],
) -> str | None:
    """Why it is no red under any rule; None if the rule decides."""
    kinds = _kinds(failure)
    if kinds & _SYNTAX:
        return "syntax"
    if kinds & _IMPORT:
        return "import"
    if result.status is Status.ERROR:
        if failure.kind in _REPORT and not failure.bases:
            return "report"
        if failure.kind in _BUILD:
            return "build"
        # A fixture uses source as a test does; what source raises or lacks there is behaviour.
        asks = PathClass.SOURCE in frames or _is_lacking(failure, frames, classify)
        if result.phase is RunPhase.SETUP and not failure.assertion and asks:
            return None
        return _BY_PHASE.get(result.phase, "crash")
    if result.defined_in is not None and _class(result.defined_in, classify) is PathClass.SOURCE:
        return "imported"
    return None


def _judge_failure(
    failure: Failure, frames: Sequence[PathClass], classify: Callable[[str], PathClass], rule: RedRule
) -> str:
    if failure.assertion:
        return VALID
    if "NameError" in _kinds(failure) and frames and frames[-1] is PathClass.TEST:
        return "missing-name"
    if not _is_behaviour(failure, frames, classify):
        return "not-behaviour"
    if rule == "assertion":
        return "assertion-only"
    return VALID


def _is_behaviour(
    failure: Failure, frames: Sequence[PathClass], classify: Callable[[str], PathClass]
) -> bool:
    """Raised below source; or a project object lacked something that a test asked of it."""
    return PathClass.SOURCE in (frames[1:] or frames) or _is_lacking(failure, frames, classify)


def _is_lacking(failure: Failure, frames: Sequence[PathClass], classify: Callable[[str], PathClass]) -> bool:
    deepest = next((cls for cls in reversed(frames) if cls is not PathClass.OTHER), None)
    lacking = failure.subject is not None and _class(failure.subject, classify) is PathClass.SOURCE
    return lacking and deepest is PathClass.TEST and bool(_kinds(failure) & _LACKING)


def _kinds(failure: Failure) -> frozenset[str]:
    return frozenset(map(_last, failure.bases or (failure.kind,)))


def _last(kind: str) -> str:
    """The last part of a qualified name, e.g. of `java.lang.AssertionError`."""
    return re.split(r"[.\\]|::", kind)[-1]


def _class(path: str, classify: Callable[[str], PathClass]) -> PathClass:
    return PathClass.OTHER if path.startswith("/") else classify(path)
