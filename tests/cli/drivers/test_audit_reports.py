"""`tdd audit show` renders a saved report; what an audit writes, it writes whole."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from support import audits
from verdigris.cli.drivers.audit import ReportFiles, show_command, write_reports
from verdigris.core.errors import StorageError, UserError
from verdigris.drivers.audit.report import read_report, render_report
from verdigris.views.audit.formats import FORMATS

pytestmark = pytest.mark.quick


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(render_report(audits.EVERYTHING)))
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_shown_and_written_alike(name: str, saved: Path, tmp_path: Path) -> None:
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(show_command, [str(saved), "--format", name])
    assert shown.exit_code == 0
    out = tmp_path / "out"
    written = CliRunner().invoke(show_command, [str(saved), "-f", name, "-o", str(out)])
    assert (written.exit_code, written.stdout, written.stderr) == (0, "", f"wrote {out}\n")
    assert out.read_text() == shown.stdout


def test_the_table_fits_the_terminal(saved: Path) -> None:
    shown = CliRunner(env={"COLUMNS": "72"}).invoke(show_command, [str(saved)])
    assert max(map(len, shown.stdout.splitlines())) <= 72


def test_a_report_comes_from_standard_input_too(saved: Path) -> None:
    shown = CliRunner().invoke(show_command, ["-", "-f", "junit"], input=saved.read_text())
    assert ET.fromstring(shown.stdout).get("tests") == "10"


def test_all_files_are_written_and_annotations_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("a.md", "a.xml", "a.sarif", "a.html")
    markdown, junit, sarif, html = paths = [tmp_path / name for name in names]
    write_reports(audits.EVERYTHING, ReportFiles(markdown, junit, sarif, html, annotations=True))
    assert [path.read_text()[:3] for path in paths] == ["###", "<?x", "{\n ", "<!d"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    told = capsys.readouterr()
    assert told.out.startswith("::error file=tests/test_cart.py,line=4,")
    assert told.err == "".join(f"wrote {path}\n" for path in paths)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    nowhere = tmp_path / "missing" / "a.html"
    with pytest.raises(StorageError, match=r"missing/a\.html cannot be written: No such file"):
        write_reports(audits.EVERYTHING, ReportFiles(html=nowhere))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read: No such file"),
        (b"\xff", "is not JSON"),
        (b"{", "is not JSON"),
        (b"{}", "not an audit"),
    ],
)
def test_what_is_no_report_is_told_with_a_way_to_get_one(
    content: bytes | None, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=says) as caught:
        read_report(path)
    assert "tdd audit RANGE --json" in str(caught.value.hint)
