"""Go: how `go test` is called, how its report is read, and the facts of the tool."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from verdigris.core.report import Failure, Place, RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.value import value
from verdigris.runners.go.events import (
    Events,
    GoPackage,
    GoTestOutput,
    build_errors,
    frames_of_test,
    go_failure,
    read_events,
)
from verdigris.runners.protocol import (
    CONTRADICTION,
    OUTPUT,
    TAIL,
    TWICE,
    Harness,
    RunnerAnswer,
    RunnerCall,
    RunnerKind,
    TestRequest,
    end_of_answer,
    is_asked,
    read_record,
    split_arguments,
    stopped_result,
    tail,
    unfinished_failure,
    untrusted_result,
)
from verdigris.runners.reporter.gotest_wrapper import MARK, SETTINGS, pattern

WRAPPER = Path(__file__).parents[1] / "reporter" / "gotest_wrapper.py"
_NOTHING_TO_RUN = "testing: warning: no tests to run"


@value
class GoRunner:
    go: str = "go"
    python: str = "python3"
    """The interpreter that runs our wrapper around each package's binary."""

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        """One call for all packages.

        The wrapper selects the tests of each: `-run` would be the same for all.
        """
        wrapped = " ".join(map(_quote, [self.python, "-I", "-S", str(WRAPPER)]))
        options, own = split_arguments(request.extra, "-args")
        packages = list(dict.fromkeys(_package(name, request) for name in request.names)) or ["./..."]
        after = [*own, *([MARK, *request.names] if request.names else [])]
        argv = (
            *(self.go, "test", "-json", "-fullpath", "-exec", wrapped, *options, "-count=1", *packages),
            *(["-args", *after] if after else []),
        )
        tests = dict.fromkeys(name.partition(".go::")[2] for name in request.names)
        run = [] if "" in tests or not tests else ["-run", pattern([*tests])]
        command = shlex.join(["go", "test", *options, *run, *packages, *(["-args", *own] if own else [])])
        cwd = request.folder
        env = {SETTINGS: json.dumps(request.for_wrapper()), "GOPROXY": "off"}
        return (RunnerCall(argv=argv, cwd=cwd, command=command, env=env),)

    def build_call(self, request: TestRequest) -> RunnerCall:
        """The call that compiles and vets all tests, and starts `true` instead of each binary."""
        options, _ = split_arguments(request.extra, "-args")
        return RunnerCall(
            argv=(self.go, "test", "-exec", "true", *options, "-count=1", "./..."),
            cwd=request.folder,
            command=shlex.join(["go", "test", "-exec", "true", *options, "./..."]),
            env={"GOPROXY": "off"},
        )

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        [answer] = answers
        events = read_events(answer.output)
        errors = build_errors(events, request.worktree, request.stack_root)
        records = {record["package"]: record for record in _records(answer.reports, ".go")}
        stops = {record["package"]: record for record in _records(answer.reports, ".stops")}
        parts = [
            _PackageRun(name, package, records.get(name), request, stops.get(name))
            for name, package in events.packages.items()
        ]
        built = any(package.end and not package.unbuilt for package in events.packages.values())
        started = bool(records) or built or any(error.path for error in errors)
        ended = end_of_answer(answer, started=started)
        if ended is RunEnd.FINISHED and not request.collect_only and not all(part.whole() for part in parts):
            ended = RunEnd.EARLY_EXIT
        results = [result for part in parts for result in part.results(ended)]
        listed = [_id(record, name) for record in records.values() for name in record["tests"]]
        selected = [i for i in listed if _is_asked(i, request.names)]
        run = [result.id for result in results]
        return TestReport(
            command=answer.call.command,
            ended=ended,
            exit_code=answer.exit_code,
            duration_ms=answer.duration_ms,
            results=tuple(results),
            collected=tuple(dict.fromkeys(run if ended is RunEnd.FINISHED and run else [*run, *selected])),
            others=tuple(i for i in listed if i not in selected and i not in run),
            errors=errors,
            tail=_printed_output(events) or tail(answers),
        )


class _PackageRun:
    """The results of one package."""

    def __init__(
        self,
        name: str,
        package: GoPackage,
        record: Mapping[str, Any] | None,
        request: TestRequest,
        stops: Mapping[str, Any] | None = None,
    ) -> None:
        self.package = package
        self.stops: Sequence[Mapping[str, Any]] = stops["stops"] if stops else ()
        self.failed = bool(stops["code"]) if stops else package.end == "fail"
        self.record = record or {"folder": name, "tests": {}, "chosen": None}
        self.request = request

    def whole(self) -> bool:
        """Whether the report is complete: each test that began has ended, and a package that died, or ran
        nothing, had no more to run.
        """
        package = self.package
        if package.unbuilt or package.end == "skip":
            return True
        if not package.end or not all(
            output.is_confirmed(name) or self._stop_of(name) for name, output in package.tests.items()
        ):
            return False
        chosen = self.record["chosen"]
        named = self.record["tests"] if chosen is None else chosen
        due = {name.partition("/")[0] for name in named}
        if not package.tests:
            return not due or _NOTHING_TO_RUN in package.output or chosen == []
        return not _has_died(package) or due <= package.tests.keys()

    def results(self, ended: RunEnd) -> Iterator[TestResult]:
        failed = any("fail" in output.ends for output in self.package.tests.values())
        unexplained = self.failed and not failed
        for name, output in self.package.tests.items():
            test_id = _id(self.record, name)
            if not _is_asked(test_id, self.request.names):
                continue
            void = sum(name in stop["void"] for stop in self.stops)
            if stop := self._stop_of(name):
                frames = self._frames_of_stop(stop)
                yield stopped_result(test_id, stop["seconds"], frames, output=output.output[-OUTPUT:])
            elif output.starts > 1 + void or len(output.ends) > 1 + void or not output.starts:
                yield untrusted_result(test_id, TWICE)
            elif not output.is_confirmed(name):
                failure = go_failure(name, self.package.tests, self.request.worktree, self.record["folder"])
                is_certain = failure.kind in {"panic", "fatal error", "Timeout"}
                reported = failure if is_certain else unfinished_failure(ended)
                yield untrusted_result(test_id, reported, output=output.output[-OUTPUT:])
            elif unexplained and output.ends[-1:] == ["pass"]:
                yield untrusted_result(test_id, CONTRADICTION, output=output.output[-OUTPUT:])
            else:
                yield self._result(test_id, name, output)

    def _stop_of(self, name: str) -> Mapping[str, Any] | None:
        """The stop of this test or of one of its subtests: a subtest that is stopped stops its test."""
        return next((stop for stop in self.stops if f"{stop['test']}/".startswith(f"{name}/")), None)

    def _frames_of_stop(self, stop: Mapping[str, Any]) -> tuple[Place, ...]:
        return frames_of_test(stop["stack"], stop["test"], self.request.worktree, self.record["folder"])

    def _result(self, test_id: str, name: str, told: GoTestOutput) -> TestResult:
        status = {"pass": Status.PASS, "skip": Status.SKIP}.get(told.ends[-1], Status.FAIL)
        failure: Failure | None = None
        if status is Status.FAIL:
            failure = go_failure(name, self.package.tests, self.request.worktree, self.record["folder"])
        line = 0 if "/" in name else self.record["tests"].get(name, ("", 0))[1]
        return TestResult(
            id=test_id,
            native_id=test_id,
            id_source="native",
            status=status,
            phase=RunPhase.CALL,
            duration_ms=round(told.seconds * 1000),
            failure=failure,
            output=told.output[-OUTPUT:],
            line=line,
            note=_reason(told.output) if status is Status.SKIP else "",
        )


def _has_died(package: GoPackage) -> bool:
    """Whether the binary died: then it has not printed its closing line."""
    return package.end == "fail" and "FAIL\n" not in package.said


def _reason(output: str) -> str:
    logged = re.findall(r"^ +\S.*\.go:\d+: (.*)$", output, re.MULTILINE)
    return logged[-1] if logged else ""


def _id(record: Mapping[str, Any], name: str) -> str:
    """The id of a test: by its file if the wrapper found that in the source, else by the package's folder."""
    file, _ = record["tests"].get(name.partition("/")[0], (record["folder"], 0))
    return f"{file}::{name}"


def _is_asked(test_id: str, names: tuple[str, ...]) -> bool:
    """Whether a test is among the names; the name of a test includes its subtests."""
    path = test_id.partition("::")[0]
    return is_asked(test_id, path, names) or any(
        ".go::" in name and test_id.startswith(name + "/") for name in names
    )


def _records(reports: Mapping[str, bytes], ending: str) -> Iterator[Mapping[str, Any]]:
    for name in sorted(reports):
        if name.endswith(ending) and (record := read_record(reports[name])):
            yield record


def _printed_output(events: Events) -> str:
    texts = [text for lines in events.builds.values() for text in lines]
    texts += [
        package.output + "".join(t.output for t in package.tests.values())
        for package in events.packages.values()
    ]
    return "".join([*texts, *(line + "\n" for line in events.plain)])[-TAIL:]


def _package(name: str, request: TestRequest) -> str:
    path, test, _ = name.partition(".go::")
    within = request.in_stack(path)
    if test or name.endswith(".go"):
        return f"./{posixpath.dirname(within)}"
    return "./..." if within == "." else f"./{within}/..."


def _quote(argument: str) -> str:
    """Quotes an argument for go, which knows quotes but no escapes."""
    if not re.search(r"[\s'\"]", argument):
        return argument
    return f'"{argument}"' if "'" in argument else f"'{argument}'"


_FAILED = r"^ *--- FAIL: (\S+)"
_UNBUILT = r"^FAIL\t(\S+) \[(build failed|setup failed)\]"


def read_log(text: str) -> Iterator[tuple[str, str]]:
    """The innermost tests that failed: a test that fails only because a part of it does says nothing more."""
    names = {match[1] for match in re.finditer(_FAILED, text, re.MULTILINE)}
    for name in names:
        if not any(other.startswith(f"{name}/") for other in names):
            yield name, "panic" if f"panic: test {name}" in text else ""
    yield from ((match[1], match[2]) for match in re.finditer(_UNBUILT, text, re.MULTILINE))


def _harness_command(files: Collection[str]) -> str:
    packages = {"./" + file.rpartition("/")[0] for file in files}
    return f"go test -v {shlex.join(sorted(packages))}"


KINDS = (
    RunnerKind(
        "go",
        oldest_program=(1, 21),
        version_word="version",
        read_log=read_log,
        downloads=((r"module lookup disabled by GOPROXY=off|disabled by GOPROXY", "`go mod download`"),),
        harness=Harness(
            "parse_log_gotest",
            lambda native: native.partition("::")[2],
            _harness_command,
            "golang:1",
            ("go mod download",),
        ),
    ),
)
