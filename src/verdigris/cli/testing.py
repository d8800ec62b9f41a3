"""Runs `tdd test` and renders its result, without click, which takes longer to load than Python to start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from verdigris.cli.context import OWED, here, live, pick, project, say, show, show_result
from verdigris.core.actions import Deny
from verdigris.core.errors import TimedOut
from verdigris.core.languages import STUB_MARK
from verdigris.core.report import CollectError, Failure, Place, RunEnd, Status, TestReport, TestResult
from verdigris.core.test_ids import shell_words, split_id
from verdigris.core.verdict import first_line, reasons_against_run
from verdigris.core.verdict.redness import (
    ASKS_EXISTENCE,
    BROKEN,
    VALID,
    judge_collect_error,
    way_out,
    why_not,
)
from verdigris.runners.registry import kind_of
from verdigris.storage.project import CONFIG, Project, text_of
from verdigris.views.lines import Dot, Line, block, count_of, make_visible

if TYPE_CHECKING:
    from verdigris.core.confinement.needs import Need
    from verdigris.core.events import TestRun
    from verdigris.core.suite_health import Hindrance
    from verdigris.languages.stubs import Stub
    from verdigris.turns.stub import Stubbed
    from verdigris.turns.test_record import Tested


JSON, QUIET, VERBOSE = ("--json",), ("--quiet", "-q"), ("--verbose", "-v")


def run_plain(words: Sequence[str]) -> int | None:
    """The exit code; None if there are options that only click reads."""
    names = [word for word in words if not word.startswith("-")]
    options = {word for word in words if word.startswith("-")}
    if not options.issubset((*JSON, *QUIET, *VERBOSE)):
        return None
    as_json, quiet, verbose = (not options.isdisjoint(spellings) for spellings in (JSON, QUIET, VERBOSE))
    return run(names, as_json=as_json, quiet=quiet, verbose=verbose)


def run(words: Sequence[str], *, as_json: bool, quiet: bool, verbose: bool) -> int:
    opened = project()
    if not (opened.root / CONFIG).exists():
        say(f"note: there is no {CONFIG} here; what was recorded of it is in force (`tdd status`)")
    tested, lines = _run_tests(opened, words, quiet=quiet, verbose=verbose)
    show_result(tested, lines, report_document, as_json=as_json)
    if tested.report is not None and tested.report.ended is RunEnd.TIMEOUT:
        return TimedOut.exit_code
    return 0 if tested.passed else 1


def _run_tests(
    opened: Project, words: Sequence[str], *, quiet: bool = False, verbose: bool = False
) -> tuple[Tested, Callable[[Tested], list[Line]]]:
    """The run, and how its lines are shown."""
    from verdigris.turns.test import run_tests

    with live() as progress:
        tested = run_tests(opened, words, cwd=here(), progress=progress, again=verbose)
    failed = sum(run.status in {Status.FAIL, Status.ERROR} for run in tested.tests)
    detailed = verbose or failed == 1
    return tested, partial(report_lines, quiet=quiet, detailed=detailed, source=partial(_source_line, opened))


def stub_and_run(word: str, *, as_json: bool) -> int:
    """Writes the stubs that a test needs, then runs it: its red is what they are for."""
    from verdigris.turns.stub import write_stubs

    opened = project()
    stubbed = write_stubs(opened, word, cwd=here())
    if isinstance(stubbed, Deny) or not stubbed.stubs:
        return show_result(stubbed, no_stub_lines, stub_document, as_json=as_json)
    document = partial(stub_document, stubbed)
    written = Line(f"wrote {count_of(len(stubbed.stubs), 'stub file')}", "yellow")
    return run_after(opened, [word], [written, *_texts(stubbed.stubs)], document, as_json=as_json)


def run_after(
    opened: Project,
    words: Sequence[str],
    done: Sequence[Line],
    document: Callable[[Tested], Mapping[str, Any]],
    *,
    as_json: bool,
) -> int:
    """Shows what a verb has done, and carries on with the run that comes next in any case."""
    if not as_json:
        show(done)
    tested, lines = _run_tests(opened, words)
    return show_result(tested, lines, document, as_json=as_json)


def _source_line(opened: Project, place: Place) -> str:
    text = text_of(opened, place.path) or ""
    return next(islice(text.splitlines(), place.line - 1, place.line), "")


def need_lines(needs: Sequence[Need]) -> list[Line]:
    from verdigris.core.confinement.needs import write_keys

    lines = []
    for need in needs:
        (setting,) = write_keys((need,))
        text = f"the run may lack something: a person may set `{setting}` in tdd.yaml ({need.why})"
        lines.append(Line(f"  {make_visible(text)}", "yellow"))
    return lines


def need_data(needs: Sequence[Need]) -> list[dict[str, Any]]:
    return [pick(need, "key", "value", "why") for need in needs]


def no_stub_lines(done: Stubbed) -> list[Line]:
    return [
        Line(
            f"no stub to write: all that {done.test} imports is declared, "
            "or its text does not say what is missing"
        ),
        Line(
            "  if the import of a module that exists fails, the test tool does not look in its folder: "
            "`tdd help troubleshooting`"
        ),
        Line(f"next: {done.next}"),
    ]


def _texts(stubs: Iterable[Stub]) -> list[Line]:
    lines: list[Line] = []
    for stub in stubs:
        lines.append(Line(f"  {stub.path}{' (new)' if stub.new else ''}:"))
        lines += [Line(f"    {line.expandtabs(4)}", code=True) for line in stub.text.splitlines()]
        lines += [Line(f"    the test does not say {note}") for note in stub.notes]
    return lines


def stub_data(stubs: Iterable[Stub]) -> list[dict[str, Any]]:
    return [pick(stub, "path", "text", "new", "notes") for stub in stubs]


def stub_document(done: Stubbed, tested: Tested | None = None) -> dict[str, Any]:
    """`tested`: the run after the stubs were written."""
    return {
        "test": done.test,
        "stubs": stub_data(done.stubs),
        "run": report_document(tested) if tested else None,
        "next": tested.next if tested else done.next,
    }


MOST_OUTPUT = 40
MOST_FILES = 5
MOST_FRAMES = 5
"""Shown from each end of a traceback."""
Source: TypeAlias = Callable[["Place"], str]
_KNOWN = "known failures, which were there before this change; only a claim that names one takes it:"
_DOTS: dict[Status, Dot] = {Status.PASS: "green", Status.SKIP: "yellow"}
_WORDS = {Status.PASS: "passed", Status.FAIL: "failed", Status.ERROR: "with errors", Status.SKIP: "skipped"}


def report_lines(
    tested: Tested, *, quiet: bool = False, detailed: bool = False, source: Source = lambda _: ""
) -> list[Line]:
    """`detailed`: with the traceback, the whole message and the output; `source` gives the text of a line."""
    results = {r.native_id: r for r in tested.report.results} if tested.report and detailed else {}
    lines: list[Line] = []
    if not quiet:
        known = [run for run in tested.tests if run.known]
        for run in sorted(tested.tests, key=lambda run: run.known):
            if known and run is known[0]:
                lines.append(Line(_KNOWN))
            lines += _test(run, results.get(run.native_id), source)
        lines += _unfinished_lines(tested.report, tested.hindrance) if tested.report else []
        lines += _about_the_run(tested.report) if tested.report else []
        lines += _uncollected_lines(tested.uncollected)
        lines += _stub_lines(tested)
        lines += need_lines(tested.needs)
        if pins := len(tested.characterized):
            pinned = f"{count_of(pins, 'characterization test')}, passing at once on source as it was"
            lines.append(Line(f"  recorded: {pinned}"))
        lines += [Line(f"  paid: `{debt.what}` in {debt.path}", "green") for debt in tested.paid]
        if (ended := tested.given_up) is not None:
            lines.append(Line("the turn ended: no claimed test is red on the new baseline"))
            kept = f"its edits are set aside as {ended.aside}; `tdd restore {ended.aside}` brings them back"
            lines += [Line(f"  {kept} after a claim")] if ended.paths else []
    return [*lines, Line(_summary(tested)), *([] if quiet else [Line(f"next: {tested.next}")])]


def _stub_lines(tested: Tested) -> Iterator[Line]:
    """The stubs over which tests ran, and those that somebody has to write before a test can run."""
    over = {split_id(run.native_id).path for run in tested.tests if run.over}
    for test, needed in tested.stubs.items():
        if test in over:
            yield Line(f"{test} ran over stubs of what source lacks; they are in no file:")
        else:
            yield Line(f"{test} needs declarations: `tdd stub {shell_words(test)}` writes these stubs")
        yield from _texts(needed)
    for native in tested.existing:
        yield Line(f"  {native} {ASKS_EXISTENCE}", "yellow")


def _uncollected_lines(files: Mapping[str, tuple[str, ...]]) -> list[Line]:
    lines: list[Line] = []
    for runner, paths in files.items():
        more = f" and {len(paths) - MOST_FILES} more" if len(paths) > MOST_FILES else ""
        names = ", ".join(paths[:MOST_FILES])
        lines.append(Line(f"  {runner} collects no test of {names}{more}: {kind_of(runner).takes}", "yellow"))
    return lines


def _test(run: TestRun, result: TestResult | None, source: Source) -> list[Line]:
    if run.status is Status.PASS:
        return []
    worth = "" if run.red is None else "  broken by this edit" if run.red == BROKEN else f"  red: {run.red}"
    head = Line(f"{run.status} {run.test_id}{worth}", _DOTS.get(run.status, "red"))
    place = f" ({run.place})" if run.place else ""
    detail = [Line(f"    {run.failure}{place}")] if run.failure else []
    if result is not None and result.failure is not None:
        detail = _traceback(result.failure, source)
        if result.output.strip() and STUB_MARK not in result.failure.message:
            detail += [Line("    output:"), *block(result.output, most=MOST_OUTPUT)]
    if run.red is None or run.red == VALID:
        return [head, *detail]
    if run.red == BROKEN:
        return [head, *detail, Line("    it passed before: this edit broke it")]
    reason, following = why_not(run.red)[0], way_out(run.red, split_id(run.native_id).path)
    return [head, *detail, Line(f"    no valid red: {reason}"), Line(f"    next: {following}")]


def _traceback(failure: Failure, source: Source) -> list[Line]:
    """The frames inside the project, each with its line, then the message as the framework wrote it."""
    own = [place for place in failure.frames if not place.path.startswith("/")]
    lines: list[Line] = []
    for place in own[:MOST_FRAMES] + own[max(MOST_FRAMES, len(own) - MOST_FRAMES) :]:
        lines.append(Line(f"    {place.path}:{place.line}"))
        if text := source(place).strip():
            lines.append(Line(f"      > {text}"))
    first, *rest = failure.message.splitlines() or [""]
    lines.append(Line(f"    {failure.kind}: {first}" if first else f"    {failure.kind}"))
    # What follows a stub's own words is the backtrace of its panic.
    more = [] if STUB_MARK in first else rest[:MOST_OUTPUT]
    return lines + [Line(f"      {line.expandtabs()}") for line in more]


def _unfinished_lines(report: TestReport, hindrance: Hindrance | None) -> list[Line]:
    """Files that did not load, and the output of a runner that did not finish."""
    lines: list[Line] = []
    cure = hindrance.cure if hindrance else ""
    cured = frozenset(hindrance.files if hindrance and cure else ())
    for error in report.errors:
        lines += _not_loaded(error, advised=error.path not in cured and not (cure and not error.path))
    if hindrance and cure:
        lines.append(Line(f"  {hindrance.what}{'' if hindrance.blocks else f': {cure}'}", "yellow"))
    if report.ended is RunEnd.FINISHED:
        return lines
    for result in report.results:
        if result.status is Status.ERROR and result.output:
            lines += [Line(f"output of {result.id}:"), *block(result.output, most=MOST_OUTPUT)]
    if report.tail.strip():
        lines += [Line("the runner's last lines:"), *block(report.tail, most=MOST_OUTPUT)]
    return lines


def _about_the_run(report: TestReport) -> list[Line]:
    written = [
        Line(f"  the run wrote {path}, which the worktree did not get", "yellow") for path in report.wrote
    ]
    return [*written, *(Line(f"  {note}", "yellow") for note in report.notes), *unconfined_lines(report)]


def unconfined_lines(report: TestReport | None) -> list[Line]:
    if report is None or report.sandbox != "none":
        return []
    return [Line("  sandbox: none; what the run wrote took effect (`tdd doctor`)", "yellow")]


def _not_loaded(error: CollectError, *, advised: bool) -> list[Line]:
    code = judge_collect_error(error)
    reason, following = why_not(code)[0], way_out(code, error.path)
    told = [
        Line(f"error {error.path}  red: {code}", "red"),
        Line(f"    {error.kind}: {first_line(error.message)}"),
    ]
    advice = [Line(f"    no valid red: {reason}"), Line(f"    next: {following}")]
    return [*told, *advice] if advised else told


def _summary(tested: Tested) -> str:
    counts = Counter(run.status for run in tested.tests)
    parts = [f"{counts[status]} {word}" for status, word in _WORDS.items() if counts[status]]
    if tested.report and tested.report.errors:
        parts.append(f"{count_of(len(tested.report.errors), 'file')} not collected")
    text = ", ".join(parts) or "no test was run"
    if tested.report is None:
        text += " (cached; `tdd test -v` runs it again)"
    else:
        text += f" in {tested.report.duration_ms / 1000:.2f} s"
        text += "".join(f"; {doubt}" for doubt in reasons_against_run(tested.report))
    return f"{text}{'; the turn goes on' if tested.resumed else ''}; phase {tested.phase}"


def report_document(tested: Tested) -> dict[str, Any]:
    report = tested.report
    names = ("status", "red", "native_id", "failure", "place", "known", "over", "duration_ms")
    runs = [
        {
            "id": run.test_id,
            "id_source": run.test_id_source,
            **pick(run, *names),
            "cached": report is None,
        }
        for run in tested.tests
    ]
    return {
        "tests": [*runs, *(_error_as_data(error) for error in (report.errors if report else ()))],
        "command": report.command if report else tested.tests[0].command,
        "ended": report.ended.value if report else None,
        "sandbox": report.sandbox if report else None,
        "wrote": list(report.wrote) if report else [],
        "needs": need_data(tested.needs),
        "hindrance": tested.hindrance and pick(tested.hindrance, "what", "cure", "files"),
        "stubs": [one for stubs in tested.stubs.values() for one in stub_data(stubs)],
        **pick(tested, "uncollected", "phase", "next", "resumed", "characterized", "existing"),
        "paid": [pick(debt, *OWED) for debt in tested.paid],
    }


def _error_as_data(error: CollectError) -> dict[str, Any]:
    """A file that did not load stands for its tests, whose names are unknown."""
    return {
        "id": error.path,
        "status": Status.ERROR.value,
        "red": judge_collect_error(error),
        "native_id": error.path,
        "id_source": "native",
        "failure": f"{error.kind}: {first_line(error.message)}",
        "place": "",
        "known": False,
        "over": [],
        "duration_ms": 0,
        "cached": False,
    }
