"""`tdd audit`: classifies each change of a range, shows the report, and gives the exit code."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from verdigris.cli.context import say, shard_option, show, start
from verdigris.core.errors import StorageError, UserError
from verdigris.core.value import value
from verdigris.drivers.audit.report import (
    BLAMELESS,
    SOUND,
    AuditOutcome,
    read_report,
    render_report,
    units_with,
)
from verdigris.views.audit.formats import FORMATS, render
from verdigris.views.lines import count_of

if TYPE_CHECKING:
    from verdigris.drivers.audit.report import AuditReport, UnitReport


F = TypeVar("F", bound="Callable[..., Any]")
_FILE = click.Path(dir_okay=False, path_type=Path)
_WRITABLE = "name a file in a folder that exists and can be written"
_WIDE = 100
"""Columns if the terminal does not say how many it has."""


@value
class ReportFiles:
    """Files and annotations that are written besides the report that is shown."""

    markdown: Path | None = None
    junit: Path | None = None
    sarif: Path | None = None
    html: Path | None = None
    annotations: bool = False

    def check(self, *, as_json: bool = False) -> None:
        """Checks before a long audit that each file can probably be written."""
        if as_json and self.annotations:
            raise UserError(
                "--json and --annotations would both write to standard output.",
                hint="save the JSON, then `tdd audit show REPORT.json --format github`",
            )
        for path in filter(None, (self.markdown, self.junit, self.sarif, self.html)):
            if not os.access(path.parent, os.W_OK | os.X_OK) or path.is_dir():
                raise UserError(f"{path} cannot be written.", hint=_WRITABLE)


def report_options(command: F) -> F:
    """The options of a command that makes a report; it takes them as the fields of `ReportFiles`."""
    options = (
        click.option("--markdown", type=_FILE, metavar="FILE", help="Write Markdown, as for a step summary."),
        click.option("--junit", type=_FILE, metavar="FILE", help="Write JUnit XML: a case for each unit."),
        click.option("--sarif", type=_FILE, metavar="FILE", help="Write SARIF 2.1.0, for code scanning."),
        click.option("--html", type=_FILE, metavar="FILE", help="Write one HTML file to look at."),
        click.option("--annotations", is_flag=True, help="Print GitHub's annotations (to standard output)."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def write_reports(report: AuditReport, files: ReportFiles) -> None:
    for name in ("markdown", "junit", "sarif", "html"):
        path = getattr(files, name)
        if path is not None:
            _write(path, _render(report, name))
            say(f"wrote {path}")
    if files.annotations:
        sys.stdout.write(render(report, "github"))
        sys.stdout.flush()


def show_table(report: AuditReport, *, err: bool = False) -> None:
    from verdigris.views.audit.text import table_lines

    show(table_lines(report, shutil.get_terminal_size((_WIDE, 24)).columns), err=err)


@click.command("show")
@click.argument("path", metavar="REPORT.json", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "-f",
    "format_",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="The format to show.",
)
@click.option("--output", "-o", type=_FILE, metavar="FILE", help="Write it there instead of showing it.")
def show_command(path: Path, format_: str, output: Path | None) -> int:
    """Show a report that `tdd audit RANGE --json` saved; nothing is run. `-` reads standard input."""
    report = read_report(path)
    if output is not None:
        _write(output, _render(report, format_))
        say(f"wrote {output}")
    elif format_ == "table":
        show_table(report)
    else:
        sys.stdout.write(_render(report, format_))
        sys.stdout.flush()
    return 0


def _render(report: AuditReport, format_: str) -> str:
    """A page also shows the diffs of changes, if their repository is here."""
    if format_ != "html":
        return render(report, format_)
    from verdigris.drivers.audit.units import read_diffs

    return render(report, format_, read_diffs(start(), report))


def _write(path: Path, text: str) -> None:
    """Writes a file whole or not at all; a pipe or a device is written to directly."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_bytes(data)
        new.replace(path)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}", hint=_WRITABLE) from error


FAILED = 1
BLAMING = tuple(str(one) for one in AuditOutcome if one not in SOUND | BLAMELESS)
_SHORT = 10
_SELECTION = ("squash", "merged", "since", "author", "paths", "shard")
_REQUEST = ("deep", "timeout", "fresh", "suite", "env", "jobs", "whole")
"""Options, named as the fields of `AuditRequest` and `Selection`."""


class AuditProgress:
    """Shows on standard error a line for each judged change, and about how long the rest will take."""

    def __init__(self) -> None:
        self._total = self._known = self._done = 0
        self._began = time.monotonic()

    def began(self, total: int, known: int) -> None:
        self._total, self._known = total, known
        again = f", {known} of them known from an earlier audit" if known else ""
        say(f"{count_of(total, 'change')} to judge{again}")

    def running(self, what: str) -> None:
        """Shows the steps of one change; of many, the answers say enough."""
        if self._total - self._known == 1:
            say(f"  {what} …")

    def judged(self, unit: UnitReport) -> None:
        self._done += 1
        made = max(self._done - self._known, 1)
        left = (time.monotonic() - self._began) / made * (self._total - self._done)
        time_left = f"{left:.0f} s" if left < 120 else f"{left / 60:.0f} min"  # noqa: PLR2004 - two minutes
        about = f", about {time_left} left" if self._total > self._done and left >= 1 else ""
        say(f"[{self._done}/{self._total}{about}] {unit.commit.id[:_SHORT]} {unit.outcome}")


class RangeOrCommand(click.Group):
    """Lets `tdd audit RANGE` be a command beside `tdd audit show …` and the others."""

    allow_extra_args = False
    allow_interspersed_args = True

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        inner = self.commands.get(args[0]) if args else None
        if inner is None:
            return super().make_context(info_name, args, parent, **extra)
        return inner.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return click.Command.parse_args(self, ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        return click.Command.invoke(self, ctx)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return click.Command.collect_usage_pieces(self, ctx)


@click.group("audit", cls=RangeOrCommand, no_args_is_help=False)
@click.argument("range_", metavar="RANGE")
@click.option("--squash", is_flag=True, help="Judge the whole range as one change, as a pull request is.")
@click.option("--merged", is_flag=True, help="Of a merge, judge what its second parent brought.")
@click.option("--since", default="", help="Only commits after this date.")
@click.option("--author", default="", help="Only commits whose author matches.")
@click.option("--path", "paths", multiple=True, help="Only commits that touch this path; may be repeated.")
@shard_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=600.0,
    show_default=True,
    help="Seconds for one change.",
)
@click.option(
    "--env",
    type=click.Choice(("present", "lock", "uv")),
    default="present",
    help="Run tests in your present environment, or in one built from each commit's lock file;"
    " `uv` builds for Python alone.",
)
@click.option(
    "--whole", is_flag=True, help="Run each suite whole: no result is carried from commit to commit."
)
@click.option("--jobs", type=click.IntRange(min=1), default=1, help="How many processes judge at once.")
@click.option("--deep", is_flag=True, help="Try whether the assertions of the new tests are live.")
@click.option("--suite", multiple=True, help="Run these ids, paths or `-m MARK` instead of the whole suite.")
@click.option("--fresh", is_flag=True, help="Take no answer of an earlier audit.")
@click.option(
    "--fail-on", default="", help="Outcomes that end with exit code 1, with commas: `untested,weakened`."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@report_options
def command(range_: str, *, fail_on: str, as_json: bool, **said: Any) -> int:
    """Judge whether each commit in RANGE (`main..HEAD`, or one commit) was test-driven.

    Each change is replayed from git's objects: its tests run over the source of before, all tests after it.
    Nothing is written into the repository. Exit code: 0; 1 if a change has an outcome that `--fail-on` names;
    2 the range is wrong; 69 a tool or the sandbox is missing.
    """
    from verdigris.drivers.audit.run import AuditRequest, audit
    from verdigris.drivers.audit.units import Selection

    selection = Selection(range_, **_take(said, _SELECTION))
    asked = AuditRequest(selection, **_take(said, _REQUEST))
    wanted, reports = _read_outcomes(fail_on), ReportFiles(**said)
    reports.check(as_json=as_json)
    report = audit(start(), asked, AuditProgress())
    return _present(report, wanted, reports, as_json=as_json)


def _take(said: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: said.pop(name) for name in names}


def _present(report: AuditReport, wanted: tuple[str, ...], files: ReportFiles, *, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(json.dumps(render_report(report)) + "\n")
    else:
        show_table(report)
    write_reports(report, files)
    found = [str(unit.outcome) for unit in units_with(report, wanted)]
    if not found:
        return 0
    names = ", ".join(dict.fromkeys(found))
    are = "is" if len(found) == 1 else "are"
    say(f"failed by `--fail-on`: {len(found)} of {count_of(len(report.units), 'change')} {are} {names}")
    return FAILED


command.add_command(show_command)


@command.command("merge")
@click.argument("paths", metavar="DIR…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--fail-on", default="", help="Outcomes that end with exit code 1, with commas.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@report_options
def merge_command(paths: tuple[Path, ...], *, fail_on: str, as_json: bool, **files: Any) -> int:
    """Join the reports of all shards of a range (`--shard I/N --json`): files, or folders of them."""
    from verdigris.drivers.audit.report import join_shards

    wanted, reports = _read_outcomes(fail_on), ReportFiles(**files)
    reports.check(as_json=as_json)
    found = [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    if not found:
        hint = "save them there: `tdd audit RANGE --shard 1/4 --json > DIR/1.json`"
        raise UserError(f"there is no report in {paths[0]}.", hint=hint)
    joined = join_shards([read_report(file) for file in found])
    return _present(joined, wanted, reports, as_json=as_json)


@command.command("pre-push")
@click.argument("remote", default="")
@click.argument("address", default="")
@click.option("--fail-on", default=",".join(BLAMING), show_default=True, help="Outcomes that stop the push.")
def pre_push(remote: str, address: str, fail_on: str) -> int:
    """Audit what `git push` is about to send, as one change: for git's hook, or for pre-commit.

    Git names what it will send on standard input; pre-commit names it in PRE_COMMIT_FROM_REF and
    PRE_COMMIT_TO_REF. Exit code: 1 if the push has to stop.
    """
    del address
    from verdigris.drivers.audit.run import AuditRequest, audit
    from verdigris.drivers.audit.units import Selection, parse_refs, range_by_environment, ranges_by_refs
    from verdigris.storage.repository import find_repository

    wanted = _read_outcomes(fail_on)
    stopped: list[str] = []
    known = range_by_environment(os.environ)
    if known is None:
        text = "" if sys.stdin.isatty() else sys.stdin.read()
        ranges = ranges_by_refs(find_repository(start()), parse_refs(text))
    for pushed in (known,) if known is not None else ranges:
        to = f" to {remote}" if remote else ""
        say(f"auditing what {pushed.ref} brings{to}")
        report = audit(start(), AuditRequest(Selection(pushed.text, squash=True)))
        show_table(report, err=True)
        stopped += [str(unit.outcome) for unit in units_with(report, wanted)]
    if not stopped:
        return 0
    say(f"this push is stopped: it is {', '.join(dict.fromkeys(stopped))}")
    say("next: mend it and push again; `git push --no-verify` pushes all the same")
    return FAILED


def _read_outcomes(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    unknown = [word for word in words if word not in {str(one) for one in AuditOutcome}]
    if unknown:
        raise UserError(
            f"`--fail-on`: {unknown[0]!r} is not an outcome.", hint=f"use {', '.join(AuditOutcome)}"
        )
    return words
