from __future__ import annotations

import pytest

from verdigris.cli import inspection as view
from verdigris.setup.doctor_checks import DoctorFinding

pytestmark = pytest.mark.quick

FOUND = (DoctorFinding("git", "ok", "2.40"), DoctorFinding("pytest", "fail", "missing", "install it"))


def test_each_finding_has_a_dot_and_its_fix() -> None:
    lines = view.finding_lines(FOUND)
    assert [(line.text, line.dot) for line in lines] == [
        ("ok   git: 2.40", "green"),
        ("fail pytest: missing", "red"),
        ("         fix: install it", None),
    ]


def test_details_stand_between_a_finding_and_its_fix_and_cannot_steer_a_terminal() -> None:
    finding = DoctorFinding("room", "warn", "2 differ", "set it", ("one", "two\x1b[2J"))
    assert [line.text.strip() for line in view.finding_lines((finding,))] == [
        "warn room: 2 differ", "one", "two\\x1b[2J", "fix: set it",
    ]  # fmt: skip
    assert view.finding_document((finding,))["findings"][0]["details"] == ["one", "two\x1b[2J"]


def test_the_document_says_whether_all_is_well() -> None:
    assert view.finding_document(FOUND)["ok"] is False
    assert view.finding_document(FOUND[:1]) == {
        "ok": True,
        "findings": [{"name": "git", "level": "ok", "what": "2.40", "fix": "", "details": []}],
    }
