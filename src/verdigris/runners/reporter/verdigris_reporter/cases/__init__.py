"""unittest, told message by message as the pytest plugin tells pytest: nothing here needs pytest."""

from __future__ import annotations
