"""Confines a child: an overlay in place of the worktree, the rest read-only, a network of its own."""

from __future__ import annotations

from verdigris.kernel.sandbox.child import REFUSAL, REFUSED, preexec, refusal
from verdigris.kernel.sandbox.confinement import Confinement
from verdigris.kernel.sandbox.discarding import clear, discard
from verdigris.kernel.sandbox.network import Network
from verdigris.kernel.sandbox.probe import Ability, Availability, available, temporary
from verdigris.kernel.sandbox.remembering import forget, remembered
from verdigris.kernel.sandbox.traces import report

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
