from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.cli import Cli


def test_a_program_is_made_checked_and_chosen(bare_cli: Cli) -> None:
    assert bare_cli.tdd("loop", "due").code == 1
    made = bare_cli.ok("loop", "new", "port", "--strategy", "ratchet")
    assert "next: fill in each <CUSTOMIZE: …>, then `tdd loop lint port`" in made.out
    unfinished = bare_cli.tdd("loop", "lint", "port")
    assert unfinished.code == 1
    assert "port (ratchet) does not run: " in unfinished.out
    assert "unconfigured" in bare_cli.tdd("loop", "due").out
    program = bare_cli.root / ".autoloop/programs/port/program.md"
    text = "## Goal\nx\n## Target\n- `calc.py`\n## Evaluation\n```sh\ntrue\n```\n"
    program.write_text(text)
    assert bare_cli.ok("loop", "lint").out == "● port (ratchet) is ready\n"
    assert bare_cli.ok("loop", "due", "--json").json["selected"] == "port"


def test_an_agent_makes_no_program(bare_cli: Cli) -> None:
    agent = {"TDD_ACTOR": "agent", "TDD_ROOT": str(bare_cli.root)}
    assert bare_cli.tdd("loop", "new", "port", env=agent).code == 3


def test_a_workflow_is_written_for_a_program(bare_cli: Cli) -> None:
    bare_cli.ok("loop", "new", "port", "--strategy", "ratchet")
    made = bare_cli.ok("loop", "workflow", "github", "port")
    assert "wrote .github/workflows/autoloop-port.yml" in made.out
    assert "AUTOLOOP_TOKEN" in made.out
    there = bare_cli.root / ".github/workflows/autoloop-port.yml"
    assert "tdd loop run port" in there.read_text()
    there.write_text("mine\n")
    assert "`--force` writes it anew" in bare_cli.tdd("loop", "workflow", "github").err
    bare_cli.ok("loop", "workflow", "github", "--force")
    agent = {"TDD_ACTOR": "agent", "TDD_ROOT": str(bare_cli.root)}
    assert bare_cli.tdd("loop", "workflow", "github", env=agent).code == 3
