"""Edits that are set aside, and edits that came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.views.line import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.state import LaidAside


def aside_lines(laid: LaidAside | None) -> list[Line]:
    if laid is None:
        return [Line("nothing to set aside: no source was edited before a red")]
    return [
        Line(f"set aside as {laid.id}, comes back with the next claim: {', '.join(laid.paths)}"),
        Line("next: `tdd test ID` proves the red without them, then `tdd claim ID PATH`"),
    ]


def aside_document(laid: LaidAside | None) -> dict[str, Any]:
    return {"aside": None if laid is None else laid.id, "paths": [] if laid is None else list(laid.paths)}


def restored_lines(aside: str, paths: Sequence[str]) -> list[Line]:
    return [Line(f"your edits {aside} are back: {', '.join(paths)}")]


def restored_document(aside: str, paths: Sequence[str]) -> dict[str, Any]:
    return {"restored": aside, "paths": list(paths)}
