"""A denial, for a person and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.views.lines import Line

if TYPE_CHECKING:
    from verdigris.core.actions import Deny


def lines(denial: Deny) -> list[Line]:
    return [Line(text) for text in denial.lines()]


def document(denial: Deny) -> dict[str, Any]:
    return {"denied": {"rule": denial.rule, "reason": denial.reason, "next": denial.next}}
