"""`tdd init --agent claude --cycle`: a skill and four sub-agents, beside what is there, and out again."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from support.cli import Cli, make_cli
from support.hooks import Client
from support.turns import World
from verdigris.core.paths import PathClass
from verdigris.core.records import Actor
from verdigris.gates.clients.claude.client import CLIENT
from verdigris.gates.clients.claude.cycle_files import SKILL, cycle_files
from verdigris.gates.clients.installation import install_cycle_files, remove_cycle_files
from verdigris.storage.project import open_project

CODER = ".claude/agents/tdd-coder.md"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return make_cli(tmp_path / "repo")


def connect(cli: Cli) -> str:
    return cli.ok("init", "--yes", "--agent", "claude", "--cycle").out


def tree(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def front_matter(text: str) -> dict[str, str]:
    found = yaml.safe_load(text.split("---\n")[1])
    assert isinstance(found, dict)
    return found


def test_it_writes_the_skill_and_the_agents_and_requires_a_judgement(cli: Cli) -> None:
    said = connect(cli)
    assert {SKILL, CODER} <= set(cycle_files())
    for path, text in cycle_files().items():
        assert (cli.root / path).read_text() == text
        assert path in said
    assert yaml.safe_load((cli.root / "tdd.yaml").read_text())["cycle"] == {"judgement": "required"}
    assert "has its files for the cycle already" in connect(cli)


def test_each_agents_tools_fit_its_stage() -> None:
    tools = {name: front_matter(text).get("tools") for name, text in cycle_files().items()}
    assert tools == {
        SKILL: None,
        ".claude/agents/tdd-planner.md": "Read, Grep, Glob, Write",
        ".claude/agents/tdd-test-author.md": "Read, Edit, Write, Bash",
        ".claude/agents/tdd-validator.md": "Read, Grep, Glob, Bash, Write",
        ".claude/agents/tdd-coder.md": "Read, Edit, Write, Bash",
    }


@pytest.mark.parametrize("mine", [True, False])
def test_uninit_gives_everything_back(cli: Cli, *, mine: bool) -> None:
    if not mine:
        (cli.root / "tdd.yaml").unlink()
    before = tree(cli.root)
    connect(cli)
    assert set(tree(cli.root)) > set(before)
    cli.ok("uninit")
    assert tree(cli.root) == before
    assert not (cli.root / ".claude").exists()


def test_a_users_own_file_is_kept_and_said(cli: Cli) -> None:
    own = cli.root / CODER
    own.parent.mkdir(parents=True)
    own.write_text("mine\n")
    assert f"kept {CODER}: it is your own" in connect(cli)
    assert own.read_text() == "mine\n"
    cli.ok("uninit")
    assert own.read_text() == "mine\n"
    assert not (cli.root / SKILL).exists()


def test_an_older_text_of_ours_is_brought_up_to_date(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(cli)
    project = open_project(cli.root, Actor("person"))
    newer = {**cycle_files(), CODER: "newer\n"}
    monkeypatch.setattr("verdigris.gates.clients.claude.cycle_files.cycle_files", lambda: newer)
    assert install_cycle_files(project, CLIENT).written == (CODER,)
    assert (cli.root / CODER).read_text() == "newer\n"
    assert CODER in remove_cycle_files(project, CLIENT)
    assert not (cli.root / ".claude/agents").exists()


def test_what_the_user_changed_in_ours_stays(cli: Cli) -> None:
    connect(cli)
    (cli.root / CODER).write_text("changed\n")
    assert f"kept {CODER}" in connect(cli)
    cli.ok("uninit")
    assert (cli.root / CODER).read_text() == "changed\n"


def test_a_judgement_that_the_user_set_stays(cli: Cli) -> None:
    with (cli.root / "tdd.yaml").open("a") as file:
        file.write("cycle: {judgement: optional}\n")
    assert "kept `judgement: optional` in tdd.yaml" in connect(cli)


def test_it_needs_an_agent_and_no_open_turn(cli: Cli) -> None:
    assert cli.tdd("init", "--yes", "--cycle").code == 2
    connect(cli)
    (cli.root / SKILL).unlink()
    cli.repo.write("tests/test_sub.py", "import calc\n\n\ndef test_sub():\n    assert calc.sub(3, 2) == 1\n")
    cli.tdd("test")
    cli.ok("claim", "tests/test_sub.py::test_sub", "calc.py")
    refused = cli.tdd("init", "--yes", "--agent", "claude", "--cycle")
    assert refused.code == 2
    assert "settings are frozen" in refused.err


def test_no_agent_may_write_them(world: World) -> None:
    project = open_project(world.root, Actor("agent", "s1", "claude"))
    assert {project.classify(path) for path in cycle_files()} == {PathClass.SWITCH}
    assert project.classify(".claude/plans/mine.md") is PathClass.OTHER
    written = Client(world).before("Write", file_path=str(world.root / CODER), content="x")
    assert written == "switch"
