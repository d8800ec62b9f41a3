"""Confines a child: an overlay in place of the worktree, the rest read-only, a network of its own."""

from __future__ import annotations

from verdigris.kernel.sandbox.child import REFUSAL, REFUSED, preexec
from verdigris.kernel.sandbox.confinement import Confinement
from verdigris.kernel.sandbox.discarding import discard
from verdigris.kernel.sandbox.network import Network
from verdigris.kernel.sandbox.probe import Ability, Availability, available
from verdigris.kernel.sandbox.traces import report

__all__ = [
    "REFUSAL",
    "REFUSED",
    "Ability",
    "Availability",
    "Confinement",
    "Network",
    "available",
    "discard",
    "preexec",
    "report",
]
