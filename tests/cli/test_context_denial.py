from __future__ import annotations

import pytest

from verdigris.cli import context
from verdigris.core.actions import Deny

pytestmark = pytest.mark.quick

NO = Deny("red-first", "No source edit without a red.", "write a test")


def test_a_denial_has_rule_reason_and_next_move() -> None:
    texts = [line.text for line in context.denial_lines(NO)]
    assert texts == ["denied [red-first]", "No source edit without a red.", "next: write a test"]


def test_a_denial_as_data() -> None:
    assert context.denial_document(NO) == {
        "denied": {"rule": "red-first", "reason": "No source edit without a red.", "next": "write a test"}
    }
