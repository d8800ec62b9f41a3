"""`tdd doctor`: every check, whatever the others found."""

from __future__ import annotations

from verdigris.setup.doctor.examination import examine
from verdigris.setup.doctor.findings import Finding

__all__ = ["Finding", "examine"]
