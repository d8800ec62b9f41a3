from __future__ import annotations

from verdigris.cli import when_stuck
from verdigris.core.state import LaidAside

LAID = LaidAside("a1", ("calc.py",), "e", "s", "edited before a red", back_at_claim=True)


def test_laying_aside_and_on() -> None:
    assert "a1" in when_stuck.aside_lines(LAID, "on")[0].text
    assert "nothing" in when_stuck.aside_lines(None, "on")[0].text
    assert when_stuck.aside_document(LAID, "on") == {"aside": "a1", "paths": ["calc.py"], "next": "on"}
    assert when_stuck.aside_document(None, "on") == {"aside": None, "paths": [], "next": "on"}
    assert when_stuck.restored_document("a1", ("x",), "go on") == {
        "restored": "a1",
        "paths": ["x"],
        "next": "go on",
    }
