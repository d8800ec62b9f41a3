"""`tdd completion`: the script that teaches a shell."""

from __future__ import annotations

import click

WHERE = {
    "bash": 'put this into ~/.bashrc:  eval "$(tdd completion bash)"',
    "zsh": 'put this into ~/.zshrc, after compinit:  eval "$(tdd completion zsh)"',
    "fish": "run:  tdd completion fish > ~/.config/fish/completions/tdd.fish",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(sorted(WHERE)))
def command(shell: str) -> int:
    """Print the completion script of SHELL, with where to put it."""
    from click.shell_completion import get_completion_class

    from verdigris.cli.group import tdd

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - the choices are click's own shells
    click.echo(f"# {WHERE[shell]}")
    click.echo(found(tdd, {}, "tdd", "_TDD_COMPLETE").source())
    return 0
