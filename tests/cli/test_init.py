from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Cli
from support.gitrepo import make_repo


@pytest.fixture
def empty(tmp_path: Path) -> Cli:
    return Cli(make_repo(tmp_path / "repo"))


def test_init_shows_what_it_writes_and_ends_in_red(empty: Cli) -> None:
    ran = empty.ok("init")
    assert "will write tdd.yaml" in ran.err
    assert '- root: "."' in ran.err
    assert ran.out.startswith("set up; phase red\n")
    assert "next: write one failing test" in ran.out
    assert (empty.root / "tdd.yaml").is_file()


def test_init_without_tests_offers_an_uncovered_refactor(empty: Cli) -> None:
    assert "tdd refactor begin --uncovered" in empty.ok("init").out


def test_init_again_says_that_all_is_there(cli: Cli) -> None:
    ran = cli.ok("init")
    assert "stays as it is" in ran.err
    assert ran.out.startswith("already set up; phase red\n")
    assert "--uncovered" not in ran.out


def test_what_later_versions_bring_is_a_clear_error(empty: Cli) -> None:
    ran = empty.tdd("init", "--agent", "claude-code")
    assert ran.code == 2
    assert "yet" in ran.err
    assert not (empty.root / "tdd.yaml").exists()


def test_on_a_terminal_it_asks(empty: Cli) -> None:
    refused = empty.on_a_terminal("init", answer=b"n\n")
    assert (refused.code, "write this?" in refused.out) == (1, True)
    assert not (empty.root / "tdd.yaml").exists()
    assert not (empty.root / ".git" / "tdd").exists()
    assert empty.on_a_terminal("init", answer=b"y\n").code == 0
    assert (empty.root / "tdd.yaml").exists()
    assert "write this?" not in empty.on_a_terminal("init", "--yes").out


def test_uninit_undoes_it(empty: Cli) -> None:
    empty.ok("init")
    assert "tdd.yaml is removed" in empty.ok("uninit").out
    assert not (empty.root / "tdd.yaml").exists()
    assert empty.tdd("status").code == 2
    empty.ok("log", "verify")


def test_a_language_that_is_not_known_is_a_clear_error(empty: Cli) -> None:
    ran = empty.tdd("init", "--lang", "cobol")
    assert (ran.code, "cobol" in ran.err, "rust" in ran.err) == (2, True, True)


def test_every_stack_that_is_found_is_shown_and_written(empty: Cli) -> None:
    (empty.root / "app.py").touch()
    (empty.root / "pyproject.toml").touch()
    (empty.root / "web").mkdir()
    (empty.root / "web/package.json").write_text('{"devDependencies": {"jest": "30"}}')
    shown = empty.ok("init").err
    assert "found python with pytest in .\nfound node with jest in web\n" in shown
    assert (empty.root / "tdd.yaml").read_text().count("- root:") == 2


def test_uninit_keeps_what_init_did_not_write(cli: Cli) -> None:
    assert "--force" in cli.ok("uninit").out
    assert (cli.root / "tdd.yaml").exists()
    cli.ok("uninit", "--force")
    assert not (cli.root / "tdd.yaml").exists()


def test_the_gate_before_an_agent_goes_in_and_out(empty: Cli) -> None:
    empty.repo.write(".git/info/exclude", "*~\n")
    assert ".claude/settings.json" not in empty.ok("init", "--agent", "claude").err
    assert not (empty.root / ".claude/settings.json").exists()
    assert (empty.root / ".claude/settings.local.json").is_file()
    team = empty.ok("init", "--agent", "claude", "--team").err
    assert ".claude/settings.json (for the team: commit it)" in team
    assert "team mates without tdd: Claude Code reads, and writes nothing until pip install verdigris" in team
    assert (empty.root / ".claude/settings.local.json").is_file()
    assert "settings.local.json" not in empty.repo.git("status", "--porcelain", "--untracked-files=all")
    assert "Claude Code is connected already" in empty.ok("init", "--agent", "claude").out
    junk = empty.tdd("hook", "claude")
    assert (junk.code, junk.out) == (2, "")
    assert ".claude/settings.json" in empty.ok("uninit").out
    assert not (empty.root / ".claude").exists()
    assert (empty.root / ".git/info/exclude").read_text() == "*~\n"


def test_a_line_of_gits_own_list_that_a_person_wrote_stays(empty: Cli) -> None:
    ignored = empty.root / ".git/info/exclude"
    empty.repo.write(".git/info/exclude", "/.claude/settings.local.json\n")
    empty.ok("init", "--agent", "claude")
    empty.ok("uninit")
    assert ignored.read_text() == "/.claude/settings.local.json\n"


def test_the_team_is_about_an_agent(empty: Cli) -> None:
    ran = empty.tdd("init", "--team")
    assert (ran.code, "--team is about an agent" in ran.err) == (2, True)


def test_init_works_from_a_folder_below(empty: Cli) -> None:
    (empty.root / "src" / "pkg").mkdir(parents=True)
    assert empty.tdd("init", cwd=empty.root / "src" / "pkg").code == 0
    assert (empty.root / "tdd.yaml").is_file()


def test_a_hook_before_a_push_is_written_and_taken_away_again(empty: Cli) -> None:
    hook = empty.root / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n# mine\n")
    ran = empty.ok("init", "--pre-push")
    assert "will write a pre-push hook for git; one that is there already is kept" in ran.err
    assert "`git push` audits what it sends" in ran.out
    assert "audit pre-push" in hook.read_text()
    assert "is as it was before" in empty.ok("uninit").out
    assert hook.read_text() == "#!/bin/sh\n# mine\n"
    assert "pre-push" not in empty.ok("init").out
