"""What a careless answer plainly means is used; what may mean two things goes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from verdigris.models.roles.answer import RefusedAnswer, RoleAnswer, read_answer

EDIT: dict[str, Any] = {"path": "a.py", "action": "upsert", "content": "x = 'it\\'s, ]'\n"}
SAID: dict[str, Any] = {"verdict": "edit", "rationale": "why", "subject": "add it", "edits": [EDIT]}


def content_of(text: str) -> str | None:
    answer = read_answer(text)
    assert isinstance(answer, RoleAnswer), answer
    return answer.edits[0].content


def without(key: str, **more: Any) -> str:
    return json.dumps({**SAID, "edits": [{k: v for k, v in {**EDIT, **more}.items() if k != key}]})


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(SAID)[:-1] + ",}",
        json.dumps(SAID).replace("}]", "},\n ]"),
        repr(SAID),
        repr({**SAID, "read": []}).replace("'verdict'", '"verdict"'),
        repr({**SAID, "edits": [{**EDIT, "to": None}]}).replace("None", "null"),
        f"[{json.dumps(SAID)}]",
        without("action"),
        json.dumps({key: said for key, said in SAID.items() if key != "verdict"}),
    ],
)
def test_a_slip_costs_nothing(text: str) -> None:
    assert content_of(text) == EDIT["content"]


def test_an_edit_that_names_a_new_place_is_a_move() -> None:
    answer = read_answer(json.dumps({**SAID, "edits": [{"path": "a.py", "to": "b.py"}]}))
    assert isinstance(answer, RoleAnswer)
    assert answer.edits[0].action == "move"


@pytest.mark.parametrize("lines", [["a = 1", "b = 2"], ["a = 1\n", "b = 2\n"], ["a = 1\n", "b = 2"]])
def test_a_list_of_lines_is_a_text(lines: list[str]) -> None:
    said = json.dumps({**SAID, "edits": [{**EDIT, "content": lines}]})
    assert (content_of(said) or "").splitlines() == ["a = 1", "b = 2"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[1, 2]", "The answer is a JSON array"),
        (json.dumps({**SAID, "edits": [{"path": "a.py"}]}), "missing required field `action`"),
        (json.dumps([EDIT, 3]), "The answer is a JSON array"),
        ("{'verdict': 'edit', 'rationale': open('x')}", "broken"),
    ],
)
def test_what_is_in_doubt_is_not_guessed(text: str, why: str) -> None:
    answer = read_answer(text)
    assert isinstance(answer, RefusedAnswer)
    assert why in answer.reasons[0]
