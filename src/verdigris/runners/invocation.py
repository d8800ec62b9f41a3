"""What a runner wants executed; the kernel does it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping


@value
class Invocation:
    argv: tuple[str, ...]
    """The same for every run of a stack, so that the process may be started before the rest is known."""
    arguments: tuple[str, ...]
    """The tool's own, given over the channel."""
    cwd: str
    channel_env: str
    """The variable in which the process finds the descriptor of its channel."""
    hello: bytes
    """What the process reads from the channel first."""
    nonce: str
    """Opens every line that the reporter writes."""
    command: str
    """As a person would type it."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of the run."""
