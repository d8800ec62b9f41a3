"""What the core makes of every recorded way to fail, tool by tool: a right red, or why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runners.outlines import pages
from runners.test_junit import TOOLS
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
from verdigris.runners.junit import SUREFIRE
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


def read_cargo(case: str) -> dict[str, str]:
    text = TODO if case == "todo" else project_files("cargo")["src/lib.rs"]
    report = CargoRunner().report(asked(), replayed("cargo", case))
    return judged(report, of("rust", "cargo"), {"src/lib.rs": text})


def read_go(case: str) -> dict[str, str]:
    return judged(GoRunner().report(asked(), replayed("go", case)), of("go", "go"))


def read_junit(case: str) -> dict[str, str]:
    language = {"surefire": "java", "phpunit": "php", "rspec": "ruby", "pytest": "python"}[case]
    return judged(junit_parsed(TOOLS[case], junit_recorded(case)), of(language))


READERS = {"cargo": read_cargo, "go": read_go, "junit": read_junit}
NODE = {
    "vitest": (Vitest(), ("vitest-2", "vitest-5")),
    "jest": (Jest(), ("jest-29", "jest-30")),
    "node": (NodeTest(), ("node-20", "node-22")),
}


def lines(reds: dict[str, str]) -> list[str]:
    return [f"{test or 'no file'}: {red}" for test, red in sorted(reds.items())]


@pytest.mark.parametrize("recording", pages("reds"))
def test_each_recorded_failure_is_a_right_red_or_there_is_a_reason_why_not(recording: str) -> None:
    tool, _, case = recording.partition(" ")
    if tool == "node":
        runner, versions = NODE[case]
        found = [judged(runner.report(*node_recording.replayed(case, v)), of("node", case)) for v in versions]
    else:
        found = [READERS[tool](case)]
    for reds in found:
        assert lines(reds) == pages("reds")[recording].splitlines()


@pytest.mark.parametrize("version", ["node-20", "node-22"])
def test_what_node_could_not_load_is_told_in_the_first_line(version: str) -> None:
    errors = NodeTest().report(*node_recording.replayed("node", version)).errors
    first = {error.path: error.message.split("\n")[0] for error in errors}
    assert first["test/import.test.mjs"].startswith("Error [ERR_MODULE_NOT_FOUND]: Cannot find module")
    assert first["test/syntax.test.mjs"].startswith("SyntaxError: ")
    assert first["test/throws.test.mjs"] == "Error: at top"


def test_what_maven_could_not_compile() -> None:
    output = b"[ERROR] /w/src/test/java/ATest.java:[3,9] cannot find symbol\n"
    assert judged(junit_parsed(SUREFIRE, output=output), of("java")) == {"src/test/java/ATest.java": "build"}


@pytest.mark.parametrize("reason", sorted(WHY_NOT))
def test_no_reason_speaks_of_one_tool(reason: str) -> None:
    text = " ".join(WHY_NOT[reason]).lower()
    assert not any(word in text for word in ("pytest", "xfail", "setup", "`test_", ".py", "cargo", "vitest"))
