"""Edits that are set aside, and edits that came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.state import LaidAside


def aside_lines(laid: LaidAside | None, following: str) -> list[Line]:
    if laid is None:
        return [Line("nothing to set aside: no source was edited before a red"), Line(f"next: {following}")]
    return [
        Line(f"set aside as {laid.id}, comes back with the next claim: {', '.join(laid.paths)}"),
        Line(f"next: {following}"),
    ]


def aside_document(laid: LaidAside | None, following: str) -> dict[str, Any]:
    if laid is None:
        return {"aside": None, "paths": [], "next": following}
    return {"aside": laid.id, "paths": list(laid.paths), "next": following}


def restored_lines(aside: str, paths: Sequence[str]) -> list[Line]:
    return [Line(f"your edits {aside} are back: {', '.join(paths)}")]


def restored_document(aside: str, paths: Sequence[str]) -> dict[str, Any]:
    return {"restored": aside, "paths": list(paths)}
