from __future__ import annotations

import pytest

from verdigris.cli import turn
from verdigris.turns.claim_check import Claimed

pytestmark = pytest.mark.quick


def test_a_claim_tells_what_came_back_and_what_did_not() -> None:
    made = Claimed(("t::a",), ("calc.py",), restored=("calc.py",), held_back=("a3",))
    texts = [line.text for line in turn.claim_lines(made, "green", "go on")]
    assert texts[0] == "claimed t::a → calc.py; phase green"
    assert "your edits are back: calc.py" in texts
    assert any("a3 conflicts" in text for text in texts)
    assert turn.claim_document(made, "green", "go on")["held_back"] == ["a3"]
