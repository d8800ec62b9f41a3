from __future__ import annotations

import json
from typing import Any

import pytest

from verdigris.models.roles.answer import (
    PARTS,
    Pin,
    RefusedAnswer,
    RoleAnswer,
    RoleEdit,
    Say,
    read_answer,
    schema,
)
from verdigris.models.roles.teams import MACHINE

EDIT = {"path": "a.py", "action": "upsert", "intent": "it", "content": "x\n", "to": None}
GOOD: dict[str, Any] = {
    "verdict": "edit",
    "reason": "",
    "rationale": "why",
    "read": [],
    "type": "feat",
    "subject": "add it",
    "edits": [EDIT],
}
TEXT = json.dumps(GOOD)


def changed(**about: Any) -> str:
    return json.dumps({**GOOD, **about})


def test_an_answer_is_read() -> None:
    assert read_answer(TEXT) == RoleAnswer(
        Say.EDIT, "why", type="feat", subject="add it", edits=(RoleEdit("a.py", "upsert", "it", "x\n"),)
    )


@pytest.mark.parametrize(
    "text",
    [
        f"\n  {TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{json.dumps(GOOD, indent=2)}\n```\n",
        f"<think>\nWhat about {{}}?\n</think>\n\n{TEXT}",
        f"I think of {{}} and\nof more.\n</think>\n{TEXT}",
        changed(edits=[{**EDIT, "content": "</think>\n"}]),
        f"\ufeff{TEXT}",
        changed(edits=[{**EDIT, "content": "a fence:\n```\nx\n```\n"}]),
    ],
)
def test_what_does_no_harm_around_it(text: str) -> None:
    assert isinstance(read_answer(text), RoleAnswer)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "The answer is empty: answer with the JSON object alone."),
        ("<think>hm</think>", "The answer is empty"),
        ("I would rather not.", 'holds no JSON object, but text that begins "I would rather not."'),
        (f"Sure! Here it is:\n{TEXT}", 'text before the JSON object ("Sure! Here it is: {'),
        (f"{TEXT}\nHope this helps.", 'text after the JSON object ("Hope this helps.")'),
        (f"Here:\n```json\n{TEXT}\n```", "text before the JSON object"),
        (f"{TEXT}\n{TEXT}", "more than one JSON object"),
        ('{"verdict": "edit",,}', "broken at line 1, column"),
        ('{"verdict": "edit" "x": 1}', "broken at line 1, column 20 (Expecting ',' delimiter)"),
        ('{"a": "one\ntwo"}', "a line break is written \\n"),
        (r'{"a": "\d"}', "a backslash is written \\\\"),
        (TEXT[:-20], "cut off at line 1"),
        ('{"verdict": "edit", "verdict": "edit"}', "the key 'verdict' is given twice"),
        ('{"verdict": NaN}', "NaN is no JSON"),
        ("{}", "missing required field `verdict` (at the object itself)"),
        (changed(verdict="maybe"), "Invalid enum value 'maybe' (at verdict)"),
        (changed(thoughts="x"), "unknown field `thoughts`"),
        (changed(edits=[{**EDIT, "patch": "x"}]), "unknown field `patch` (at edits[0])"),
        (changed(edits=[{**EDIT, "path": 1}]), "Expected `str`, got `int` (at edits[0].path)"),
        (changed(edits=[{"action": "upsert"}]), "missing required field `path` (at edits[0])"),
        (changed(edits=[{**EDIT, "action": "patch"}]), "Invalid enum value 'patch' (at edits[0].action)"),
        (changed(edits={}), "Expected `array`, got `object` (at edits)"),
        ("[" * 100_000, "holds no JSON object"),
        ('{"a": ' + "[" * 100_000, "no sound JSON"),
    ],
)
def test_a_bad_answer_is_refused_with_the_exact_reason(text: str, reason: str) -> None:
    refused = read_answer(text)
    assert isinstance(refused, RefusedAnswer)
    assert reason in refused.reasons[0]


def test_an_answer_that_the_server_cut_is_called_cut() -> None:
    refused = read_answer('{"verdict": "edit" "', finish="length")
    assert isinstance(refused, RefusedAnswer)
    assert "cut off" in refused.reasons[0]


def objects(schema: Any) -> list[dict[str, Any]]:
    found = [schema] if "object" in schema.get("type", "") else []
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return found + [each for part in inner for each in objects(part)]


def test_the_schema_is_as_strict_servers_want_it_and_agrees_with_the_reading() -> None:
    whole, edit, pin = objects(schema(MACHINE.commit_types, tuple(Say), tuple(PARTS)))[:3]
    whole, pin, edit = sorted(
        (whole, edit, pin), key=lambda each: ("path" in each["properties"], -len(each["properties"]))
    )
    for each in (whole, edit, pin):
        assert each["required"] == list(each["properties"])
        assert each["additionalProperties"] is False
    assert set(whole["properties"]) == set(RoleAnswer.__struct_fields__)
    assert set(edit["properties"]) == set(RoleEdit.__struct_fields__)
    assert set(pin["properties"]) == set(Pin.__struct_fields__)
    assert whole["properties"]["verdict"]["enum"] == [say.value for say in Say]


# -- slips that are mended -----------------------------------------------------------------------


SLOPPY: dict[str, Any] = {"path": "a.py", "action": "upsert", "content": "x = 'it\\'s, ]'\n"}
SAID: dict[str, Any] = {"verdict": "edit", "rationale": "why", "subject": "add it", "edits": [SLOPPY]}


def content_of(text: str) -> str | None:
    answer = read_answer(text)
    assert isinstance(answer, RoleAnswer), answer
    return answer.edits[0].content


def without(key: str, **more: Any) -> str:
    return json.dumps({**SAID, "edits": [{k: v for k, v in {**SLOPPY, **more}.items() if k != key}]})


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(SAID)[:-1] + ",}",
        json.dumps(SAID).replace("}]", "},\n ]"),
        repr(SAID),
        repr({**SAID, "read": []}).replace("'verdict'", '"verdict"'),
        repr({**SAID, "edits": [{**SLOPPY, "to": None}]}).replace("None", "null"),
        f"[{json.dumps(SAID)}]",
        without("action"),
        json.dumps({key: said for key, said in SAID.items() if key != "verdict"}),
    ],
)
def test_a_slip_costs_nothing(text: str) -> None:
    assert content_of(text) == SLOPPY["content"]


def test_an_edit_that_names_a_new_place_is_a_move() -> None:
    answer = read_answer(json.dumps({**SAID, "edits": [{"path": "a.py", "to": "b.py"}]}))
    assert isinstance(answer, RoleAnswer)
    assert answer.edits[0].action == "move"


@pytest.mark.parametrize("lines", [["a = 1", "b = 2"], ["a = 1\n", "b = 2\n"], ["a = 1\n", "b = 2"]])
def test_a_list_of_lines_is_a_text(lines: list[str]) -> None:
    said = json.dumps({**SAID, "edits": [{**SLOPPY, "content": lines}]})
    assert (content_of(said) or "").splitlines() == ["a = 1", "b = 2"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[1, 2]", "The answer is a JSON array"),
        (json.dumps({**SAID, "edits": [{"path": "a.py"}]}), "missing required field `action`"),
        (json.dumps([SLOPPY, 3]), "The answer is a JSON array"),
        ("{'verdict': 'edit', 'rationale': open('x')}", "broken"),
    ],
)
def test_what_is_in_doubt_is_not_guessed(text: str, why: str) -> None:
    answer = read_answer(text)
    assert isinstance(answer, RefusedAnswer)
    assert why in answer.reasons[0]
