"""Which commands there are and what each is for, known without importing any of them."""

from __future__ import annotations

GROUPS = {
    "Daily": {
        "status": ("worktree", "Show the phase, open reds and claims, and the next move."),
        "test": ("turn", "Run tests, record the results, find reds."),
        "stub": ("turn", "Write stubs for what a test needs and source lacks, and run it."),
        "claim": ("turn", "Claim red tests for your edit; freezes the tests."),
        "settle": ("turn", "End the turn with a verdict."),
        "refactor": ("turn", "Restructure under the same tests: begin, end, abort."),
        "sync": ("worktree", "Run git pull, switch, merge … between two turns."),
    },
    "When stuck": {
        "test-bug": ("when_stuck", "Report a wrong test instead of editing it."),
        "revise": ("when_stuck", "Give a reason for deleting or weakening a test."),
        "aside": ("when_stuck", "Set aside source edits that were made before a red."),
        "restore": ("when_stuck", "Bring back edits that were set aside."),
        "displaced": ("when_stuck", "Recover files that Verdigris overwrote."),
        "off": ("when_stuck", "Switch the laws off, with a reason."),
        "on": ("when_stuck", "Switch the laws on again."),
    },
    "Set up": {
        "init": ("init", "Set Verdigris up in this repository."),
        "uninit": ("uninit", "Undo `tdd init`; the log stays."),
        "doctor": ("inspection", "Check tools, log and configuration, with a fix for each finding."),
        "holdout": ("when_stuck", "Keep tests hidden, for verdicts only: add, release, list."),
        "completion": ("group", "Print the completion script of a shell."),
        "demo": ("demo", "Watch a scripted agent meet the laws in a temporary repository."),
        "help": ("group", "Print a page of the manual, or the help of a command."),
    },
    "Drivers": {
        "code": ("drivers.code", "Let a coding agent work on a task under the law."),
        "run": ("drivers.machine", "Turn a kata into code: tester, implementor, refactorer in turn."),
        "step": ("drivers.machine", "Run one step of the machine."),
        "cycle": ("drivers.cycle", "From a spec to evidence: plan, red, frozen tests, green."),
        "loop": ("drivers.loop", "Programs that pin one behaviour an iteration: new, run, status …"),
        "spec": ("drivers.spec", "Specs and their scenarios: new, show, lint, activate, supersede."),
        "corpus": ("drivers.corpus", "Proven changes as data for training: export, verify."),
        "fleet": ("drivers.fleet", "Many audits, runs and replays at once, here or on a cluster."),
        "audit": ("drivers.audit", "Find out whether each commit of a range was test-driven."),
    },
    "Plumbing": {
        "log": ("inspection", "Show, verify or repair the log."),
        "hook": ("agent_calls", "Answer one hook call of a coding agent (for its settings)."),
    },
}
"""The module of each command, below this folder, and what the command is for."""

COMMANDS = {name: about for group in GROUPS.values() for name, (_, about) in group.items()}

HIDDEN = {"shell": "agent_calls"}
"""Commands for programs, which no list shows."""
_MODULES = HIDDEN | {name: module for group in GROUPS.values() for name, (module, _) in group.items()}

_EXAMPLES = """\
  tdd test tests/test_cart.py          run a file; a failing test becomes a red
  tdd claim test_empty src/cart.py     the edit of cart.py advances test_empty
  tdd settle                           the verdict
  tdd help tutorial                    the first hour, step by step"""


def place(name: str) -> tuple[str, str]:
    """The module of a command and its attribute there: `command` where the module has no other."""
    module = _MODULES[name]
    alone = list(_MODULES.values()).count(module) == 1
    attribute = "command" if alone else f"{name.replace('-', '_')}_command"
    return f"verdigris.cli.{module}", attribute


def overview() -> str:
    """What `tdd --help` says."""
    groups = "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:<12}{about}" for name, (_, about) in commands.items())])
        for title, commands in GROUPS.items()
    )
    return f"""\
Usage: tdd COMMAND [OPTIONS] [ARGS]...

  Red → green as a law: no source edit without a test that is red for the
  right reason. `tdd COMMAND --help` tells more about a command.

{groups}

Examples:
{_EXAMPLES}

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.
"""
