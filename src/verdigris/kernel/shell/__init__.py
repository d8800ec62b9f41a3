"""See `verdigris.kernel`."""

from __future__ import annotations
