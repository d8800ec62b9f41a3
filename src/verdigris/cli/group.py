"""The click group: imports a command when it is called, not when it is listed."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

import click

from verdigris import __version__
from verdigris.cli.commands import COMMANDS, HIDDEN, overview, place

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS and cmd_name not in HIDDEN:
            return None
        return load_command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in {*COMMANDS, *HIDDEN}:
            raise click.UsageError(f"There is no command {args[0]!r}.{_offer(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        return overview().rstrip()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [name for name in COMMANDS if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=COMMANDS[name]) for name in names), *options]


def load_command(name: str) -> click.Command:
    module, attribute = place(name)
    command = getattr(import_module(module), attribute)
    assert isinstance(command, click.Command)  # noqa: S101 - what each module promises, for the type checker
    return command


def _offer(word: str) -> str:
    import difflib

    close = difflib.get_close_matches(word, COMMANDS, n=2, cutoff=0.5)
    return f" Did you mean {' or '.join(f'`tdd {name}`' for name in close)}?" if close else ""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tdd", message="%(prog)s %(version)s")
@click.pass_context
def tdd(ctx: click.Context) -> None:
    if os.environ.get("NO_COLOR") or os.environ.get("CI"):
        ctx.color = False
