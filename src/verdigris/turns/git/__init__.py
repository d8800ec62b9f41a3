"""What moves HEAD by the user's own git: `tdd sync`, and the commit of a judged tree."""

from __future__ import annotations
