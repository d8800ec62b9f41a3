"""What the core makes of every recorded way to fail, tool by tool: a right red, or why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runners.test_junit import PYTEST
from runners.test_junit import parsed as junit_parsed
from runners.test_junit import recorded as junit_recorded
from support import node_recording
from support.pages import project_files
from support.recordings import asked, replayed
from verdigris.core.paths import Classes, PathClass, classify
from verdigris.core.settings import Settings, Stack
from verdigris.core.verdict.redness import WHY_NOT, judge_collect_error, judge_red
from verdigris.languages.conventions import compile_classes
from verdigris.languages.registry import usual
from verdigris.languages.rust.test_regions import is_test_line
from verdigris.runners.cargo import CargoRunner
from verdigris.runners.go import GoRunner
from verdigris.runners.junit import PHPUNIT, RSPEC, SUREFIRE, JUnitTool
from verdigris.runners.node import Jest, NodeTest, Vitest

if TYPE_CHECKING:
    from verdigris.core.report import Place, TestReport


def of(language: str, runner: str = "junit") -> Classes:
    return compile_classes(Settings(stacks=(Stack(language=language, runner=runner),)), {}, usual)


def judged(report: TestReport, classes: Classes, tests_in: dict[str, str] | None = None) -> dict[str, str]:
    """By test, and by path for what kept tests from running; each test has an assertion."""

    def at(place: Place) -> PathClass:
        text = (tests_in or {}).get(place.path, "")
        return PathClass.TEST if is_test_line(text.encode(), place.line) else classify(place.path, classes)

    reds = {
        result.native_id: judge_red(
            result,
            classify=lambda path: classify(path, classes),
            rule="behaviour",
            at=at,
        )
        for result in report.results
    }
    assert {*reds.values()} <= {"valid", *WHY_NOT}
    return {**reds, **{error.path: judge_collect_error(error) for error in report.errors}}


TODO = """\
/// STUB:TDD
pub fn two() -> i32 {
    todo!()
}

#[cfg(test)]
mod tests {
    #[test]
    fn inside() {
        assert_eq!(super::two(), 2);
    }
}
"""


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (
            "all",
            {
                "src/lib.rs::tests::wrong": "valid",
                "src/lib.rs::tests::told": "valid",
                "src/lib.rs::tests::calm": "valid",
                "src/lib.rs::tests::index": "valid",
                "src/lib.rs::tests::plain": "not-behaviour",
                "src/lib.rs::tests::result": "not-behaviour",
                "src/lib.rs::tests::later": "skipped",
                "src/lib.rs::tests::adds": "passing",
                "src/lib.rs::add (doc 3)": "build",
                "tests/it.rs::panics": "valid",
                "tests/it.rs::unwraps": "not-behaviour",
                "tests/aborts.rs::aborts": "crash",
                "tests/exits.rs::b_exits": "crash",
                "tests/forges.rs::forged": "report",
            },
        ),
        ("todo", {"src/lib.rs::tests::inside": "valid", "tests/it.rs::outside": "valid"}),
        ("broken", {"tests/it.rs": "build"}),
        ("build_source", {"src/lib.rs": "build"}),
        ("missing_import", {"tests/it.rs": "import"}),
        ("syntax", {"src/a.rs": "syntax"}),
        ("timeout", {"tests/it.rs::hangs": "timeout"}),
    ],
)
def test_cargo(case: str, expected: dict[str, str]) -> None:
    text = TODO if case == "todo" else project_files("cargo")["src/lib.rs"]
    reds = judged(
        CargoRunner().report(asked(), replayed("cargo", case)), of("rust", "cargo"), {"src/lib.rs": text}
    )
    assert {test: reds.get(test) for test in expected} == expected


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (
            "all",
            {
                "calc/calc_test.go::TestWrong": "valid",
                "calc/calc_test.go::TestFatal": "valid",
                "calc/calc_test.go::TestSilent": "valid",
                "calc/calc_test.go::TestSubs": "valid",
                "calc/calc_test.go::TestSubs/two_words": "valid",
                "calc/calc_test.go::ExampleAdd": "valid",
                "calc/calc_test.go::TestSkip": "skipped",
                "calc/calc_test.go::TestAdd": "passing",
                "boom/boom_test.go::TestBoom": "valid",
                "exits/e_test.go::TestExit": "crash",
                "forges/f_test.go::TestForged": "report",
                "leaks/l_test.go::TestFine": "report",
                "broken/b_test.go": "build",
            },
        ),
        ("panics", {"a/a_test.go::TestStub": "valid", "b/b_test.go::TestOwn": "not-behaviour"}),
        ("testify", {"t_test.go::TestEqual": "valid", "t_test.go::TestGoroutine": "crash"}),
        ("timeout", {"s_test.go::TestSlow": "timeout"}),
        ("build_source", {"a.go": "build"}),
        ("old_build_failure", {"broken/b_test.go": "build"}),
        ("syntax", {"a.go": "syntax"}),
        ("setup_failed", {"a/a_test.go": "import", "b/b_test.go": "syntax"}),
    ],
)
def test_go(case: str, expected: dict[str, str]) -> None:
    reds = judged(GoRunner().report(asked(), replayed("go", case)), of("go", "go"))
    assert {test: reds.get(test) for test in expected} == expected


IN_ALL = {
    "sums › adds": "valid",
    "sums › adds more": "passing",
    "sums › skipped": "skipped",
    "sums › todo": "skipped",
    "thrown in source": "valid",
    "thrown in source async": "valid",
    "json": "valid",
    "missing export": "valid",
    "missing name": "missing-name",
    "assert.throws": "valid",
    "rejects": "valid",
    "times out": "timeout",
    "throws a string": "not-behaviour",
    "plain error in test": "not-behaviour",
    "dynamic import": "import",
    "bad setup › in bad setup": "fixture",
}
SNAPSHOTS = {
    "snap": "valid",
    "inline snap": "valid",
    "sums › xfail": "skipped",
    "sums › xpass": "xpass",
    "expect.assertions": "valid",
}
IN_VITEST = {
    **SNAPSHOTS,
    "unhandled": "unhandled",
    "empty": "not-collected",
    "bad teardown all › in bad teardown all": "teardown",
}


@pytest.mark.parametrize(
    ("runner", "like", "version", "more"),
    [
        (Vitest(), "vitest", "vitest-2", IN_VITEST),
        (Vitest(), "vitest", "vitest-5", IN_VITEST),
        (Jest(), "jest", "jest-29", {**SNAPSHOTS, "empty": "not-collected"}),
        (Jest(), "jest", "jest-30", {**SNAPSHOTS, "empty": "not-collected"}),
        (NodeTest(), "node", "node-20", {}),
        (NodeTest(), "node", "node-22", {"export": "import"}),
    ],
)
def test_node(runner: Vitest | Jest | NodeTest, like: str, version: str, more: dict[str, str]) -> None:
    end = {"vitest": ".test.ts", "jest": ".test.js", "node": ".test.mjs"}[like]
    reds = judged(runner.report(*node_recording.replayed(like, version)), of("node", like))
    files = {"import": "import", "syntax": "syntax", "throws": "collection"}
    for name, red in {**IN_ALL, **files, **more}.items():
        test = f"test/calc{end}::{name}"
        assert reds.get(test if test in reds else f"test/{name}{end}") == red, name


@pytest.mark.parametrize("version", ["node-20", "node-22"])
def test_what_node_could_not_load_is_told_in_the_first_line(version: str) -> None:
    errors = NodeTest().report(*node_recording.replayed("node", version)).errors
    first = {error.path: error.message.split("\n")[0] for error in errors}
    assert first["test/import.test.mjs"].startswith("Error [ERR_MODULE_NOT_FOUND]: Cannot find module")
    assert first["test/syntax.test.mjs"].startswith("SyntaxError: ")
    assert first["test/throws.test.mjs"] == "Error: at top"


@pytest.mark.parametrize(
    ("tool", "name", "language", "expected"),
    [
        (
            SUREFIRE,
            "surefire",
            "java",
            {
                "com.x.CalcTest::wrong": "valid",
                "com.x.CalcTest::byZero": "valid",
                "com.x.CalcTest::off": "skipped",
            },
        ),
        (
            PHPUNIT,
            "phpunit",
            "php",
            {
                "CalcTest::testWrong": "valid",
                "CalcTest::testThrows": "not-behaviour",
                "CalcTest::testLater": "skipped",
            },
        ),
        (
            RSPEC,
            "rspec",
            "ruby",
            {
                "spec.calc_spec::Calc is wrong": "valid",
                "spec.calc_spec::Calc divides": "valid",
                "spec.calc_spec::Calc later": "skipped",
            },
        ),
        (
            PYTEST,
            "pytest",
            "python",
            {
                "test_a::test_wrong": "valid",
                "test_a::test_div": "not-behaviour",
                "test_a::test_setup": "fixture",
            },
        ),
    ],
)
def test_junit(tool: JUnitTool, name: str, language: str, expected: dict[str, str]) -> None:
    reds = judged(junit_parsed(tool, junit_recorded(name)), of(language))
    assert expected.items() <= {test.partition("::")[2]: red for test, red in reds.items()}.items()


def test_what_maven_could_not_compile() -> None:
    output = b"[ERROR] /w/src/test/java/ATest.java:[3,9] cannot find symbol\n"
    assert judged(junit_parsed(SUREFIRE, output=output), of("java")) == {"src/test/java/ATest.java": "build"}


@pytest.mark.parametrize("reason", sorted(WHY_NOT))
def test_no_reason_speaks_of_one_tool(reason: str) -> None:
    text = " ".join(WHY_NOT[reason]).lower()
    assert not any(word in text for word in ("pytest", "xfail", "setup", "`test_", ".py", "cargo", "vitest"))
