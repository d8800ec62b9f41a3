"""An agent's shell, confined in place: what the phase protects is read-only."""

from __future__ import annotations
