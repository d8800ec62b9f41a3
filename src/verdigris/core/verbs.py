"""Whose each command is: an agent's, or a person's alone."""

from __future__ import annotations

TYPE_CHECKING = False  # asked before anything heavy is imported
if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.actions import Deny

AGENTS = frozenset(
    {"test", "stub", "claim", "settle", "refactor", "test-bug", "aside", "restore", "sync", "cycle"}
)
READING = frozenset({"status", "log", "doctor", "displaced"})
PERSONS = frozenset(
    {"init", "uninit", "on", "off", "revise", "holdout", "run", "step", "code", "audit", "corpus", "fleet"}
)
LOCAL = frozenset({"demo", "completion", "help", "shell", "spec", "loop"})
"""They ask nothing of the kernel outside: served where they are called."""

_PERSONS_PARTS = {
    "cycle": ("abort", "run"),
    "log": ("repair",),
    "refactor": ("--uncovered",),
    "doctor": ("--room",),
    "spec": ("activate", "supersede"),
    "loop": ("new", "run", "daemon", "pause", "resume", "stop", "workflow"),
}
"""What lifts a law, says what is to be built, or runs the project's code unconfined, of a verb that is an
agent's otherwise."""


def local(argv: Sequence[str]) -> bool:
    """Whether a call needs no broker: help, the version, and what works on files of its own."""
    return not argv or argv[0].startswith("-") or (argv[0] in LOCAL and not _persons_part(argv))


def _persons_part(argv: Sequence[str]) -> str:
    parts = _PERSONS_PARTS.get(argv[0], ())
    return next((part for part in parts if part in argv[1:]), "")


def persons(verb: str) -> Deny:
    from verdigris.core.actions import Deny

    line = "tdd off WHY" if verb == "off" else f"tdd {verb} …"
    way = "to run it in a shell of their own"
    if not verb.startswith(("spec ", "loop ")):
        way = f"to write `{line}` as the first line of a prompt, or {way}"
    return Deny("persons-verb", f"Only a person may run `tdd {verb}`.", f"ask the person {way}")


def refusal(argv: Sequence[str]) -> Deny | None:
    """Why the broker does not serve a call from inside an agent's shell; None where it does."""
    verb = argv[0] if argv else ""
    part = _persons_part(argv) if argv else ""
    if verb in AGENTS | READING and not part:
        return None
    if verb in PERSONS:
        return persons(verb)
    if part:
        return persons(f"{verb} {part}")
    from verdigris.core.actions import Deny

    return Deny(
        "unknown-verb",
        f"`tdd {verb}` is not served inside an agent's shell.",
        "`tdd status` tells the next move; `tdd --help` lists the commands",
    )
