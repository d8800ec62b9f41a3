"""`tdd audit` on the command line: what it shows, writes and answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.cli import Cli, Ran
from support.forked import start_forked
from support.small_histories import ADD, SUB, TEST_SUB, add_commit, begin

ZERO = "0" * 40


class AuditCli(Cli):
    """The commits' tests run in the interpreter that runs us, wherever `python3` leads on this machine."""

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "VIRTUAL_ENV": sys.prefix}


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """Two commits: one test-driven, then one that drops its check."""
    repo = begin(tmp_path_factory.mktemp("audit") / "repo")
    add_commit(repo, "Add sub", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB})
    add_commit(repo, "Trust sub", {"tests/test_sub.py": TEST_SUB.replace("assert", "assert True or")})
    return AuditCli(repo)


@pytest.mark.slow
def test_a_table_is_shown_files_are_written_and_the_exit_code_gates(cli: Cli, tmp_path: Path) -> None:
    names = {"markdown": "a.md", "junit": "a.xml", "sarif": "a.sarif", "html": "a.html"}
    files = [word for name, path in names.items() for word in (f"--{name}", str(tmp_path / path))]
    ran = cli.tdd("audit", "HEAD~2..HEAD", "--fail-on", "weakened", "--annotations", *files)
    assert ran.code == 1
    rows = ran.out.splitlines()[:2]
    assert [row.split()[1] for row in rows] == ["test-driven", "weakened"]
    assert "2 changes: 1 test-driven, 1 weakened" in ran.out
    assert "::error file=tests/test_sub.py," in ran.out
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names.values())
    assert ran.err.splitlines()[-1] == "failed by `--fail-on`: 1 of 2 changes is weakened"


@pytest.mark.slow
def test_of_one_change_it_tells_what_is_run_and_of_many_it_does_not(cli: Cli) -> None:
    one = cli.tdd("audit", "HEAD~2..HEAD~1", "--fresh").err.splitlines()
    assert one[:3] == ["1 change to judge", "  all tests before the change …", "  all tests after it …"]
    assert one[-1].endswith("test-driven")
    many = cli.tdd("audit", "HEAD~2..HEAD", "--fresh").err.splitlines()
    assert [line.split()[0][:2] for line in many] == ["2", "[1", "[2"]


@pytest.mark.slow
def test_a_saved_report_is_shown_again_and_nothing_is_run(cli: Cli, tmp_path: Path) -> None:
    saved = tmp_path / "report.json"
    saved.write_text(cli.ok("audit", "HEAD~2..HEAD", "--json").out)
    summary = json.loads(saved.read_text())["summary"]
    shown = cli.tdd("audit", "show", str(saved), cwd=tmp_path)
    assert summary == {"test-driven": 1, "weakened": 1}
    assert "weakened" in shown.out
    assert (shown.code, shown.err) == (0, "")


@pytest.mark.slow
def test_a_push_is_audited_as_one_change_by_what_git_says(cli: Cli) -> None:
    base, head = (cli.repo.git("rev-parse", name) for name in ("HEAD~2", "HEAD~1"))
    line = f"refs/heads/work {head} refs/heads/work {base}\n"
    good = _pre_push(cli, line)
    assert (good.code, "1 test-driven" in good.err) == (0, True)
    bad = _pre_push(cli, f"refs/heads/work {cli.repo.head()} refs/heads/work {head}\n")
    assert bad.code == 1
    assert "this push is stopped: it is weakened" in bad.err
    assert "git push --no-verify" in bad.err


def test_a_push_that_only_deletes_is_not_audited(cli: Cli) -> None:
    done = _pre_push(cli, f"(delete) {ZERO} refs/heads/work {cli.repo.head()}\n")
    assert (done.code, done.err) == (0, "")


def _pre_push(cli: Cli, stdin: str) -> Ran:
    process = start_forked(["audit", "pre-push", "origin", "somewhere"], cli.root, cli.environment())
    process.stdin.write(stdin.encode())
    out, err = process.communicate()
    return Ran(process.wait(), out, err)


def test_help_shows_the_options_and_the_other_commands(cli: Cli) -> None:
    text = cli.ok("audit", "--help").out
    assert text.startswith("Usage: tdd audit [OPTIONS] RANGE\n")
    assert "--html FILE" in text
    assert "show" in text
    assert "Usage: tdd audit show [OPTIONS] REPORT.json" in cli.ok("audit", "show", "--help").out


def test_without_a_range_it_says_what_is_missing(cli: Cli) -> None:
    ran = cli.tdd("audit")
    assert (ran.code, "Missing argument 'RANGE'" in ran.err) == (2, True)


def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(cli: Cli, tmp_path: Path) -> None:
    ran = cli.tdd("audit", "HEAD~2..HEAD", "--html", str(tmp_path / "missing" / "a.html"))
    assert (ran.code, ran.out) == (2, "")
    assert "missing/a.html cannot be written." in ran.err
    assert "to judge" not in ran.err


def test_json_and_annotations_are_not_mixed(cli: Cli) -> None:
    ran = cli.tdd("audit", "HEAD", "--json", "--annotations")
    assert ran.code == 2
    assert "both write to standard output" in ran.json["error"]["message"]


def test_filters_that_leave_no_commit_are_named(cli: Cli) -> None:
    ran = cli.tdd("audit", "HEAD~2..HEAD", "--path", "nowhere.py", "--author", "Nobody")
    assert (ran.code, ran.out) == (
        0,
        "there is no commit in HEAD~2..HEAD with author Nobody, path nowhere.py\n",
    )


def test_filters_choose_commits_and_a_squash_judges_all_of_them(cli: Cli) -> None:
    ran = cli.tdd("audit", "HEAD~2..HEAD", "--squash", "--author", "Nobody")
    assert (ran.code, ran.out) == (2, "")
    assert "`--squash` judges the whole range as one change, and `--author` chooses commits" in ran.err
