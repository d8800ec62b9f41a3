"""What had to make way and is kept: where it lay, when, and under which name it is stored."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.turns.displaced import Kept


def lines(found: Sequence[Kept]) -> list[Line]:
    if not found:
        return [Line("Verdigris has overwritten nothing")]
    return [Line(f"{_when(each)}  {each.blob[:12]}  {each.path}") for each in found]


def _when(each: Kept) -> str:
    return datetime.fromtimestamp(each.ts / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def document(found: Sequence[Kept]) -> dict[str, Any]:
    return {"displaced": [{"path": k.path, "blob": k.blob, "event": k.seq, "ts": k.ts} for k in found]}
