"""Programs that run inside the user's tools. They need Python 3.8, and pytest 7 where they run pytest."""

from __future__ import annotations
