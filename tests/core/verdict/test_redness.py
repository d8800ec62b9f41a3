from __future__ import annotations

from dataclasses import replace

import pytest

from verdigris.core.paths import PathClass
from verdigris.core.report import CollectError, Failure, Place, RunPhase, Status, TestResult
from verdigris.core.settings import RedRule
from verdigris.core.verdict.redness import VALID, WHY_NOT, judge_collect_error, judge_red

TEST, SOURCE, LIBRARY = Place("tests/test_a.py", 3), Place("src/a.py", 5), Place("/usr/lib/json.py", 7)


def classify(path: str) -> PathClass:
    return {"src": PathClass.SOURCE, "tests": PathClass.TEST}.get(
        path.split("/", maxsplit=1)[0], PathClass.OTHER
    )


def judge(
    failure: Failure | None,
    *,
    status: Status = Status.FAIL,
    phase: RunPhase = RunPhase.CALL,
    note: str = "",
    defined_in: str = "tests/test_a.py",
    rule: RedRule = "behaviour",
) -> str:
    test = TestResult("i", "i", "native", status, phase, 1, failure, note=note, defined_in=defined_in)
    return judge_red(test, classify=classify, rule=rule)


def raised(kind: str, *frames: Place, subject: str | None = None, bases: tuple[str, ...] = ()) -> Failure:
    assertion = kind in {"AssertionError", "Failed"}
    place = frames[-1] if frames else None
    return Failure(kind, assertion, "message", place, frames, bases, subject)


@pytest.mark.parametrize("rule", ["behaviour", "assertion"])
@pytest.mark.parametrize("kind", ["AssertionError", "Failed"])
def test_assertions_are_valid_under_both_rules_and_never_vacuous(kind: str, rule: RedRule) -> None:
    assert judge(raised(kind, TEST), rule=rule) == VALID


def test_exception_from_source() -> None:
    failure = raised("KeyError", TEST, SOURCE)
    assert judge(failure) == VALID
    assert judge(failure, rule="assertion") == "assertion-only"
    assert judge(raised("JSONDecodeError", TEST, SOURCE, LIBRARY)) == VALID


def test_exception_that_is_not_about_source() -> None:
    assert judge(raised("KeyError", TEST)) == "not-behaviour"
    assert judge(raised("KeyError", TEST, LIBRARY)) == "not-behaviour"
    assert judge(raised("KeyError", TEST), rule="assertion") == "not-behaviour"
    assert judge(raised("KeyError")) == "not-behaviour"


@pytest.mark.parametrize("kind", ["AttributeError", "TypeError"])
def test_what_a_project_object_lacks(kind: str) -> None:
    assert judge(raised(kind, TEST, subject="src/a.py")) == VALID
    assert judge(raised(kind, TEST, Place("tests/helper.py", 2), subject="src/a.py")) == VALID
    assert judge(raised(kind, TEST, LIBRARY, subject="src/a.py")) == VALID
    assert judge(raised(kind, TEST, subject="tests/helper.py")) == "not-behaviour"
    assert judge(raised(kind, TEST, subject="/usr/lib/json.py")) == "not-behaviour"
    assert judge(raised(kind, TEST)) == "not-behaviour"


def test_only_a_lacking_attribute_or_argument_counts_at_the_tests_own_line() -> None:
    assert judge(raised("ValueError", TEST, subject="src/a.py")) == "not-behaviour"


def test_missing_names() -> None:
    assert judge(raised("NameError", TEST)) == "missing-name"
    assert judge(raised("NameError", TEST, Place("tests/helper.py", 1))) == "missing-name"
    assert (
        judge(raised("UnboundLocalError", TEST, bases=("UnboundLocalError", "NameError"))) == "missing-name"
    )
    assert judge(raised("NameError", TEST, SOURCE)) == VALID


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("ImportError", "import"),
        ("ModuleNotFoundError", "import"),
        ("SyntaxError", "syntax"),
        ("IndentationError", "syntax"),
    ],
)
def test_imports_and_syntax_are_invalid_anywhere(kind: str, why: str) -> None:
    assert judge(raised(kind, TEST, SOURCE)) == why
    assert judge(raised(kind, TEST), status=Status.ERROR, phase=RunPhase.SETUP) == why
    assert judge_collect_error(CollectError("tests/test_a.py", kind, "")) == why


def test_a_project_exception_is_judged_by_what_it_is_of_not_by_its_name() -> None:
    assert judge(raised("ImportError", TEST, SOURCE, bases=("ValueError",))) == VALID
    assert judge(raised("Missing", TEST, SOURCE, bases=("ImportError",))) == "import"


@pytest.mark.parametrize(
    ("phase", "why"),
    [(RunPhase.SETUP, "fixture"), (RunPhase.TEARDOWN, "teardown"), (RunPhase.COLLECT, "collection")],
)
def test_errors_around_the_test(phase: RunPhase, why: str) -> None:
    assert judge(raised("AssertionError", TEST), status=Status.ERROR, phase=phase) == why
    assert judge(None, status=Status.ERROR, phase=phase) == why


def test_what_source_raises_in_a_fixture_is_behaviour_and_what_the_fixture_does_wrong_is_not() -> None:
    def in_setup(failure: Failure) -> str:
        return judge(failure, status=Status.ERROR, phase=RunPhase.SETUP)

    fixture = Place("tests/conftest.py", 4)
    assert in_setup(raised("ValueError", fixture, SOURCE)) == VALID
    assert in_setup(raised("ValueError", fixture, LIBRARY)) == "fixture"
    assert in_setup(raised("AssertionError", fixture, SOURCE)) == "fixture"
    lacking = raised("AttributeError", fixture)
    assert in_setup(lacking) == "fixture"
    assert in_setup(replace(lacking, subject=SOURCE.path)) == VALID
    assert in_setup(replace(lacking, kind="KeyError", bases=(), subject=SOURCE.path)) == VALID
    assert in_setup(replace(lacking, kind="ValueError", bases=(), subject=SOURCE.path)) == "fixture"


def test_collection_error() -> None:
    assert judge_collect_error(CollectError("tests/test_a.py", "NameError", "")) == "collection"


def test_a_missing_pytest_is_no_fault_of_the_test_file() -> None:
    error = CollectError("", "NoPytest", "/usr/bin/python3: No module named 'pytest'")
    assert judge_collect_error(error) == "no-runner"
    assert "`tdd doctor` prints the command" in WHY_NOT["no-runner"][1]


def test_ends_of_the_run() -> None:
    assert judge(Failure("Timeout", assertion=False, message=""), status=Status.ERROR) == "timeout"
    assert judge(Failure("Crash", assertion=False, message=""), status=Status.ERROR) == "crash"
    assert judge(None, status=Status.ERROR) == "crash"


@pytest.mark.parametrize(
    ("frames", "why"),
    [
        ((TEST, SOURCE), VALID),
        ((TEST, SOURCE, LIBRARY), VALID),
        ((TEST, SOURCE, TEST), "timeout"),
        ((TEST, LIBRARY), "timeout"),
        ((TEST,), "timeout"),
        ((), "timeout"),
    ],
)
def test_a_hang_is_red_where_it_was_stopped_inside_source(frames: tuple[Place, ...], why: str) -> None:
    stopped = Failure("Timeout", assertion=False, message="", frames=frames)
    assert judge(stopped) == why
    assert judge(stopped, status=Status.ERROR, phase=RunPhase.SETUP) == why
    assert judge(stopped, status=Status.ERROR, phase=RunPhase.TEARDOWN) == "teardown"
    assert judge(stopped, rule="assertion") == ("assertion-only" if why == VALID else why)


def test_what_did_not_fail() -> None:
    assert judge(None, status=Status.PASS) == "passing"
    assert judge(None, status=Status.SKIP, note="no database") == "skipped"
    assert judge(None, status=Status.SKIP, note="xfail") == "skipped"
    assert judge(None, status=Status.SKIP, note="xpass") == "xpass"
    assert judge(raised("Failed"), note="xpass") == "xpass"


def test_a_function_of_a_source_file_is_no_test() -> None:
    assert judge(raised("AssertionError", SOURCE), defined_in="src/a.py") == "imported"


def test_every_reason_has_a_text_of_one_line_and_a_next_move() -> None:
    assert VALID not in WHY_NOT
    for reason, following in WHY_NOT.values():
        assert reason
        assert following
        assert "\n" not in reason + following
