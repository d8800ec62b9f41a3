"""Whose each command is: an agent's, or a person's alone."""

from __future__ import annotations

TYPE_CHECKING = False  # asked before anything heavy is imported
if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.actions import Deny

AGENTS = frozenset({"test", "stub", "claim", "settle", "refactor", "test-bug", "aside", "restore", "sync"})
READING = frozenset({"status", "log", "doctor", "displaced"})
PERSONS = frozenset({"init", "uninit", "on", "off", "revise", "holdout", "run", "step"})
LOCAL = frozenset({"demo", "completion", "help", "shell", "spec"})
"""They ask nothing of the kernel outside: served where they are called."""

_PERSONS_PART = {"log": "repair", "refactor": "--uncovered", "doctor": "--room"}
"""What lifts a law, or runs the project's code unconfined, of a verb that is an agent's otherwise."""


def local(argv: Sequence[str]) -> bool:
    """Whether a call needs no broker: help, the version, and what works on files of its own."""
    return not argv or argv[0].startswith("-") or argv[0] in LOCAL


def persons(verb: str) -> Deny:
    from verdigris.core.actions import Deny

    line = "tdd off WHY" if verb == "off" else f"tdd {verb} …"
    return Deny(
        "persons-verb",
        f"`tdd {verb}` is a person's, not an agent's.",
        f"ask the person: the first line of a prompt may be `{line}`; or they run it in a shell of their own",
    )


def refusal(argv: Sequence[str]) -> Deny | None:
    """Why the broker does not serve a call from inside an agent's shell; None where it does."""
    verb = argv[0] if argv else ""
    part = _PERSONS_PART.get(verb)
    if verb in AGENTS | READING and part not in argv[1:]:
        return None
    if verb in PERSONS:
        return persons(verb)
    if part in argv[1:]:
        return persons(f"{verb} {part}")
    from verdigris.core.actions import Deny

    return Deny(
        "unknown-verb",
        f"`tdd {verb}` is not served inside an agent's shell.",
        "`tdd status` tells the next move; `tdd --help` lists the commands",
    )
