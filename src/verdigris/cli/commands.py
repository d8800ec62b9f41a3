"""Which commands there are and what each is for, known without importing any of them."""

from __future__ import annotations

GROUPS = {
    "Daily": {
        "status": "Show the phase, open reds and claims, and the next move.",
        "test": "Run tests, record the results, find reds.",
        "stub": "Write stubs for what a test needs and source lacks, and run it.",
        "claim": "Claim red tests for your edit; freezes the tests.",
        "settle": "End the turn with a verdict.",
        "refactor": "Restructure under the same tests: begin, end, abort.",
        "sync": "Run git pull, switch, merge … between two turns.",
    },
    "When stuck": {
        "test-bug": "Report a wrong test instead of editing it.",
        "revise": "Give a reason for deleting or weakening a test.",
        "aside": "Set aside source edits that were made before a red.",
        "restore": "Bring back edits that were set aside.",
        "displaced": "Recover files that Verdigris overwrote.",
        "off": "Switch the laws off, with a reason.",
        "on": "Switch the laws on again.",
    },
    "Set up": {
        "init": "Set Verdigris up in this repository.",
        "uninit": "Undo `tdd init`; the log stays.",
        "doctor": "Check tools, log and configuration, with a fix for each finding.",
        "holdout": "Keep tests hidden, for verdicts only: add, release, list.",
        "completion": "Print the completion script of a shell.",
        "demo": "Watch a scripted agent meet the laws in a temporary repository.",
        "help": "Print a page of the manual, or the help of a command.",
    },
    "Drivers": {
        "code": "Let a coding agent work on a task under the law.",
        "run": "Turn a kata into code: tester, implementor, refactorer in turn.",
        "step": "Run one step of the machine.",
        "cycle": "From a spec to evidence: plan, red, frozen tests, green.",
        "loop": "Programs that pin one behaviour an iteration: new, run, status …",
        "spec": "Specs and their scenarios: new, show, lint, activate, supersede.",
        "corpus": "Proven changes as data for training: export, verify.",
        "fleet": "Many audits, runs and replays at once, here or on a cluster.",
        "audit": "Find out whether each commit of a range was test-driven.",
    },
    "Plumbing": {
        "log": "Show, verify or repair the log.",
        "hook": "Answer one hook call of a coding agent (for its settings).",
    },
}

COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}

HIDDEN = frozenset({"shell"})
"""Commands for programs, which no list shows."""

_EXAMPLES = """\
  tdd test tests/test_cart.py          run a file; a failing test becomes a red
  tdd claim test_empty src/cart.py     the edit of cart.py advances test_empty
  tdd settle                           the verdict
  tdd help tutorial                    the first hour, step by step"""


_MODULES = {
    "turn": ("test", "stub", "claim", "settle", "refactor"),
    "worktree": ("status", "sync"),
    "when_stuck": ("test-bug", "aside", "restore", "displaced", "off", "on", "revise", "holdout"),
    "init": ("init",),
    "uninit": ("uninit",),
    "inspection": ("doctor", "log"),
    "group": ("help", "completion"),
    "agent_calls": ("hook", "shell"),
    "drivers.machine": ("run", "step"),
    "drivers.cycle": ("cycle",),
    "drivers.code": ("code",),
    "drivers.loop": ("loop",),
    "drivers.spec": ("spec",),
    "drivers.corpus": ("corpus",),
    "drivers.fleet": ("fleet",),
    "drivers.audit": ("audit",),
    "demo": ("demo",),
}
"""Where each command stands, below this folder."""
PLACES = {name: module for module, names in _MODULES.items() for name in names}


def place(name: str) -> tuple[str, str]:
    """The module of a command and its attribute there: `command` where the module has no other."""
    module = PLACES[name]
    attribute = "command" if len(_MODULES[module]) == 1 else f"{name.replace('-', '_')}_command"
    return f"verdigris.cli.{module}", attribute


def overview() -> str:
    """What `tdd --help` says."""
    groups = "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:<12}{about}" for name, about in commands.items())])
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
