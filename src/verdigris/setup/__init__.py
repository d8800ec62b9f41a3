"""What makes a repository ready: detection, `tdd init`, scaffolds, and `tdd doctor`."""

from __future__ import annotations
