"""What a run seems to have lacked, and the key that gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.core.needs import written
from verdigris.views.lines import Line, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.needs import Need


def lines(needs: Sequence[Need]) -> list[Line]:
    return [Line(f"  {visible(_told(need))}", "yellow") for need in needs]


def _told(need: Need) -> str:
    (setting,) = written((need,))
    return f"perhaps the run lacks something: a person may set `{setting}` in tdd.yaml ({need.why})"


def data(needs: Sequence[Need]) -> list[dict[str, Any]]:
    return [{"key": need.key, "value": need.value, "why": need.why} for need in needs]
