"""Confines a child: an overlay in place of the worktree, the rest read-only, a network of its own."""

from __future__ import annotations

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from verdigris.sandbox.child import (
        REFUSAL,
        REFUSED,
        Ability,
        Availability,
        available,
        forget,
        preexec,
        refusal,
        remembered,
    )
    from verdigris.sandbox.confinement import Confinement, Network
    from verdigris.sandbox.entry import temporary
    from verdigris.sandbox.folders import clear, discard
    from verdigris.sandbox.written_paths import report

__all__ = [
    "REFUSAL",
    "REFUSED",
    "Ability",
    "Availability",
    "Confinement",
    "Network",
    "available",
    "clear",
    "discard",
    "forget",
    "preexec",
    "refusal",
    "remembered",
    "report",
    "temporary",
]

_MODULES = {
    "child": (
        "Ability",
        "Availability",
        "REFUSAL",
        "REFUSED",
        "available",
        "forget",
        "preexec",
        "refusal",
        "remembered",
    ),
    "confinement": ("Confinement", "Network"),
    "folders": ("clear", "discard"),
    "entry": ("temporary",),
    "written_paths": ("report",),
}


def __getattr__(name: str) -> object:
    """Loaded when asked for: a shell call and a head start need a part, and before anything else is."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(__import__(f"{__name__}.{module}", fromlist=(name,)), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
