"""The documents that an OpenAI-compatible server sends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from support.openai_steps import Answer, Call, Request


def chunk(request: Request, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": request.model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def whole(answer: Answer, request: Request, usage: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [_called(call, index) for index, call in enumerate(answer.calls)]
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 0,
        "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(answer)}],
        **({"usage": usage} if answer.usage else {}),
    }


def finish(answer: Answer) -> str:
    return answer.finish or ("tool_calls" if answer.calls else "stop")


def _called(call: Call, index: int) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments(call)}
    return {"index": index, "id": call.id or f"call_{index}", "type": "function", "function": function}


def deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    """Text and arguments in pieces, as real servers send them."""
    yield {"role": "assistant", "content": ""}
    yield from ({"reasoning_content": piece} for piece in _pieces(answer.reasoning))
    yield from ({"content": piece} for piece in _pieces(answer.text))
    for index, call in enumerate(answer.calls):
        begun = _called(call, index)
        begun["function"] = {**begun["function"], "arguments": ""}
        yield {"tool_calls": [begun]}
        for piece in _pieces(arguments(call)):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> Iterator[str]:
    size = max(7, len(text) // 20)
    yield from (text[start : start + size] for start in range(0, len(text), size))


def arguments(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
