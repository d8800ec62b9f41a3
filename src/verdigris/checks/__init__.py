"""What a verdict asks beyond pass and fail: weakening, liveness, coverage, foundation, held-out tests."""

from __future__ import annotations
