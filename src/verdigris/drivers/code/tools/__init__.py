"""The tools of a session: their table, what each does on the kernel, and who carries a call out."""

from __future__ import annotations
