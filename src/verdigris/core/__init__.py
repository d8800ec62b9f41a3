"""The law as pure functions on values: events, state, policy, verdicts, path classes, test ids; no I/O."""

from __future__ import annotations
