"""The settlement's footer: at most 80 tokens, the same bytes for the same facts, for a model to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.shown import some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.verdict import Verdict

LIMIT = 240
"""Characters: at three to a token, the worst that tokenizers do to such text, that is 80 tokens."""


def footer(verdict: Verdict, claimed: Sequence[str], paths: Sequence[str], phase: str, following: str) -> str:
    """What matters most stands first and last; the middle gives way when it does not fit."""
    head = f"[tdd] {verdict.kind}"
    tail = f"phase {phase}; next: {following}"
    subject = verdict.reasons[0] if verdict.reasons else some(claimed)
    middle = f"{subject}; edited {some(paths)}" if paths else subject
    room = LIMIT - len(head) - len(_shorten(tail, LIMIT // 2)) - len(": . ")
    return f"{head}: {_shorten(middle, room)}. {_shorten(tail, LIMIT // 2)}"


def _shorten(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
