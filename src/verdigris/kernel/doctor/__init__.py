"""`tdd doctor`: every check, whatever the others found."""

from __future__ import annotations

from verdigris.kernel.doctor.examine import examine
from verdigris.kernel.doctor.finding import Finding

__all__ = ["Finding", "examine"]
