from __future__ import annotations

import pytest

from verdigris.cli import testing as view
from verdigris.core.confinement.needs import Need

pytestmark = pytest.mark.quick

NEEDS = (Need("room.env", "DATABASE_URL", "tests/a.py::b: KeyError: 'DATABASE_URL'"),)


def test_a_need_names_the_key_and_why_it_is_thought_of() -> None:
    (line,) = view.need_lines(NEEDS)
    assert line.text == (
        "  the run may lack something: a person may set `room: {env: [DATABASE_URL]}` in tdd.yaml"
        " (tests/a.py::b: KeyError: 'DATABASE_URL')"
    )
    assert line.dot == "yellow"
    assert view.need_data(NEEDS) == [{"key": "room.env", "value": "DATABASE_URL", "why": NEEDS[0].why}]


def test_what_a_test_says_cannot_steer_a_terminal() -> None:
    assert view.need_lines((Need("room.env", "A", "x\x1b[2J"),))[0].text.isprintable()
