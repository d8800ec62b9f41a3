"""Reads the arguments of a model's tool calls, and makes every call fit to be sent back with an answer.

Arguments that are cut or junk are values with a reason: they are never completed by guessing, since a gate
has to know the bytes that it decides about.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from verdigris.core.value import replace, value
from verdigris.models.json_text import UnsoundJson, keys_once, repair_json
from verdigris.models.protocol import Message, ToolCall, ToolSpec

LENGTH = "length"
"""The `finish` of an answer that reached the limit of its tokens."""
_TELLING = ("path", "command", "ids", "test_ids", "text", "glob", "place", "job", "step", "summary")
"""Arguments that describe a call, the most telling first."""
_ABOUT = 90
_MEANINGS = {
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
    "array": "a list of texts",
    "object": "a list of objects",
}


@value
class BadArguments:
    words: str
    """To the model: what is wrong, and what the tool takes."""


def read_arguments(call: ToolCall, tool: ToolSpec, *, finish: str = "") -> dict[str, Any] | BadArguments:
    """Reads arguments by the tool's schema; null stands for an argument that is not there."""
    nothing = not call.arguments.strip() and not tool.parameters.get("required")
    found = {} if nothing else _parse(call.arguments)
    if isinstance(found, str):  # some servers write the object as a text once more
        found = _parse(found)
    if found is None and finish == LENGTH:
        found = UnsoundJson(
            f"its arguments were cut off after {len(call.arguments)} characters: make smaller calls"
        )
    given: dict[str, Any] = {}
    if isinstance(found, dict):
        given = {name: each for name, each in found.items() if each is not None}
        fault = _fault(given, tool.parameters)
    else:
        fault = str(found) if isinstance(found, UnsoundJson) else "its arguments are no JSON object"
    return BadArguments(f"{call.name} was not called: {fault}. {_usage(tool)}") if fault else given


def _parse(text: str) -> Any:
    """The document; None if the text is no JSON; a fault if its meaning is in doubt."""
    if not text.strip():
        return UnsoundJson("its arguments are empty")
    try:
        # Not strict: a line break that stands in a text as it is leaves no doubt.
        return json.loads(text, strict=False, object_pairs_hook=keys_once)
    except UnsoundJson as fault:
        return fault
    except (ValueError, RecursionError):
        return repair_json(text.strip())


def _fault(given: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    properties: Mapping[str, Any] = schema.get("properties", {})
    if unknown := [name for name in given if name not in properties]:
        return f"it has no argument {unknown[0]}"
    if missing := [name for name in schema.get("required", ()) if name not in given]:
        return f"it needs {', '.join(missing)}"
    for name, each in given.items():
        if not _fits(each, properties[name]):
            return f"{name} has to be {_describe_type(properties[name])}"
    return ""


def _fits(given: Any, schema: Mapping[str, Any]) -> bool:
    match schema.get("type"):
        case "string":
            return isinstance(given, str) and given in schema.get("enum", (given,))
        case "boolean":
            return isinstance(given, bool)
        case "integer":
            return isinstance(given, int) and not isinstance(given, bool)
        case "array":
            return isinstance(given, list) and all(_fits(each, schema["items"]) for each in given)
        case "object":
            return isinstance(given, dict) and not _fault(
                {name: each for name, each in given.items() if each is not None}, schema
            )
        case _:
            return True


def _describe_type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if schema.get("type") == "array" and schema["items"].get("type") == "object":
        return f"{_MEANINGS['object']} with {', '.join(schema['items']['properties'])}"
    return _MEANINGS.get(str(schema.get("type")), "of another kind")


def _usage(tool: ToolSpec) -> str:
    required = tool.parameters.get("required", ())
    names = [name if name in required else f"[{name}]" for name in tool.parameters.get("properties", {})]
    return f"It takes a JSON object with {', '.join(names) or 'nothing in it'}."


def arguments_of(text: str) -> dict[str, Any]:
    """Reads arguments for display; empty if they cannot be read."""
    try:
        given = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def describe_arguments(arguments: str) -> str:
    """Describes a call by its most telling argument, on a line."""
    given = arguments_of(arguments)
    found = next((given[name] for name in _TELLING if given.get(name)), "")
    told = " ".join(map(str, found)) if isinstance(found, list) else str(found)
    flat = " ".join(told.split())
    return flat if len(flat) <= _ABOUT else f"{flat[:_ABOUT]}…"


def sendable_calls(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """Makes calls that can be sent back: each has an id of its own, and arguments that any server reads.

    What was wrong with arguments stands in the call's answer.
    """
    taken: dict[str, int] = {}
    found = []
    for call in calls:
        count = taken[call.id] = taken.get(call.id, 0) + 1
        sound = isinstance(_parse(call.arguments), dict)
        name = call.id if count == 1 else f"{call.id}_{count}"
        found.append(replace(call, id=name, arguments=call.arguments if sound else "{}"))
    return tuple(found)


def cancel_calls(messages: Sequence[Message], why: str) -> tuple[Message, ...]:
    """Answers to the calls of the last reply that have none: a conversation with one open is refused."""
    said = next((at for at, each in reversed(list(enumerate(messages))) if each.role == "assistant"), None)
    if said is None:
        return ()
    answered = {each.call_id for each in messages[said + 1 :] if each.role == "tool"}
    return tuple(
        Message("tool", why, call_id=call.id) for call in messages[said].calls if call.id not in answered
    )
