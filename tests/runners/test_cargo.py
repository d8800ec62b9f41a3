"""`cargo test`, from recorded output and with the real tool."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from runners.outlines import outline, pages
from support.pages import lay_out, project_files
from support.recordings import asked, replayed
from support.tools import run_tool, why_not
from verdigris.core.report import Place, RunEnd, Status, TestReport
from verdigris.runners.cargo import CargoRunner
from verdigris.runners.cargo.libtest_output import doc_ids

RUNNER = CargoRunner(python=sys.executable)
WHY_NOT = why_not("cargo", "--version")
live = [pytest.mark.slow, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]


def read(case: str, *names: str) -> TestReport:
    return RUNNER.report(asked(*names), replayed("cargo", case))


@pytest.mark.parametrize("case", pages("cargo"))
def test_a_recorded_run_is_read(case: str) -> None:
    """Every way to fail and to forge, tests that were cut short, and what does not build."""
    assert outline(read(case)) == pages("cargo")[case]


def test_cargo_that_does_not_start() -> None:
    report = read("no_manifest")
    assert (report.ended, report.results) == (RunEnd.NO_START, ())
    assert "could not find `Cargo.toml`" in report.tail


def changed(old: str, new: str) -> TestReport:
    """The recorded run of all, with one thing said otherwise."""
    tests, docs = replayed("cargo", "all")
    reports = {name: text.replace(old.encode(), new.encode()) for name, text in tests.reports.items()}
    assert reports != tests.reports
    return RUNNER.report(asked(), (replace(tests, reports=reports), docs))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"passed": 4, "failed": 6', '"passed": 5, "failed": 5'),
        ('"event": "started", "test_count": 11', '"event": "started", "test_count": 12'),
        ('"event": "failed", "passed": 4', '"event": "ok", "passed": 4'),
        ('"event": "failed", "exec_time": 0.0', '"event": "ok", "exec_time": 0.0'),
    ],
)
def test_nothing_passes_where_report_and_end_contradict(old: str, new: str) -> None:
    result = changed(old, new).result("src/lib.rs::tests::adds")
    assert result
    assert result.failure
    assert (result.status, result.failure.kind) == (Status.ERROR, "Contradiction")


def test_a_binary_that_ran_without_the_wrapper() -> None:
    tests, docs = replayed("cargo", "all")
    report = RUNNER.report(asked(), (replace(tests, reports={}, exit_code=0), docs))
    assert (report.ended, report.errors[0].kind) == (RunEnd.NO_START, "NoReport")


def test_a_run_out_of_time_keeps_what_was_told() -> None:
    [tests] = replayed("cargo", "exit")
    report = RUNNER.report(asked(), (replace(tests, timed_out=True, exit_code=None),))
    [result] = report.results
    assert report.ended is RunEnd.TIMEOUT
    assert result.failure
    assert result.failure.kind == "Timeout"


def test_a_doc_test_keeps_its_id_when_lines_are_added_above() -> None:
    names = ["src/lib.rs - add (line 6)", "src/lib.rs - add (line 10)", "src/lib.rs - (line 1) - compile"]
    moved = ["src/lib.rs - add (line 26)", "src/lib.rs - add (line 30)", "src/lib.rs - (line 1) - compile"]
    ids = ["src/lib.rs::add (doc 1)", "src/lib.rs::add (doc 2)", "src/lib.rs::(doc 1) - compile"]
    assert [list(map(doc_ids(told, "/w", "/w").get, told)) for told in (names, moved)] == [ids, ids]


def test_doc_tests_are_a_call_of_their_own() -> None:
    doc, unit = "src/lib.rs::add (doc 1)", "src/lib.rs::tests::adds"
    assert len(RUNNER.commands(asked())) == 2
    [only_doc] = RUNNER.commands(asked(doc))
    [only_unit] = RUNNER.commands(asked(unit))
    assert ("--doc" in only_doc.argv, "--tests" in only_unit.argv) == (True, True)
    assert [r.id for r in read("all", doc).results if "(doc" in r.id] == [doc]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(project_files("cargo"), tmp_path_factory.mktemp("cargo") / "with blank")


class TestLive:
    pytestmark = live

    def test_the_named_tests_alone_in_one_call(self, project: Path, tmp_path: Path) -> None:
        names = (
            "src/lib.rs::tests::adds",
            "src/a/b.rs::a::b::tests::größe",
            "src/type.rs::r#type::r#fn",
            "tests/it.rs::panics",
            "tests/common/mod.rs::common::shared",
        )
        report = run_tool(RUNNER, project, names, reports=tmp_path)
        assert {r.id: r.status.value for r in report.results} == dict.fromkeys(names, "pass") | {
            "tests/it.rs::panics": "fail"
        }
        assert report.ended is RunEnd.FINISHED
        assert {"src/lib.rs::tests::adds_more", "tests/it.rs::tests::adds"} <= set(report.others)

    def test_a_wrong_file_is_not_collected(self, project: Path, tmp_path: Path) -> None:
        report = run_tool(RUNNER, project, ("src/lib.rs::a::b::tests::größe",), reports=tmp_path)
        assert (report.results, report.collected) == ((), ())
        assert "src/a/b.rs::a::b::tests::größe" in report.others

    def test_doc_tests_of_one_id(self, project: Path, tmp_path: Path) -> None:
        report = run_tool(RUNNER, project, ("src/lib.rs::add (doc 1)",), reports=tmp_path)
        [result] = report.results
        assert (result.id, result.status, result.line) == ("src/lib.rs::add (doc 1)", Status.FAIL, 6)

    def test_collection_runs_nothing(self, project: Path, tmp_path: Path) -> None:
        report = run_tool(RUNNER, project, ("src", "tests/it.rs"), reports=tmp_path, collect_only=True)
        assert report.results == ()
        assert {"src/lib.rs::add (doc 1)", "src/a/b.rs::a::b::tests::größe", "tests/it.rs::panics"} <= set(
            report.collected
        )

    def test_forging_and_early_ends(self, project: Path, tmp_path: Path) -> None:
        names = ("tests/forges.rs", "tests/exits.rs", "tests/aborts.rs")
        report = run_tool(RUNNER, project, names, reports=tmp_path)
        assert report.ended is RunEnd.EARLY_EXIT
        assert {r.id: r.status for r in report.results if "a_passes" not in r.id} == dict.fromkeys(
            ("tests/aborts.rs::aborts", "tests/exits.rs::b_exits", "tests/forges.rs::forged"), Status.ERROR
        )

    def test_a_member_of_a_workspace_below_the_root(self, tmp_path: Path) -> None:
        member = {f"rust/crates/one/{name}": text for name, text in project_files("broken_cargo").items()}
        member["rust/crates/one/src/a.rs"] += "pub fn two() -> i32 { todo!() }\n"
        tree = {"rust/Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n', **member}
        root = lay_out(tree, tmp_path / "tree")
        report = run_tool(RUNNER, root, reports=tmp_path / "reports", stack_root="rust")
        [result] = report.results
        assert result.id == "rust/crates/one/tests/it.rs::x"
        assert result.failure
        assert result.failure.kind == "todo!"
        assert result.failure.frames == (
            Place("rust/crates/one/tests/it.rs", 2),
            Place("rust/crates/one/src/a.rs", 2),
        )

    def test_a_test_that_does_not_end_is_stopped_and_named_and_the_others_run(self, tmp_path: Path) -> None:
        root = lay_out(project_files("cargo_hangs"), tmp_path / "hangs")
        report = run_tool(RUNNER, root, reports=tmp_path / "reports", limit=1.0)
        assert report.ended is RunEnd.FINISHED
        told = {r.id.partition("::")[2]: r.failure.message if r.failure else r.status for r in report.results}
        assert told == {
            "spins": "stopped after 1 s, while it ran in src/lib.rs:2",
            "waits": "stopped after 1 s, while it ran in tests/it.rs:9",
            "main": "stopped after 1 s, while it ran in src/lib.rs:2",
            "quick": Status.PASS,
            "wrong": "assertion `left == right` failed\n  left: 1\n right: 2",
        }
