from __future__ import annotations

from typing import Any

from verdigris.core.policy.reds import ended_reds, newest, without_parents
from verdigris.core.report import CollectError, RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.state import Red


def red(native: str, *, seq: int = 1, tree: str = "t1", why: str = "valid") -> Red:
    return Red(native, native, "native", seq, tree, "pytest", Status.FAIL, why)


def report(*ids: str, status: Status = Status.FAIL, **more: Any) -> TestReport:
    results = tuple(TestResult(i, i, "native", status, RunPhase.CALL, 1) for i in ids)
    return TestReport("pytest", more.pop("ended", RunEnd.FINISHED), 1, 1, results, collected=ids, **more)


REDS = {name: red(name) for name in ("tests/a.py::test_x", "tests/a.py::test_y[1]", "tests/sub/b.py::test_z")}
ALL = tuple(REDS)


def test_a_whole_run_ends_the_reds_that_it_does_not_find() -> None:
    assert ended_reds(REDS, report("tests/a.py::test_x"), ()) == ALL[1:]


def test_a_run_that_sees_a_red_fail_again_does_not_end_it() -> None:
    assert ended_reds(REDS, report(*ALL), ()) == ()


def test_a_run_that_sees_it_pass_ends_it() -> None:
    assert ended_reds(REDS, report(*ALL, status=Status.PASS), ()) == ALL


def test_a_run_of_one_file_says_nothing_about_another() -> None:
    assert ended_reds(REDS, report("tests/a.py::test_new"), ("tests/a.py",)) == ALL[:2]
    assert ended_reds(REDS, report("tests/sub/b.py::test_z"), ("tests/sub",)) == ()
    assert ended_reds(REDS, report(), ("tests/sub/",)) == ALL[2:]
    assert ended_reds(REDS, report("tests/a.py::test_x"), (".",)) == ALL[1:]


def test_a_run_of_a_function_looks_for_its_cases() -> None:
    assert ended_reds(REDS, report("tests/a.py::test_y[2]"), ("tests/a.py::test_y",)) == (ALL[1],)
    assert ended_reds(REDS, report("tests/a.py::test_x"), ("tests/a.py::test_x",)) == ()


def test_a_file_that_did_not_load_and_a_run_that_did_not_end_prove_nothing() -> None:
    broken = CollectError("tests/a.py", "SyntaxError", "x")
    assert ended_reds(REDS, report("tests/sub/b.py::test_z", errors=(broken,)), ()) == ()
    assert ended_reds(REDS, report(ended=RunEnd.TIMEOUT), ()) == ()


def test_where_all_is_built_at_once_one_broken_file_proves_nothing_about_the_others() -> None:
    reds = {"src/lib.rs::works": red("src/lib.rs::works")}
    broken = CollectError("tests/other.rs", "error[E0425]", "x")
    assert ended_reds(reds, report(errors=(broken,)), ()) == ()


def test_a_suite_that_is_only_a_part_finds_what_it_names_alone() -> None:
    assert ended_reds(REDS, report("tests/a.py::test_x"), ("tests/a.py::test_x",)) == ()


def test_the_newest_red_is_the_one_seen_last_on_this_tree() -> None:
    reds = (red("a.py::one", seq=5, tree="old"), red("a.py::two", seq=3), red("a.py::three", seq=4))
    assert newest(reds, "t1") == reds[2]
    assert newest(reds, "another") is None
    assert newest(reds) == reds[0]
    assert newest(()) is None


def test_a_go_test_that_is_red_because_of_its_case_is_left_out() -> None:
    reds = (red("a_test.go::TestA"), red("a_test.go::TestA/case"))
    assert without_parents(reds) == reds[1:]
