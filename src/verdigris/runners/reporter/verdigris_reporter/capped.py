"""Captured output, at a length that is worth sending."""

from __future__ import annotations

OUTPUT = 8_000


def capped(text: str) -> str:
    half = OUTPUT // 2
    return (
        text
        if len(text) <= OUTPUT
        else f"{text[:half]}\n... {len(text) - OUTPUT} left out ...\n{text[-half:]}"
    )
