"""An answer put together from the pieces in which a server sends it."""

from __future__ import annotations

import re
from typing import Any

from verdigris.models.protocol import Reply, ToolCall, Usage

_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)
"""Some servers leave a model's reasoning in front of its answer."""


class Hearing:
    """Takes pieces and whole answers, as JSON documents; `finish` is empty until the model has ended."""

    def __init__(self) -> None:
        self.finish = ""
        self._text: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._usage: Usage | None = None
        self._model = ""

    def take(self, document: dict[str, Any]) -> None:
        self._model = document.get("model") or self._model
        self._usage = _usage(document.get("usage")) or self._usage
        for choice in (document.get("choices") or [])[:1]:
            self._said(choice.get("delta") or choice.get("message") or {})
            self.finish = choice.get("finish_reason") or self.finish

    def _said(self, delta: dict[str, Any]) -> None:
        self._text += filter(None, [delta.get("content"), delta.get("refusal")])
        for place, call in enumerate(delta.get("tool_calls") or []):
            self._called(call, place)

    def _called(self, call: dict[str, Any], place: int) -> None:
        """Pieces of one call share an index; where a server sends none, a new id begins a new call."""
        index = call.get("index")
        if index is None:
            known = [at for at, each in self._calls.items() if each["id"] == call.get("id")]
            index = known[0] if known else len(self._calls) if call.get("id") else place
        begun = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
        function = call.get("function") or {}
        begun["id"] = begun["id"] or call.get("id") or ""
        begun["name"] = begun["name"] or function.get("name") or ""
        begun["arguments"] += function.get("arguments") or ""

    @property
    def empty(self) -> bool:
        return not self._calls and not "".join(self._text).strip()

    def reply(self) -> Reply:
        calls = tuple(
            ToolCall(call["id"] or f"call_{index}", call["name"], call["arguments"])
            for index, call in sorted(self._calls.items())
        )
        text = _THOUGHT.sub("", "".join(self._text))
        return Reply(text, calls, self._usage or Usage(estimated=True), self.finish, self._model)


def _usage(said: dict[str, Any] | None) -> Usage | None:
    if not said or not said.get("prompt_tokens"):
        return None
    details = said.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens") or said.get("prompt_cache_hit_tokens") or 0
    return Usage(said["prompt_tokens"], cached, said.get("completion_tokens") or 0)
