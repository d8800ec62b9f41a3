"""Whether a test is red for the right reason, and if not, why not and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.pathclass import PathClass
from verdigris.core.report import CollectError, Failure, RunPhase, Status, TestResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from verdigris.core.settings import RedRule


VALID = "valid"

WHY_NOT: Mapping[str, tuple[str, str]] = {
    "passing": (
        "it passes already, so it asks for nothing new",
        "assert behaviour that does not exist yet, or claim another test",
    ),
    "skipped": (
        "it was skipped or is expected to fail, so it shows nothing",
        "take the skip or xfail away and run `tdd test` again",
    ),
    "xpass": (
        "it is marked xfail but passes",
        "take the xfail mark away: the behaviour is there already",
    ),
    "syntax": (
        "a file does not parse, so nothing was tested",
        "correct the syntax error and run `tdd test` again",
    ),
    "import": (
        "an import failed, so no behaviour was tested",
        "declare the missing name in source with a body marked STUB:TDD, or correct the import",
    ),
    "collection": (
        "the test file raised an error while it was collected",
        "move the failing code into the test, or correct the file",
    ),
    "fixture": (
        "a fixture or setUp failed before the test began",
        "repair the fixture, so that the failure comes from the test's own assertion",
    ),
    "teardown": (
        "the failure came after the test, in a teardown",
        "repair the teardown, so that the failure comes from the test's own assertion",
    ),
    "missing-name": (
        "the test uses a name that it never defines or imports",
        "import or define the name in the test; if source lacks it, declare it there with a STUB:TDD body",
    ),
    "timeout": (
        "it did not end in time",
        "make it fail quickly, e.g. bound the loop or wait that hangs",
    ),
    "crash": (
        "the test process ended in it (exit, signal or interrupt)",
        "test what exits in a subprocess, or stop it from ending the process",
    ),
    "no-assertion": (
        "source raised an exception, but the test asserts nothing",
        "add the assertion that shall hold once the exception is gone",
    ),
    "not-behaviour": (
        "an error in the test or a library, not the project's behaviour, made it fail",
        "correct the test until it fails on an assertion about source",
    ),
    "imported": (
        "its function is defined in a source file, not in a test file",
        "write the test in a test file, and import names one by one instead of `*`",
    ),
    "assertion-only": (
        "it failed on an exception, and here only a failed assertion counts (`red: assertion`)",
        "stub what is missing with a body marked STUB:TDD, so that the assertion itself fails",
    ),
    "not-a-test": (
        "its file is not of class test, so it would stay writable while going green",
        "move it into a test file, or name the file under `test:` in tdd.yaml",
    ),
    "moved": (
        "source or tests changed while it ran",
        "run `tdd test` again",
    ),
    "not-collected": (
        "no such test was collected, so nothing ran",
        "check its name and file; pytest collects `test_*` functions in `test_*.py` files",
    ),
}

_SYNTAX = frozenset({"SyntaxError", "IndentationError", "TabError"})
_IMPORT = frozenset({"ImportError", "ModuleNotFoundError"})
_LACKING = frozenset({"AttributeError", "TypeError"})
_BY_PHASE = {RunPhase.COLLECT: "collection", RunPhase.SETUP: "fixture", RunPhase.TEARDOWN: "teardown"}


def judge_red(
    result: TestResult, *, classify: Callable[[str], PathClass], has_assertion: bool, rule: RedRule
) -> str:
    """`valid`, or a key of WHY_NOT. `has_assertion` is the static reading of the test."""
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
    if failure.kind in {"Timeout", "Crash"} and not failure.bases:
        return failure.kind.lower()
    return _judge_raised(result, failure, classify) or _judge_failure(failure, classify, has_assertion, rule)


def judge_collect_error(error: CollectError) -> str:
    if error.kind in _SYNTAX:
        return "syntax"
    return "import" if error.kind in _IMPORT else "collection"


def _judge_raised(result: TestResult, failure: Failure, classify: Callable[[str], PathClass]) -> str | None:
    """What is wrong whatever the rule says."""
    kinds = _kinds(failure)
    if kinds & _SYNTAX:
        return "syntax"
    if kinds & _IMPORT:
        return "import"
    if result.status is Status.ERROR:
        return _BY_PHASE.get(result.phase, "crash")
    if result.defined_in is not None and _class(result.defined_in, classify) is PathClass.SOURCE:
        return "imported"
    return None


def _judge_failure(
    failure: Failure, classify: Callable[[str], PathClass], has_assertion: bool, rule: RedRule
) -> str:
    if failure.assertion:
        return VALID
    at = failure.place and _class(failure.place.path, classify)
    if "NameError" in _kinds(failure) and at is PathClass.TEST:
        return "missing-name"
    if not _is_behaviour(failure, classify):
        return "not-behaviour"
    if rule == "assertion":
        return "assertion-only"
    return VALID if has_assertion else "no-assertion"


def _is_behaviour(failure: Failure, classify: Callable[[str], PathClass]) -> bool:
    """Raised below source; or a project object lacked what a test, the deepest project frame, asked."""
    classes = [_class(frame.path, classify) for frame in failure.frames]
    if PathClass.SOURCE in classes[1:]:
        return True
    deepest = next((c for c in reversed(classes) if c is not PathClass.OTHER), None)
    lacking = failure.subject is not None and _class(failure.subject, classify) is PathClass.SOURCE
    return lacking and deepest is PathClass.TEST and bool(_kinds(failure) & _LACKING)


def _kinds(failure: Failure) -> frozenset[str]:
    return frozenset(failure.bases or (failure.kind,))


def _class(path: str, classify: Callable[[str], PathClass]) -> PathClass:
    return PathClass.OTHER if path.startswith("/") else classify(path)
