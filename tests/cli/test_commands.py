from __future__ import annotations

from pathlib import Path

import click
import pytest

from verdigris.cli.commands import COMMANDS, HIDDEN, overview
from verdigris.cli.group import load_command

DOCS = Path(__file__).parents[2] / "docs" / "commands.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_docs_tell_every_command_and_every_option(name: str) -> None:
    text = DOCS.read_text("utf-8")
    command = load_command(name)
    assert f"tdd {name}" in text
    parts = command.commands.values() if isinstance(command, click.Group) else ()
    options = [option for part in (command, *parts) for param in part.params for option in param.opts]
    assert [option for option in options if option.startswith("--") and option not in text] == []


def test_every_command_has_a_place_and_bears_its_own_name() -> None:
    assert [name for name in (*COMMANDS, *HIDDEN) if load_command(name).name != name] == []


def test_the_overview_fits_a_terminal() -> None:
    assert max(map(len, overview().splitlines())) <= 80
