from __future__ import annotations

from pathlib import Path

from support import audits
from support.gitrepo import GitRepo
from support.small_histories import ADD, SUB, add_commit, begin
from verdigris.core.value import replace
from verdigris.drivers.audit.report import AuditReport
from verdigris.drivers.audit.units import MOST_LINES, read_diffs


def report_of(repo: GitRepo, *paths: str) -> AuditReport:
    before, after = (repo.git("rev-parse", f"{name}^{{tree}}") for name in ("HEAD~1", "HEAD"))
    unit = replace(audits.UNTESTED, before=before, after=after, paths=paths)
    return audits.report(unit)


def test_of_a_change_its_source_and_tests_are_shown(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "sub", {"calc.py": ADD + SUB, "README.md": "words\n"})
    [text] = read_diffs(repo.root, report_of(repo, "calc.py")).values()
    assert "+def sub(a, b):" in text.splitlines()
    assert "README" not in text


def test_a_long_change_is_cut_and_a_large_file_is_named(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "much", {"calc.py": ADD + "x = 1\n" * 2000, "data.py": "x" * (1 << 19)})
    [text] = read_diffs(repo.root, report_of(repo, "calc.py", "data.py")).values()
    lines = text.splitlines()
    assert len(lines) == MOST_LINES + 2
    assert lines[-2:] == [f"… and {2007 - MOST_LINES} lines more", "… data.py is large"]


def test_where_the_trees_are_not_nothing_is_shown(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    assert read_diffs(repo.root, audits.EVERYTHING) == {}
    (tmp_path / "elsewhere").mkdir()
    assert read_diffs(tmp_path / "elsewhere", audits.EVERYTHING) == {}
