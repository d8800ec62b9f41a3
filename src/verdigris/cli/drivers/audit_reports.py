"""The reports of `tdd audit`: which files it writes, and `tdd audit show`, which renders a saved report."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from verdigris.cli.context import say, show
from verdigris.core.errors import StorageError, UserError
from verdigris.core.value import value
from verdigris.drivers.audit.report import parse_report
from verdigris.views.audit.formats import FORMATS, render

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.drivers.audit.report import AuditReport

F = TypeVar("F", bound="Callable[..., Any]")
_FILE = click.Path(dir_okay=False, path_type=Path)
_WRITABLE = "name a file in a folder that exists and can be written"
_WIDE = 100
"""Columns where nobody says how many there are."""


@value
class ReportFiles:
    """What else is written of a report, besides what is shown."""

    markdown: Path | None = None
    junit: Path | None = None
    sarif: Path | None = None
    html: Path | None = None
    annotations: bool = False

    def check(self, *, as_json: bool = False) -> None:
        """Before the audit, which may take long: each file can be written, as far as that can be told."""
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
            _write(path, render(report, name))
            say(f"wrote {path}")
    if files.annotations:
        sys.stdout.write(render(report, "github"))
        sys.stdout.flush()


def show_table(report: AuditReport, *, err: bool = False) -> None:
    from verdigris.views.audit.table import table_lines

    show(table_lines(report, shutil.get_terminal_size((_WIDE, 24)).columns), err=err)


@click.command("show")
@click.argument("path", metavar="REPORT.json")
@click.option(
    "--format",
    "-f",
    "format_",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="Of what is shown.",
)
@click.option("--output", "-o", type=_FILE, metavar="FILE", help="Write it there instead of showing it.")
def show_command(path: str, format_: str, output: Path | None) -> int:
    """Show a report that `tdd audit RANGE --json` saved; nothing is run. `-` reads standard input."""
    report = read_report(path)
    if output is not None:
        _write(output, render(report, format_))
        say(f"wrote {output}")
    elif format_ == "table":
        show_table(report)
    else:
        sys.stdout.write(render(report, format_))
        sys.stdout.flush()
    return 0


def read_report(path: str) -> AuditReport:
    hint = "save one with `tdd audit RANGE --json > REPORT.json`"
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is no text, so it is no audit report", hint=hint) from error
    try:
        return parse_report(json.loads(text))
    except json.JSONDecodeError as error:
        raise UserError(f"{path} is no JSON: {error}", hint=hint) from error


def _write(path: Path, text: str) -> None:
    """Whole or not at all; a pipe or a device is written as it is."""
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
