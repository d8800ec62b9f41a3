"""The click group, which imports a command when it is called; and `tdd help`, `tdd completion`."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

import verdigris
from verdigris import __version__
from verdigris.cli.commands import COMMANDS, HIDDEN, overview, place
from verdigris.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

_FEW = 10


class OfferingGroup(click.Group):
    """Offers the commands that an unknown word may have meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            offer = _offer(args[0], self.list_commands(ctx), ctx.command_path)
            raise click.UsageError(f"There is no command {args[0]!r}.{offer}", ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(OfferingGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS and cmd_name not in HIDDEN:
            return None
        return load_command(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            verb = next((word for word in words if word in COMMANDS), None)
            if verb is None:
                raise
            rest = " ".join((*words[words.index(verb) + 1 :], error.option_name))
            what = f"{error.option_name} stands behind the command: `tdd {verb} {rest}`"
            raise click.UsageError(what, ctx) from None

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


def _offer(word: str, names: Sequence[str], group: str) -> str:
    """The names that are alike; where none is, all names of a small group."""
    import difflib

    close = difflib.get_close_matches(word, names, n=2, cutoff=0.5)
    if not close and len(names) <= _FEW:
        return f" There are {', '.join(f'`{group} {name}`' for name in names)}."
    return f" Did you mean {' or '.join(f'`{group} {name}`' for name in close)}?" if close else ""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tdd", message="%(prog)s %(version)s")
@click.pass_context
def tdd(ctx: click.Context) -> None:
    if os.environ.get("NO_COLOR") or os.environ.get("CI"):
        ctx.color = False


@click.command("help")
@click.argument("topic", required=False)
def help_command(topic: str | None) -> int:
    """Print the page TOPIC of the manual, or the help of the command TOPIC; without one, list both."""
    pages = _pages()
    if topic is None:
        sys.stdout.write(f"{overview()}\nPages (`tdd help PAGE`):\n")
        titles = {
            name: path.read_text("utf-8").partition("\n")[0].lstrip("# ") for name, path in pages.items()
        }
        sys.stdout.writelines(f"  {name:<18}{title}\n" for name, title in titles.items())
    elif topic in pages:
        sys.stdout.write(pages[topic].read_text("utf-8"))
    elif topic in COMMANDS:
        asked = load_command(topic)
        with click.Context(asked, info_name=f"tdd {topic}", help_option_names=["-h", "--help"]) as context:
            sys.stdout.write(asked.get_help(context) + "\n")
    else:
        raise UserError(f"there is no page {topic!r}.", hint=f"`tdd help` lists them: {', '.join(pages)}")
    return 0


def _pages() -> dict[str, Path]:
    """A wheel carries the pages inside the package; a checkout has them beside `src`."""
    package = Path(verdigris.__file__).parent
    folder = next(f for f in (package / "docs", package.parents[1] / "docs") if f.is_dir())
    return {path.stem: path for path in sorted(folder.glob("*.md"))}


WHERE = {
    "bash": 'put this into ~/.bashrc:  eval "$(tdd completion bash)"',
    "zsh": 'put this into ~/.zshrc, after compinit:  eval "$(tdd completion zsh)"',
    "fish": "run:  tdd completion fish > ~/.config/fish/completions/tdd.fish",
}
# click's own script for bash shows either paths or words, and breaks at the `::` of a test id, because bash
# takes a colon for the end of a word. So the word is read from the line, and bash is given only what follows
# the last colon.
_BASH = Path(__file__).with_name("completion.bash")


@click.command("completion")
@click.argument("shell", type=click.Choice(sorted(WHERE)))
def completion_command(shell: str) -> int:
    """Print the completion script of SHELL, and say where to put it."""
    from click.shell_completion import get_completion_class

    clicks_own = get_completion_class(shell)
    assert clicks_own is not None  # noqa: S101 - the choices are click's own shells
    click.echo(f"# {WHERE[shell]}")
    click.echo(
        _BASH.read_text("utf-8").rstrip()
        if shell == "bash"
        else clicks_own(tdd, {}, "tdd", "_TDD_COMPLETE").source()
    )
    return 0
