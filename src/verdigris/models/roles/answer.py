"""The answer of a role: its schema and its reading."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, NoReturn, get_args, get_origin

import msgspec
from msgspec import Meta

from verdigris.core.value import value
from verdigris.models.json_text import UnsoundJson, keys_once, repair_json


class Say(StrEnum):
    """What an answer comes to; all but EDIT end the step."""

    EDIT = "edit"
    NOTHING_TO_DO = "nothing-to-do"
    TEST_IS_WRONG = "test-is-wrong"
    TEST_IS_RIGHT = "test-is-right"
    """The tester's, of a test that came back."""
    KATA_IS_WRONG = "kata-is-wrong"
    KATA_DONE = "kata-done"
    SPEC_IS_WRONG = "spec-is-wrong"
    PROGRAM_IS_WRONG = "program-is-wrong"
    PASS = "PASS"  # noqa: S105 - a verdict
    """A validator's, as the two after it: they judge what others wrote."""
    CONCERNS = "CONCERNS"
    BLOCKER = "BLOCKER"


Action = Literal["upsert", "delete", "move"]


class RoleEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="from the project's root")]
    action: Action
    intent: Annotated[str, Meta(description="what this edit is for, in a few words")] = ""
    content: Annotated[str | None, Meta(description="the file's whole new text")] = None
    to: Annotated[str | None, Meta(description="for `move`: the new path")] = None


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a test is to pin down, stated with it."""

    target: Annotated[str, Meta(description="what is specified: a function, a method, a bug")] = ""
    behaviour: Annotated[str, Meta(description="the behaviour that the test pins, in one sentence")] = ""
    source: Annotated[
        str, Meta(description="the source of truth that says so: a path, an address, a bullet")
    ] = ""
    assertions: Annotated[tuple[str, ...], Meta(description="the fewest that capture it")] = ()
    included: Annotated[tuple[str, ...], Meta(description="edge cases that the test has")] = ()
    excluded: Annotated[
        tuple[str, ...], Meta(description="edge cases that it leaves out, each with the reason")
    ] = ()


class RoleAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer as it is read; servers are sent its schema, and people read the descriptions there."""

    verdict: Say
    rationale: Annotated[str, Meta(description="the plan, or why this change is made now")]
    reason: Annotated[str, Meta(description="why the verdict is not `edit`; empty for `edit`")] = ""
    read: Annotated[tuple[str, ...], Meta(description="files to be shown first")] = ()
    type: str = ""
    subject: Annotated[str, Meta(description="the commit's subject without its type")] = ""
    points: Annotated[
        tuple[int, ...],
        Meta(description="of the tester: the numbers of the kata's points that the test shows"),
    ] = ()
    findings: Annotated[
        tuple[str, ...], Meta(description="of the validator: each as `file:line — what is wrong`")
    ] = ()
    pin: Pin | None = None
    improvement: Annotated[str, Meta(description="of a refactor: what gets better, in a line")] = ""
    lesson: Annotated[str, Meta(description="a rule that holds beyond this step, or empty")] = ""
    edits: tuple[RoleEdit, ...] = ()


@value
class RefusedAnswer:
    """An answer that cannot be used: what goes back, reason by reason."""

    reasons: tuple[str, ...]
    unseen: tuple[str, ...] = ()
    """Files that it replaces without having seen them whole: they go back with the reasons."""


PARTS = {"points": "[2]", "findings": "[]", "pin": "null", "improvement": '""', "lesson": '""'}
"""The parts of an answer that only some roles have, and each as JSON in the answer that the prompt shows."""
SCHEMA_NAME = "edit_plan"


def schema(commit_types: Sequence[str], says: Sequence[Say], parts: Sequence[str] = ()) -> dict[str, Any]:
    """One for every question to every role of a driver: a provider caches it with the prompt's beginning.

    `says`: the verdicts that its roles may give. `parts`: what some of them state besides, of `PARTS`.
    """
    whole = _schema_of(RoleAnswer)["properties"]
    own = {
        "verdict": {"type": "string", "enum": [say.value for say in says]},
        "type": {"type": "string", "enum": ["", *commit_types]},
    }
    names = ("verdict", "reason", "rationale", "read", "type", "subject", *parts, "edits")
    return _closed_object({name: own.get(name, whole[name]) for name in names})


def _schema_of(kind: Any) -> dict[str, Any]:
    """Makes it as strict servers want it: each key of an object is required, and no other is allowed."""
    arguments = get_args(kind)
    match get_origin(kind):
        case _ if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return _closed_object({one.name: _schema_of(one.type) for one in msgspec.structs.fields(kind)})
        case origin if origin is Annotated:
            return {**_schema_of(arguments[0]), "description": arguments[1].description}
        case origin if origin is tuple:
            return {"type": "array", "items": _schema_of(arguments[0])}
        case origin if origin is Literal:
            return {"type": "string", "enum": list(arguments)}
        case None:
            return {"type": "integer" if kind is int else "string"}
        case _:  # a union with None
            inner = _schema_of(arguments[0])
            return {**inner, "type": [inner["type"], "null"]}


def _closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEST_BUG = re.compile(r"^[\s>*-]*TEST_BUG:[ \t]*(\S.*)$", re.MULTILINE)

_THOUGHT = re.compile(r"\A(?!\s*[{`]).*?</(?:think|thinking|reasoning)>", re.DOTALL)
"""The opening tag is often part of the server's template, so only the closing one is there."""
_FENCE = re.compile(r"\A(`{3,}|~{3,})[\w-]*[ \t]*\n(.*?)\n?\1\Z", re.DOTALL)
_ONLY = "answer with the JSON object alone"


def read_answer(text: str, *, finish: str = "") -> RoleAnswer | RefusedAnswer:
    """One JSON object; a fence around all of it and a model's marked thoughts do no harm.

    Slips that leave no doubt about what is meant are mended.
    """
    bare = strip_wrapping(text)
    if not bare:
        return RefusedAnswer((f"The answer is empty: {_ONLY}.",))
    found = repair_json(bare)
    if found is not None:
        return _convert(repair_shape(found))
    if prose := _find_prose(bare):
        return RefusedAnswer((prose,))
    try:
        found = json.loads(bare, object_pairs_hook=keys_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return RefusedAnswer((_describe_broken(bare, error, cut=finish == "length"),))
    except (UnsoundJson, RecursionError) as error:
        return RefusedAnswer((f"The answer is no sound JSON: {error}.",))
    return _convert(repair_shape(found))


def find_test_bug(text: str, answer: RoleAnswer | RefusedAnswer) -> str:
    """The text of a line `TEST_BUG: file:line — why` in an answer, also in one that cannot be read."""
    words = text if isinstance(answer, RefusedAnswer) else f"{answer.rationale}\n{answer.reason}"
    found = _TEST_BUG.search(words)
    return found[1].strip() if found else ""


def strip_wrapping(text: str) -> str:
    """Takes out thoughts that the server left in, and a fence around everything."""
    rest = _THOUGHT.sub("", text.removeprefix("\ufeff"), count=1).strip()
    fence = _FENCE.match(rest)
    return (fence[2] if fence else rest).strip()


def _find_prose(text: str) -> str:
    start = text.find("{")
    if start < 0:
        return f"The answer holds no JSON object, but text that begins {_quote(text)}: {_ONLY}."
    if start > 0:
        return f"There is text before the JSON object ({_quote(text)}): {_ONLY}."
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (json.JSONDecodeError, RecursionError):
        return ""
    rest = text[end:].strip()
    if rest.startswith("{"):
        return "There is more than one JSON object: answer with a single one that holds all the edits."
    return f"There is text after the JSON object ({_quote(rest)}): {_ONLY}." if rest else ""


def _describe_broken(text: str, error: json.JSONDecodeError, *, cut: bool) -> str:
    at = f"line {error.lineno}, column {error.colno}"
    if cut or error.pos >= len(text.rstrip()):
        return (
            f"The answer was cut off at {at}, after {len(text)} characters: answer shorter, with fewer edits."
        )
    near = text[max(0, error.pos - 30) : error.pos + 20]
    hint = ""
    if error.msg.startswith("Invalid control character"):
        hint = "; within a string a line break is written \\n and a tab \\t"
    elif error.msg.startswith("Invalid \\escape"):
        hint = "; within a string a backslash is written \\\\"
    return f"The JSON is broken at {at} ({error.msg}), near {_quote(near, 50)}{hint}."


def _no_constant(name: str) -> NoReturn:
    raise UnsoundJson(f"{name} is no JSON")


def _convert(found: Any) -> RoleAnswer | RefusedAnswer:
    if isinstance(found, list):
        return RefusedAnswer((f"The answer is a JSON array: {_ONLY}, with the edits in its list `edits`.",))
    try:
        return msgspec.convert(found, RoleAnswer)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        place = where.strip("`").removeprefix("$").removeprefix(".") or "the object itself"
        return RefusedAnswer((f"The answer does not have the agreed shape: {what} (at {place}).",))


def _quote(text: str, limit: int = 40) -> str:
    flat = " ".join(text.split())
    return json.dumps(flat if len(flat) <= limit else flat[:limit] + "…", ensure_ascii=False)


def repair_shape(found: Any) -> Any:
    """An array of one answer is that answer, an array of edits is their list; each edit as it must be."""
    match found:
        case [{"verdict": _} as only]:
            return repair_shape(only)
        case [{"path": _}, *_] if all(isinstance(each, dict) for each in found):
            return repair_shape({"verdict": "edit", "rationale": "", "edits": found})
        case {"edits": list(edits)}:
            usual = {"verdict": "edit"} if edits and "verdict" not in found else {}
            return {**usual, **found, "edits": [_edit(each) for each in edits]}
    return found


def _edit(edit: Any) -> Any:
    if not isinstance(edit, dict):
        return edit
    mended = dict(edit)
    match edit.get("content"):
        case [*lines] if lines and all(isinstance(line, str) for line in lines):
            ended = len(lines) > 1 and all(line.endswith("\n") for line in lines[:-1])
            mended["content"] = "".join(lines) if ended else "\n".join(lines) + "\n"
    if not edit.get("action"):
        if edit.get("to"):
            mended["action"] = "move"
        elif isinstance(mended.get("content"), str):
            mended["action"] = "upsert"
    return mended
