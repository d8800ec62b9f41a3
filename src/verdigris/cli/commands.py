"""Which commands there are and what each is for, known without importing any of them."""

from __future__ import annotations

COMMANDS = {
    "init": "Set Verdigris up in this repository.",
    "uninit": "Undo `tdd init`; the log stays.",
    "status": "Show the phase, open reds and claims, and the next move.",
    "test": "Run tests, record what was seen, prepare claims.",
    "claim": "Say which red test an edit advances; opens the green phase.",
    "settle": "End the turn with a verdict.",
    "refactor": "Change the shape and keep the behaviour: begin, end, abort.",
    "test-bug": "Report a wrong test instead of editing it.",
    "revise": "Give the reason for a test that is given up or weakened.",
    "aside": "Lay source edits aside that were made before a red.",
    "restore": "Lay edits on again that were laid aside.",
    "displaced": "List or print bytes that had to make way.",
    "holdout": "Keep tests out of sight, for verdicts only: add, release, list.",
    "run": "Turn a kata into code: tester, implementor, refactorer in turn.",
    "step": "Make the next step of that, and no other.",
    "sync": "Run a git move (pull, switch, merge …) outside any turn.",
    "log": "Show, verify or repair the log.",
    "doctor": "Check tools, log and configuration, with a fix for each finding.",
    "on": "Switch the laws on again; the tree as it stands is new ground.",
    "off": "Switch the laws off, with a reason.",
    "hook": "Answer one hook call of a coding agent (for its settings).",
    "demo": "Watch a scripted agent meet the laws in a temporary repository.",
    "completion": "Print the completion script of a shell.",
}

HIDDEN = frozenset({"shell"})
"""Commands for programs, which no list shows."""


def module(name: str) -> str:
    """Where a command lives, as the attribute `command`."""
    return f"verdigris.cli.{name.replace('-', '_')}"


def overview() -> str:
    """What `tdd --help` says."""
    commands = "\n".join(f"  {name:<12}{about}" for name, about in COMMANDS.items())
    return f"""\
Usage: tdd COMMAND [OPTIONS] [ARGS]...

  Red → green as a law: no source edit without a test that is red for the
  right reason. `tdd COMMAND --help` tells more about a command.

Commands:
{commands}

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.
"""
