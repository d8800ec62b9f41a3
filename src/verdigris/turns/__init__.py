"""One module per verb of the law (test, claim, settle, refactor …) and the frame of every operation."""

from __future__ import annotations
