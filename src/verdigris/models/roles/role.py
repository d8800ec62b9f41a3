"""The three roles of the machine, their order, and the kinds of commit that each may make."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    TESTER = "tester"
    IMPLEMENTOR = "implementor"
    REFACTORER = "refactorer"

    @property
    def following(self) -> Role:
        """Who comes next: tester → implementor → refactorer → tester …"""
        order = tuple(Role)
        return order[(order.index(self) + 1) % len(order)]

    @property
    def commit_types(self) -> tuple[str, ...]:
        """Of conventional commits; the usual one first."""
        return _TYPES[self]


_TYPES = {
    Role.TESTER: ("test",),
    Role.IMPLEMENTOR: ("feat", "fix"),
    Role.REFACTORER: ("refactor",),
}

COMMIT_TYPES = tuple(kind for kinds in _TYPES.values() for kind in kinds)
