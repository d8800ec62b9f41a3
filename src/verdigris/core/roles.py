"""The six roles, and the name that each has in a driver: in `tdd.yaml`, commits, logs and recordings."""

from __future__ import annotations

from typing import Literal, TypeAlias

RoleKind: TypeAlias = Literal["planner", "tester", "validator", "coder", "refactorer", "optimizer"]

NAMES: dict[str, dict[RoleKind, str]] = {
    "machine": {"tester": "tester", "coder": "implementor", "refactorer": "refactorer"},
    "cycle": {
        "planner": "planner",
        "tester": "test_author",
        "validator": "validator",
        "coder": "coder",
    },
    "loop": {
        "tester": "test_writer",
        "coder": "code_writer",
        "refactorer": "improver",
        "optimizer": "optimizer",
    },
}
"""By driver, in the order of their turns."""

KINDS: dict[str, RoleKind] = {name: kind for names in NAMES.values() for kind, name in names.items()}
"""By any name of it."""


def names_of(driver: str, *kinds: RoleKind) -> tuple[str, ...]:
    """The names of these roles in a driver; without any, of all that it has."""
    return tuple(NAMES[driver][kind] for kind in kinds or NAMES[driver])
