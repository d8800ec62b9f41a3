"""`go test -json`, from recorded output and with the real tool."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runners.outlines import outline, pages
from support.pages import lay_out, project_files
from support.recordings import asked, replayed
from support.tool_worlds import lend_go_cache
from support.tools import run_tool, why_not
from verdigris.core.report import Place, RunEnd, Status, TestReport
from verdigris.execution.tools.go import CACHE
from verdigris.runners.go import GoRunner

RUNNER = GoRunner(python=sys.executable)
WHY_NOT = why_not("go", "version")


def read(case: str, *names: str) -> TestReport:
    return RUNNER.report(asked(*names), replayed("go", case))


@pytest.mark.parametrize("case", pages("go"))
def test_a_recorded_run_is_read(case: str) -> None:
    """Every way to fail and to forge, tests that were cut short, and what does not build."""
    assert outline(read(case)) == pages("go")[case]


def test_a_package_that_died_with_more_to_run_is_not_finished() -> None:
    [answer] = replayed("go", "all")
    boom = [line for line in answer.output.split(b"\n") if b"example.com/demo/boom" in line]
    report = RUNNER.report(asked(), (replace(answer, output=b"\n".join(boom)),))
    assert report.ended is RunEnd.EARLY_EXIT
    assert "boom/boom_test.go::TestAfter" in report.collected


@pytest.mark.parametrize(
    ("timed_out", "code", "ended"), [(True, None, RunEnd.TIMEOUT), (False, None, RunEnd.DIED)]
)
def test_a_run_that_was_killed(timed_out: bool, code: int | None, ended: RunEnd) -> None:
    [answer] = replayed("go", "all")
    cut = answer.output[: answer.output.index(b'"Action":"fail"')]
    report = RUNNER.report(asked(), (replace(answer, timed_out=timed_out, exit_code=code, output=cut),))
    assert report.ended is ended


def test_one_call_for_several_packages_and_binary_arguments() -> None:
    request = replace(asked("a/x_test.go::TestA/b", "c"), extra=("-short", "-args", "-v"))
    [called] = RUNNER.commands(request)
    own = ("-args", "-v", "--verdigris-select", "a/x_test.go::TestA/b", "c")
    assert called.argv[-7:] == ("./a", "./c/...", *own)
    assert called.command == "go test -short ./a ./c/... -args -v"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(project_files("go"), tmp_path_factory.mktemp("go") / "with blank")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Go's own packages, compiled already; and a compiler that collects no garbage, which is quicker."""
    folder = tmp_path_factory.mktemp("compiled") / "cache"
    lend_go_cache(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(CACHE, str(folder))
        patched.setenv("GOGC", "off")
        patched.setenv("GOMEMLIMIT", "1GiB")
        yield


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
@pytest.mark.usefixtures("compiled")
class TestLive:
    def test_the_named_tests_alone_in_one_call(self, project: Path, tmp_path: Path) -> None:
        subs = ["a/b", "x|y$(z)", "\"'", "ünï", "[1]", "a\\b", "#00", "plain"]
        names = (
            *(f"calc/calc_test.go::TestSubs/{name}" for name in subs),
            "calc/calc_test.go::TestOther/plain",
            "calc/more_test.go::TestAdd2",
            "boom/boom_test.go::TestAdd",
        )
        report = run_tool(RUNNER, project, names, reports=tmp_path)
        assert {result.id: result.status.value for result in report.results} == dict.fromkeys(names, "pass")
        assert report.ended is RunEnd.FINISHED
        assert "TestOther/[1]" not in report.tail

    def test_a_panic_alone_is_a_finished_failure(self, project: Path, tmp_path: Path) -> None:
        report = run_tool(RUNNER, project, ("boom/boom_test.go::TestBoom",), reports=tmp_path)
        [result] = report.results
        assert (report.ended, result.status) == (RunEnd.FINISHED, Status.FAIL)

    def test_a_file_and_what_does_not_build(self, project: Path, tmp_path: Path) -> None:
        report = run_tool(RUNNER, project, ("calc/more_test.go", "broken"), reports=tmp_path)
        assert [result.id for result in report.results] == ["calc/more_test.go::TestAdd2"]
        assert [error.path for error in report.errors] == ["broken/b_test.go"]

    def test_a_wrong_file_runs_nothing(self, project: Path, tmp_path: Path) -> None:
        report = run_tool(RUNNER, project, ("calc/more_test.go::TestAdd",), reports=tmp_path)
        assert (report.results, report.ended) == ((), RunEnd.FINISHED)
        assert "calc/calc_test.go::TestAdd" in report.others

    def test_collection_runs_nothing(self, project: Path, tmp_path: Path) -> None:
        report = run_tool(RUNNER, project, ("boom",), reports=tmp_path, collect_only=True)
        assert report.results == ()
        assert report.collected == tuple(f"boom/boom_test.go::Test{n}" for n in ("Add", "Boom", "After"))

    def test_an_example_without_expected_output_is_no_test(self, tmp_path: Path) -> None:
        (tmp_path / "reports").mkdir()
        (tmp_path / "go.mod").write_text("module example.com/m\n\ngo 1.20\n")
        (tmp_path / "m_test.go").write_text(
            'package m\n\nimport "fmt"\n\nfunc Example_idle() {\n\tfmt.Println(1)\n}\n\n'
            "func Example_asked() {\n\tfmt.Println(1)\n\t// Output: 1\n}\n"
        )
        report = run_tool(RUNNER, tmp_path, (), reports=tmp_path / "reports", collect_only=True)
        assert report.collected == ("m_test.go::Example_asked",)

    def test_exits_that_claim_success(self, project: Path, tmp_path: Path) -> None:
        early = run_tool(RUNNER, project, ("exits",), reports=tmp_path, env={"EARLY": "1"})
        late = run_tool(RUNNER, project, ("exits",), reports=tmp_path)
        assert (early.ended, early.results) == (RunEnd.EARLY_EXIT, ())
        assert (late.ended, late.results[0].status) == (RunEnd.EARLY_EXIT, Status.ERROR)

    def test_a_test_that_does_not_end_is_stopped_where_it_is_and_the_others_run(self, tmp_path: Path) -> None:
        lay_out(project_files("go_hangs"), tmp_path / "hangs")
        report = run_tool(RUNNER, tmp_path / "hangs", reports=tmp_path / "reports", limit=1.0)
        assert report.ended is RunEnd.FINISHED
        told = {r.id.partition("::")[2]: r.failure.message if r.failure else r.status for r in report.results}
        spins = "stopped after 1 s, while it ran in loops.go:"
        assert str(told.pop("TestSpins")).startswith(spins)
        assert str(told.pop("TestSpins/part")).startswith(spins)
        assert told == {
            "TestOwn": "stopped after 1 s, while it ran in loops_test.go:20",
            "TestWaits": "stopped after 1 s, while it ran in loops.go:12",
            "TestQuick": Status.PASS,
            "TestLast": Status.PASS,
            "TestLast/a": Status.PASS,
            "TestLast/b": Status.PASS,
        }

    def test_the_tools_own_limit_tells_the_place_too(self, tmp_path: Path) -> None:
        lay_out(project_files("go_hangs"), tmp_path / "hangs")
        names = ("loops_test.go::TestWaits",)
        report = run_tool(
            RUNNER, tmp_path / "hangs", names, reports=tmp_path / "reports", extra=("-timeout=1s",)
        )
        [result] = report.results
        assert result.failure is not None
        assert (result.failure.kind, result.failure.place) == ("Timeout", Place("loops.go", 12))

    def test_how_a_watched_binary_ends_is_told_as_without_a_watch(
        self, project: Path, tmp_path: Path
    ) -> None:
        watched = run_tool(RUNNER, project, ("calc", "boom", "exits"), reports=tmp_path, limit=50.0)
        alone = run_tool(RUNNER, project, ("calc", "boom", "exits"), reports=tmp_path)
        facts = [(r.id, r.status, r.failure and r.failure.kind) for r in watched.results]
        assert facts == [(r.id, r.status, r.failure and r.failure.kind) for r in alone.results]
        assert (watched.ended, watched.exit_code) == (alone.ended, alone.exit_code)
