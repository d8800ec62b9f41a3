"""What a person watches: live terminal views of a run and of the demo."""

from __future__ import annotations
