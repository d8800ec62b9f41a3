"""JUnit XML: recorded reports of real tools, and reports that cannot be trusted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runners.outlines import outline, pages
from support.pages import lay_out
from support.recordings import HERE, asked
from support.tools import run_tool
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.core.value import replace
from verdigris.runners.junit import PHPUNIT, RSPEC, SUREFIRE, JUnitRunner, JUnitTool
from verdigris.runners.protocol import RunnerAnswer, RunnerCall

PYTEST = JUnitTool(
    command=(
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--junitxml={report}/out.xml",
        "{paths}",
    ),
    pattern=r"(?P<class>[\w.]+?)(?:\.[A-Z].*)?",
    path="{class}.py",
    errors="setup",
)
JAVA = "src/test/java/com/x/CalcTest.java"


def parsed(
    tool: JUnitTool,
    *reports: bytes,
    names: tuple[str, ...] = (),
    code: int | None = 1,
    timed_out: bool = False,
    output: bytes = b"",
) -> TestReport:
    called = RunnerCall(("tool",), "/w", "tool")
    given = {f"{i}.xml": text for i, text in enumerate(reports)}
    return JUnitRunner(tool).report(asked(*names), (RunnerAnswer(called, code, timed_out, 1, output, given),))


def recorded(name: str) -> bytes:
    return (HERE / "junit" / f"{name}.xml").read_bytes()


def wrapped(inside: str, tests: int) -> bytes:
    return f'<testsuite tests="{tests}">{inside}</testsuite>'.encode()


TOOLS = {"surefire": SUREFIRE, "phpunit": PHPUNIT, "rspec": RSPEC, "pytest": PYTEST}


@pytest.mark.parametrize("name", TOOLS)
def test_a_recorded_report_is_read(name: str) -> None:
    """Ways to fail, passes and skips, and the files of the tests."""
    assert outline(parsed(TOOLS[name], recorded(name))) == pages("junit")[name]


BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'
DEEP = b"<testsuite>" * 100 + b"</testsuite>" * 100


@pytest.mark.parametrize(
    ("reports", "ended"),
    [
        ((), RunEnd.NO_START),
        ((b"",), RunEnd.DIED),
        ((recorded("rspec")[:900],), RunEnd.DIED),
        ((BOMB,), RunEnd.DIED),
        ((DEEP,), RunEnd.DIED),
        ((b"<html/>",), RunEnd.DIED),
        ((recorded("rspec"), recorded("rspec")[:900]), RunEnd.DIED),
        ((b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>',), RunEnd.DIED),
    ],
)
def test_reports_that_tell_nothing(reports: tuple[bytes, ...], ended: RunEnd) -> None:
    report = parsed(RSPEC, *reports, code=0)
    assert report.ended is ended
    assert len(report.errors) == (ended is RunEnd.DIED)


def test_time_and_signals_win() -> None:
    assert parsed(RSPEC, recorded("rspec"), timed_out=True, code=None).ended is RunEnd.TIMEOUT
    assert parsed(RSPEC, recorded("rspec"), code=None).ended is RunEnd.DIED


def test_a_test_told_twice_is_an_error() -> None:
    case = '<testcase classname="c" name="n" file="a.rb"/>'
    [result] = parsed(RSPEC, wrapped(case, 1), wrapped(case, 1), code=0).results
    assert result.failure
    assert (result.status, result.failure.kind) == (Status.ERROR, "ReportedTwice")


def test_a_failed_process_without_a_failed_test_contradicts() -> None:
    case = '<testcase classname="c" name="n" file="a.rb"/>'
    [failed] = parsed(RSPEC, wrapped(case, 1), code=1).results
    [passed] = parsed(RSPEC, wrapped(case, 1), code=0).results
    assert (failed.status, passed.status) == (Status.ERROR, Status.PASS)


@pytest.mark.parametrize(("announced", "kinds"), [(1, []), (2, ["Miscounted"]), (0, ["Miscounted"])])
def test_a_report_holds_what_it_announces(announced: int, kinds: list[str]) -> None:
    report = parsed(RSPEC, wrapped('<testcase classname="c" name="n" file="a.rb"/>', announced), code=0)
    assert [error.kind for error in report.errors] == kinds


def test_a_case_without_a_file_is_no_result() -> None:
    report = parsed(RSPEC, wrapped('<testcase classname="c" name="n"/>', 1), code=0)
    assert (report.results, [e.kind for e in report.errors]) == ((), ["UnmappedTest"])


def test_what_did_not_compile() -> None:
    said = b"[INFO] x\n[ERROR] /w/src/test/java/A.java:[5,3] cannot find symbol\n"
    report = parsed(SUREFIRE, output=said)
    assert report.ended is RunEnd.FINISHED
    assert [(e.path, e.message) for e in report.errors] == [
        ("src/test/java/A.java", "src/test/java/A.java:5: cannot find symbol")
    ]


def test_templates_are_filled() -> None:
    names = (f"{JAVA}::com.x.CalcTest::wrong", f"{JAVA}::com.x.CalcTest$Inner::inside")
    [java] = JUnitRunner(SUREFIRE).commands(asked(*names))
    assert "-Dtest=com.x.CalcTest#wrong,com.x.CalcTest$Inner#inside" in java.argv
    [ruby] = JUnitRunner(RSPEC).commands(
        asked("spec/a_spec.rb::spec.a_spec::A (b)", "spec/a_spec.rb::spec.a_spec::c")
    )
    assert ruby.argv[4:] == (
        "/reports/junit.xml",
        *("--example-matches=^A\\ \\(b\\)$", "--example-matches=^c$", "spec/a_spec.rb"),
    )
    [every] = JUnitRunner(PHPUNIT).commands(asked())
    assert every.argv == ("phpunit", "--log-junit", "/reports/junit.xml")


def test_others_of_a_tool_that_cannot_select(tmp_path: Path) -> None:
    text = "def test_a(): pass\ndef test_b(): assert 0\n"
    root = lay_out({"sub/test_it.py": text}, tmp_path / "tree")
    name = "sub/test_it.py::test_it::test_a"
    report = run_tool(JUnitRunner(PYTEST), root, (name,), reports=tmp_path / "r", stack_root="sub")
    assert [(r.id, r.status) for r in report.results] == [(name, Status.PASS)]
    assert report.others == ("sub/test_it.py::test_it::test_b",)


def test_an_old_report_among_the_tools_own_is_not_read(tmp_path: Path) -> None:
    """By a tool that insists on a folder as Maven does; Maven itself is called in tests/execution/tools."""
    old = wrapped('<testcase classname="com.x.CalcTest" name="wrong"/>', 1)
    new = wrapped('<testcase classname="com.x.CalcTest" name="wrong"><failure/></testcase>', 1)
    root = lay_out(
        {"target/surefire-reports/TEST-old.xml": old.decode(), "new.xml": new.decode()}, tmp_path / "w"
    )
    tool = replace(SUREFIRE, command=("sh", "-c", "cp new.xml target/surefire-reports/TEST-new.xml; exit 1"))
    name = f"{JAVA}::com.x.CalcTest::wrong"
    report = run_tool(JUnitRunner(tool), root, (name,), reports=tmp_path / "reports")
    assert [(r.id, r.status) for r in report.results] == [(name, Status.FAIL)]
    assert report.ended is RunEnd.FINISHED
