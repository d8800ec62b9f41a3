"""What a git move brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.views.lines import Line

if TYPE_CHECKING:
    from verdigris.turns.sync import Moved

MOST = 10


def lines(moved: Moved) -> list[Line]:
    more = f" and {len(moved.brought) - MOST} more" if len(moved.brought) > MOST else ""
    brought = f"accepted as the new baseline: {', '.join(moved.brought[:MOST])}{more}"
    found = [Line(brought)] if moved.brought else []
    if moved.in_progress is None:
        return found
    how = f"`tdd sync -- {moved.in_progress} --continue` or `--abort`"
    return [*found, Line(f"a {moved.in_progress} is in progress; next: {how}")]
