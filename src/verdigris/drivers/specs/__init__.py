"""Specs: reads the formats that teams use, checks them, and puts a successor in their place."""

from __future__ import annotations
