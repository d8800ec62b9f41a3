"""`tdd help`: prints a page of the manual, which comes with every installation."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import verdigris
from verdigris.cli.commands import COMMANDS, module, overview
from verdigris.core.errors import UserError


@click.command("help")
@click.argument("topic", required=False)
def command(topic: str | None) -> int:
    """Print the page TOPIC of the manual, or the help of the command TOPIC; without one, list both."""
    pages = _pages()
    if topic is None:
        sys.stdout.write(f"{overview()}\nPages (`tdd help PAGE`):\n")
        sys.stdout.writelines(f"  {name:<18}{_title(path)}\n" for name, path in pages.items())
    elif topic in pages:
        sys.stdout.write(pages[topic].read_text("utf-8"))
    elif topic in COMMANDS:
        _show_command(topic)
    else:
        raise UserError(f"there is no page {topic!r}.", hint=f"`tdd help` lists them: {', '.join(pages)}")
    return 0


def _pages() -> dict[str, Path]:
    """A wheel carries the pages inside the package; a checkout has them beside `src`."""
    package = Path(verdigris.__file__).parent
    folder = next(f for f in (package / "docs", package.parents[1] / "docs") if f.is_dir())
    return {path.stem: path for path in sorted(folder.glob("*.md"))}


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as page:
        return page.readline().lstrip("# ").rstrip()


def _show_command(name: str) -> None:
    from importlib import import_module

    asked = import_module(module(name)).command
    with click.Context(asked, info_name=f"tdd {name}", help_option_names=["-h", "--help"]) as context:
        sys.stdout.write(asked.get_help(context) + "\n")
