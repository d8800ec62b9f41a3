"""Programs as people write them: read, found, checked, chosen by schedule, and bound to their targets."""

from __future__ import annotations
