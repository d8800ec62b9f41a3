"""The room: a run sees the tree it is asked about, and nothing that it writes has an effect."""

from __future__ import annotations
