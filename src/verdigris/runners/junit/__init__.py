"""Any tool that writes JUnit XML and that `tdd.yaml` describes; presets for some tools, and the facts."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Literal

from verdigris.core.report import CollectError, RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.value import value
from verdigris.runners.junit.document import (
    JunitCase,
    JUnitDocument,
    UnreadableReport,
    junit_failure,
    read_junit,
)
from verdigris.runners.protocol import (
    CONTRADICTION,
    OUTPUT,
    TWICE,
    RunnerAnswer,
    RunnerCall,
    RunnerKind,
    TestRequest,
    is_asked,
    relative,
    tail,
    untrusted_result,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from verdigris.languages.folders import Folder, FoundStacks


_CARRY = """\
folder=$1 count=$2; shift 2; IFS= n=0
while [ $n -lt "$count" ]; do
  rm -f -- $1
  eval "glob_$n=\\$1"; shift; n=$((n + 1))
done
"$@"; code=$? n=0 file=0
while [ $n -lt "$count" ]; do
  eval "glob=\\$glob_$n"; n=$((n + 1))
  for report in $glob; do
    if [ -f "$report" ]; then cp -- "$report" "$folder/$file.xml"; file=$((file + 1)); fi
  done
done
exit $code
"""
"""A shell script that runs the tool and copies its reports into our folder.

It removes old reports first, so that the report of an earlier run is never read.
"""


@value
class JUnitTool:
    """One tool, described by templates.

    In `command`, an argument that is `{ids}`, `{paths}` or `{names}` becomes one argument for each test.
    Within an argument they are joined by `join`. `{report}` is the empty folder for the reports of this run.
    """

    command: tuple[str, ...]
    everything: tuple[str, ...] = ()
    """The command for all tests; empty: `command` without the arguments that name tests."""
    item: str = "{id}"
    """One test in `{ids}`, made of `{id}`, `{path}`, `{classname}`, its last part `{class}`, and `{name}`."""
    join: str = ","
    escape: bool = False
    """Whether the parts of `item` are escaped as in a regular expression."""
    reports: tuple[str, ...] = ()
    """Globs of the reports, from the stack's root; empty: the tool writes them to `{report}`."""
    pattern: str = r"(?P<class>[^$]+)(?:\$.*)?"
    """A regex for the class name of a case that names no file."""
    path: str = ""
    """The file of such a case: `{class}` or another group of `pattern`, with `/` for its dots."""
    source: str = ""
    """The path of any other class of the project, made of `{package}` and `{file}`."""
    build_error: str = ""
    """A regex for a compiler's error, if there is no report; its groups are `path`, `line` and `message`."""
    errors: Literal["call", "setup"] = "call"
    """What `<error>` means: an exception in the test (Surefire, PHPUnit) or before and after it (pytest)."""


@value
class JUnitRunner:
    tool: JUnitTool

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        argv = (*self._fill_command(request), *request.extra)
        executed = argv
        if self.tool.reports:
            folder = request.report_folder
            globs = self.tool.reports
            executed = ("sh", "-c", _CARRY, "sh", folder, str(len(globs)), *globs, *argv)
        return (RunnerCall(argv=executed, cwd=request.folder, command=shlex.join(argv)),)

    def _fill_command(self, request: TestRequest) -> Iterator[str]:
        tool = self.tool
        template = tool.command if request.names else tool.everything or _words_without_names(tool.command)
        parts = [_parts(name) for name in request.names]
        escape = re.escape if tool.escape else str
        values = {
            "ids": [tool.item.format(**{k: escape(v) for k, v in _fields(*p).items()}) for p in parts],
            "paths": list(dict.fromkeys(request.in_stack(path) for path, _, _ in parts)),
            "names": [name for _, _, name in parts],
        }
        for argument in template:
            if argument in {"{ids}", "{paths}", "{names}"}:
                yield from values[argument[1:-1]]
            else:
                for key, items in values.items():
                    argument = argument.replace(f"{{{key}}}", tool.join.join(items))  # noqa: PLW2901 - filled in
                yield argument.replace("{report}", request.report_folder)

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        [answer] = answers
        documents, unreadable = _documents(answer)
        cases = [case for document in documents for case in document.cases]
        ids = [self._id(case, request) for case in cases]
        counts = Counter(ids)
        results, others, errors = [], [], list(unreadable)
        for case, test_id in zip(cases, ids, strict=True):
            if test_id is None:
                message = (
                    f"no file is known for {case.attributes.get('classname')!r}: set `path` for this tool"
                )
                errors.append(CollectError("", "UnmappedTest", message))
            elif not is_asked(test_id, _parts(test_id)[0], request.names):
                others.append(test_id)
            elif counts[test_id] > 1:
                results.append(untrusted_result(test_id, TWICE))
            else:
                results.append(self._result(case, test_id, request.worktree))
        errors += [*_find_miscounts(documents), *self._unbuilt(answer, request)]
        if (
            answer.exit_code
            and not any(r.status in {Status.FAIL, Status.ERROR} for r in results)
            and not others
        ):
            results = [
                untrusted_result(r.id, CONTRADICTION) if r.status is Status.PASS else r for r in results
            ]
        results = list({result.id: result for result in results}.values())
        return TestReport(
            command=answer.call.command,
            ended=_end_of(answer, started=bool(documents or errors), unreadable=bool(unreadable)),
            exit_code=answer.exit_code,
            duration_ms=answer.duration_ms,
            results=tuple(results),
            collected=tuple(result.id for result in results),
            others=tuple(others),
            errors=tuple(dict.fromkeys(errors)),
            tail=tail(answers),
        )

    def _unbuilt(self, answer: RunnerAnswer, request: TestRequest) -> Iterator[CollectError]:
        if answer.reports or not self.tool.build_error:
            return
        text = answer.output.decode("utf-8", "replace")
        for match in re.finditer(self.tool.build_error, text, re.MULTILINE):
            path = relative(match["path"], request.worktree, request.stack_root)
            yield CollectError(path, "build", f"{path}:{match['line']}: {match['message']}")

    def _id(self, case: JunitCase, request: TestRequest) -> str | None:
        classname, name = case.attributes.get("classname", ""), case.attributes.get("name", "")
        file = case.attributes.get("file", "")
        if not file:
            matched = re.fullmatch(self.tool.pattern, classname)
            if not (matched and self.tool.path):
                return None
            groups = {key: (text or "").replace(".", "/") for key, text in matched.groupdict().items()}
            file = self.tool.path.format(**groups)
        path = relative(file, request.worktree, request.stack_root)
        return f"{path}::{classname}::{name}" if classname or "::" in name else f"{path}::{name}"

    def _result(self, case: JunitCase, test_id: str, worktree: str) -> TestResult:
        path, classname, _ = _parts(test_id)
        bad = next((o for o in case.outcomes if o.tag in {"failure", "error"}), None)
        skipped = next((o for o in case.outcomes if o.tag == "skipped"), None)
        status, phase = Status.SKIP if skipped else Status.PASS, RunPhase.CALL
        if bad:
            outside = bad.tag == "error" and self.tool.errors == "setup"
            status, phase = (Status.ERROR, RunPhase.SETUP) if outside else (Status.FAIL, RunPhase.CALL)
        return TestResult(
            id=test_id,
            native_id=test_id,
            id_source="native",
            status=status,
            phase=phase,
            duration_ms=_milliseconds(case.attributes.get("time", "")),
            failure=junit_failure(bad, path, classname, worktree, self.tool.source) if bad else None,
            output=case.output[-OUTPUT:],
            line=int(case.attributes["line"]) if case.attributes.get("line", "").isdigit() else 0,
            note=skipped.message or skipped.text.strip() if skipped else "",
        )


def _documents(answer: RunnerAnswer) -> tuple[list[JUnitDocument], list[CollectError]]:
    documents, unreadable = [], []
    for name in sorted(answer.reports):
        try:
            documents.append(read_junit(answer.reports[name]))
        except UnreadableReport as why:
            unreadable.append(CollectError(name, "UnreadableReport", str(why)))
    return documents, unreadable


def _find_miscounts(documents: Sequence[JUnitDocument]) -> Iterator[CollectError]:
    """Reports whose number of tests is wrong. Some tools do not count skipped tests: that is no error."""
    for document in documents:
        held = len(document.cases)
        if document.declared not in {None, held, held - document.skipped}:
            message = f"a report announces {document.declared} tests and holds {held}"
            yield CollectError("", "Miscounted", message)


def _end_of(answer: RunnerAnswer, *, started: bool, unreadable: bool) -> RunEnd:
    if answer.timed_out:
        return RunEnd.TIMEOUT
    if answer.exit_code is None or unreadable:
        return RunEnd.DIED
    return RunEnd.FINISHED if started else RunEnd.NO_START


def _parts(test_id: str) -> tuple[str, str, str]:
    """The path, class name and name in an id; the last two are empty if it is a path."""
    path, _, rest = test_id.partition("::")
    classname, between, name = rest.partition("::")
    return (path, classname, name) if between else (path, "", rest)


def _fields(path: str, classname: str, name: str) -> dict[str, str]:
    whole = "::".join(part for part in (path, classname, name) if part)
    last = re.split(r"[.\\\\]", classname)[-1]
    return {"id": whole, "path": path, "classname": classname, "class": last, "name": name}


def _words_without_names(command: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in command if not re.search(r"\{(ids|paths|names)\}", word))


def _milliseconds(seconds: str) -> int:
    try:
        return round(float(seconds.replace(",", "")) * 1000)
    except ValueError:
        return 0


_JAVA_ERROR = (
    r"^(?:\[ERROR\] )?(?P<path>/.*\.(?:java|kt)):\[?(?P<line>\d+)(?:,\d+\]|:)(?: error:)? (?P<message>.*)$"
)

SUREFIRE = JUnitTool(
    command=("mvn", "-o", "-B", "-q", "test", "-Dtest={ids}", "-Dsurefire.failIfNoSpecifiedTests=false"),
    everything=("mvn", "-o", "-B", "-q", "test"),
    item="{classname}#{name}",
    reports=("target/surefire-reports/TEST-*.xml", "*/target/surefire-reports/TEST-*.xml"),
    path="src/test/java/{class}.java",
    source="src/main/java/{package}/{file}",
    build_error=_JAVA_ERROR,
)
PHPUNIT = JUnitTool(
    command=("phpunit", "--log-junit", "{report}/junit.xml", r"--filter=~(^|\\)({ids})$~"),
    item="{class}::{name}",
    join="|",
    escape=True,
)
RSPEC = JUnitTool(
    command=("rspec", "--format", "RspecJunitFormatter", "--out", "{report}/junit.xml", "{ids}", "{paths}"),
    item="--example-matches=^{name}$",
    escape=True,
)
PRESETS: Mapping[str, JUnitTool] = {"surefire": SUREFIRE, "phpunit": PHPUNIT, "rspec": RSPEC}


def _detect(root: Path, folders: Sequence[Folder]) -> FoundStacks:
    from verdigris.runners.junit.detection import find_stacks

    return find_stacks(root, folders)


KINDS = (
    RunnerKind(
        "junit",
        has_templates=True,
        downloads=(
            (
                r"in offline mode and the artifact|Cannot access \S+ .*in offline mode",
                "`mvn dependency:go-offline`",
            ),
        ),
        detect=_detect,
    ),
)
