"""What each role is shown, and how its answer is read and checked."""

from __future__ import annotations
