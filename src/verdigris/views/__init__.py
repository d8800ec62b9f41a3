"""What people and programs read: they look at values and never change anything."""

from __future__ import annotations
