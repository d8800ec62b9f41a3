"""Names that files on a user's disk may still use; nothing in this project imports them."""

from __future__ import annotations
