"""Confines a child: an overlay in place of the worktree, the rest read-only, a network of its own."""

from __future__ import annotations

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from verdigris.sandbox.child import REFUSAL, REFUSED, preexec, refusal
    from verdigris.sandbox.confinement import Confinement
    from verdigris.sandbox.discarding import clear, discard
    from verdigris.sandbox.network import Network
    from verdigris.sandbox.places import temporary
    from verdigris.sandbox.probe import Ability, Availability, available
    from verdigris.sandbox.remembering import forget, remembered
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
    "child": ("REFUSAL", "REFUSED", "preexec", "refusal"),
    "confinement": ("Confinement",),
    "discarding": ("clear", "discard"),
    "network": ("Network",),
    "places": ("temporary",),
    "probe": ("Ability", "Availability", "available"),
    "remembering": ("forget", "remembered"),
    "written_paths": ("report",),
}


def __getattr__(name: str) -> object:
    """Loaded when asked for: a shell call and a head start need a part, and before anything else is."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(__import__(f"{__name__}.{module}", fromlist=(name,)), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
