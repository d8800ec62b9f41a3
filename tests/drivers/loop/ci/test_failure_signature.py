"""The same failure has the same signature, wherever and whenever it happened; another one has another."""

from __future__ import annotations

import pytest

from verdigris.drivers.loop.ci.failure_signature import FailedTest, read_failures, signature_of

PYTEST = """\
=================================== FAILURES ===================================
________________________________ test_take_zero ________________________________
/home/runner/work/port/port/tests/test_take.py:14: AssertionError
=========================== short test summary info ============================
FAILED tests/test_take.py::test_take_zero - assert 1 == 0
FAILED tests/test_take.py::test_shape[<object object at 0x7f3a2c0>] - TypeError: 'int' object is not iterable
ERROR tests/test_zip.py - ImportError: cannot import name 'zip_equal'
========================= 2 failed, 31 passed in 4.31s =========================
"""
VITEST = """\
 ❯ src/sort.test.ts (3 tests | 1 failed) 12ms
   × sortValues > orders NaN last 5ms
\x1b[31m FAIL \x1b[39m src/sort.test.ts > sortValues > orders NaN last
AssertionError: expected [ NaN, 1 ] to deeply equal [ 1, NaN ]
 ❯ src/sort.test.ts:22:18
      Tests  1 failed | 2 passed (3)
   Duration  412ms
"""
CARGO = """\
running 2 tests
test tests::adds ... ok
test tests::divides ... FAILED

failures:

---- tests::divides stdout ----
thread 'tests::divides' panicked at src/lib.rs:20:9:
assertion `left == right` failed
test result: FAILED. 1 passed; 1 failed; finished in 0.03s
"""
GO = """\
--- FAIL: TestAdd (0.01s)
    --- FAIL: TestAdd/zero (0.00s)
        add_test.go:12: got 1, want 0
FAIL
FAIL\texample.org/calc\t0.004s
FAIL\texample.org/other [build failed]
"""


@pytest.mark.parametrize(
    ("output", "signature"),
    [
        (
            PYTEST,
            (
                "tests/test_take.py::test_shape[<object object at 0x>] (TypeError), "
                "tests/test_take.py::test_take_zero (AssertionError), tests/test_zip.py (ImportError)"
            ),
        ),
        (VITEST, "src/sort.test.ts > sortValues > orders NaN last (AssertionError)"),
        (CARGO, "tests::divides (assertion)"),
        (GO, "TestAdd/zero, example.org/other (build failed)"),
        ("FAIL: test_a (pkg.test_x.TestX.test_a)\n", "pkg.test_x.TestX.test_a (AssertionError)"),
        ("FAIL: test_a (pkg.TestX)\n", "pkg.TestX.test_a (AssertionError)"),
        ("  ● sort › orders NaN\n\n    expect(received)\n", "sort › orders NaN"),
        ("not ok 3 - orders NaN # time=5ms\n", "orders NaN"),
        ("src/a.ts(5,3): error TS2304: Cannot find name 'x'.\n", "src/a.ts (TS2304)"),
        ("src/a.py:5: error: Bad type  [arg-type]\n", "src/a.py (arg-type)"),
        ("error[E0425]: cannot find value `x`\n  --> src/lib.rs:3:5\n", "src/lib.rs (E0425)"),
    ],
)
def test_the_failing_ids_and_their_kinds_are_the_signature(output: str, signature: str) -> None:
    assert signature_of(read_failures(output)) == signature


@pytest.mark.parametrize("output", [PYTEST, VITEST, CARGO, GO])
def test_times_places_and_order_change_nothing(output: str) -> None:
    moved = (
        output.replace("0x7f3a2c0", "0x55d1e8")
        .replace("/home/runner/work/port/port/", "/tmp/b7/")
        .replace(":20:9", ":40:2")
        .replace(":22:18", ":1:1")
        .replace("(0.01s)", "(3.20s)")
        .replace("5ms", "91ms")
    )
    shuffled = "\n".join(
        f"build\ttest\t2026-05-17T04:00:0{n % 10}.12Z {line}" for n, line in enumerate(moved.splitlines())
    )
    assert read_failures(shuffled + "\n") == read_failures(output)


def test_another_failure_or_another_kind_is_another_signature() -> None:
    other = PYTEST.replace("TypeError: 'int'", "ValueError: 'int'")
    assert signature_of(read_failures(other)) != signature_of(read_failures(PYTEST))


def test_where_no_tool_is_known_the_telling_line_speaks_without_what_varies() -> None:
    one = "step 1\nfatal: unable to open /tmp/x1/db.sqlite:14 at 2026-05-17T04:00:00Z after 3.2s\n"
    two = "step 1\nfatal: unable to open /var/y/db.sqlite:99 at 2026-06-01T11:22:33Z after 10s\n"
    assert read_failures(one) == ()
    assert signature_of((), one, 1) == signature_of((), two, 1)
    assert "unable to open db.sqlite" in signature_of((), one, 1)
    assert signature_of((), "", 2) == "exit code 2"


def test_a_long_signature_is_shortened_and_stays_its_own() -> None:
    many = [FailedTest(f"tests/test_a.py::test_number_{n}", "AssertionError") for n in range(40)]
    said = signature_of(many)
    assert said.startswith("tests/test_a.py::test_number_0 (AssertionError) and 39 more [")
    assert said != signature_of([*many[:-1], FailedTest("tests/test_a.py::other", "")])


def test_words_of_a_passing_run_are_no_failures() -> None:
    assert (
        read_failures("tests/test_a.py::test_failed_login PASSED\nok 1 - not ok is a name\n3 passed in 1s\n")
        == ()
    )
