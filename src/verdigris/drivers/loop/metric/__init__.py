"""The number that a program is judged by: measured in a room, read and compared."""

from __future__ import annotations
