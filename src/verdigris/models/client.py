"""One call of a model's server through the `openai` SDK; returns an answer or a `Failure`.

Imported when a model is called, not before: the SDK takes a second to load.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx2
import openai

from verdigris.models.failure import Meaning, ModelFailure, Refusal, meaning_of, message_of, retry_after
from verdigris.models.protocol import ModelReply, ToolCall, Usage
from verdigris.models.request import features_of

if TYPE_CHECKING:
    import ssl

    from verdigris.models.providers import Endpoint


CONNECTING = 10.0
WHOLE = 10
"""An answer may take this many times the longest silence that is allowed."""
LARGEST = 64 * 1024 * 1024


class Endless(Exception):
    """A server that sends signs of life, or bytes, without end."""


class ModelClient:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        timeout = endpoint.timeout
        self._sdk = openai.OpenAI(
            base_url=endpoint.base_url,
            api_key="none",  # the real one goes with each request; with none, the SDK looks for OpenAI's
            max_retries=0,
            timeout=openai.Timeout(timeout, connect=min(CONNECTING, timeout)),
            http_client=openai.DefaultHttpxClient(
                verify=_authorities(trust_env := not endpoint.local),
                event_hooks={"response": [self._watch]},
                trust_env=trust_env,  # proxies, which do not lead back to this machine
            ),
        )

    def close(self) -> None:
        self._sdk.close()

    def complete(
        self, request: dict[str, Any], key: str, hear: Callable[[str], object] | None = None
    ) -> AnswerStream | ModelFailure:
        """`hear`: see `AnswerStream`."""
        try:
            return self._receive(request, key, AnswerStream(hear))
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is reported in our words, without its request
            return self._failure(error, request)

    def models(self, key: str) -> tuple[str, ...] | ModelFailure:
        """What the server lists."""
        try:
            response = self._sdk.models.with_raw_response.list(extra_headers=self._headers(key)).http_response
            if "html" in response.headers.get("content-type", ""):
                return self._no_api()
            return tuple(str(each["id"]) for each in json.loads(response.text)["data"])
        except Exception as error:  # noqa: BLE001 - same
            return self._failure(error, {})

    def _receive(
        self, request: dict[str, Any], key: str, hearing: AnswerStream
    ) -> AnswerStream | ModelFailure:
        pieces = self._sdk.post(
            "/chat/completions",
            body=request,
            options={"headers": self._headers(key)},
            cast_to=object,  # as they are: the SDK took longer to check them than all else
            stream=True,
            stream_cls=openai.Stream[Any],
        )
        response = pieces.response
        try:
            kind = response.headers.get("content-type", "")
            if "html" in kind:
                return self._no_api()
            if "json" in kind:
                hearing.take(_document(response.read()))
            else:
                for piece in pieces:
                    hearing.take(piece)
        finally:
            response.close()
        return hearing if hearing.finish else self._cut()

    def _headers(self, key: str) -> dict[str, Any]:
        """An organisation or a project of OpenAI's in the environment is no other server's business."""
        own = httpx2.URL(self._endpoint.base_url).host.endswith("openai.com")
        foreign = {} if own else {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        return {"Authorization": f"Bearer {key}" if key else openai.Omit(), **foreign}

    def _watch(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream)  # noqa: S101 - of a client that is not async
        response.stream = _Watched(response.stream, time.monotonic() + WHOLE * self._endpoint.timeout)

    def _failure(self, error: Exception, request: dict[str, Any]) -> ModelFailure:
        shown = self._endpoint.shown
        match error:
            case openai.APIStatusError():
                said, code = message_of(error.body, error.response.text)
                after = retry_after(error.response.headers, said)
                refusal = Refusal(error.status_code, said, code, after)
                return meaning_of(refusal, self._endpoint, features_of(request))
            case openai.APITimeoutError() if isinstance(error.__cause__, httpx2.ConnectTimeout):
                return ModelFailure(Meaning.AGAIN, f"no connection to {shown}: it does not answer")
            case openai.APITimeoutError():
                return ModelFailure(Meaning.AGAIN, f"{shown} was silent for {self._endpoint.timeout:g} s")
            case openai.APIConnectionError() if isinstance(error.__cause__, httpx2.ConnectError):
                return ModelFailure(Meaning.AGAIN, f"no connection to {shown}: {_reason(error.__cause__)}")
            case openai.APIConnectionError() if isinstance(
                error.__cause__, httpx2.UnsupportedProtocol | httpx2.InvalidURL
            ):
                return ModelFailure(
                    Meaning.MISUSED, f"{shown}: the base URL cannot be used", "check base_url in tdd.yaml"
                )
            case openai.APIConnectionError():
                return self._cut()
            case openai.APIError():
                said, code = message_of(error.body, error.message)
                status = int(code) if code.isdigit() and len(code) == 3 else 502  # noqa: PLR2004
                return meaning_of(Refusal(status, said, code), self._endpoint, features_of(request))
            case Endless():
                return ModelFailure(Meaning.AGAIN, f"the answer of {shown} {error}")
            case ValueError() | KeyError() | TypeError() | AttributeError():
                return ModelFailure(
                    Meaning.AGAIN, f"{shown} sent an answer that cannot be read ({type(error).__name__})"
                )
            case _:
                return ModelFailure(Meaning.AGAIN, f"the call of {shown} failed ({type(error).__name__})")

    def _cut(self) -> ModelFailure:
        return ModelFailure(Meaning.AGAIN, f"the answer of {self._endpoint.shown} was cut off")

    def _no_api(self) -> ModelFailure:
        words = f"{self._endpoint.shown} answers with a web page"
        return ModelFailure(Meaning.MISUSED, words, "check base_url in tdd.yaml; it usually ends in /v1")


@cache
def _authorities(trust_env: bool) -> ssl.SSLContext:
    """Whose certificates are believed; to read them takes longer than to open a client."""
    return httpx2.create_ssl_context(trust_env=trust_env)


def _document(body: bytes) -> dict[str, Any]:
    document = json.loads(body)
    if not isinstance(document, dict):
        raise TypeError
    if document.get("error"):
        raise openai.APIError("", httpx2.Request("POST", ""), body=document["error"])
    return document


def _reason(error: BaseException) -> str:
    """`[Errno 111] Connection refused` without the number; a name that is not known says so."""
    return str(error).rpartition("] ")[2] or type(error).__name__


class _Watched(httpx2.SyncByteStream):
    """Bytes until the time is up: keep-alive comments never reach the SDK's own reader of events."""

    def __init__(self, stream: httpx2.SyncByteStream, until: float) -> None:
        self._stream = stream
        self._until = until

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in self._stream:
            size += len(piece)
            if size > LARGEST:
                raise Endless(f"is larger than {LARGEST >> 20} MB")
            if time.monotonic() > self._until:
                raise Endless("takes too long")
            yield piece

    def close(self) -> None:
        self._stream.close()


_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)
"""Some servers leave a model's reasoning in front of its answer."""


class AnswerStream:
    """Takes pieces and whole answers, as JSON documents; `finish` is empty until the model has ended."""

    def __init__(self, hear: Callable[[str], object] | None = None) -> None:
        """`hear` gets the text as it comes, by whole lines, so that no key is cut in two."""
        self.finish = ""
        self._hear = hear
        self._told = 0
        self._text: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._usage: Usage | None = None
        self._model = ""

    def take(self, document: dict[str, Any]) -> None:
        self._model = document.get("model") or self._model
        self._usage = _usage(document.get("usage")) or self._usage
        for choice in (document.get("choices") or [])[:1]:
            self._add_delta(choice.get("delta") or choice.get("message") or {})
            self.finish = choice.get("finish_reason") or self.finish

    def _add_delta(self, delta: dict[str, Any]) -> None:
        said = [*filter(None, [delta.get("content"), delta.get("refusal")])]
        self._text += said
        if self._hear is not None and any("\n" in text for text in said):
            self._tell_lines(self._hear)
        for place, call in enumerate(delta.get("tool_calls") or []):
            self._add_call(call, place)

    def _tell_lines(self, hear: Callable[[str], object]) -> None:
        """Passes whole lines on; reasoning in front of the answer is left out."""
        text = _THOUGHT.sub("", "".join(self._text))
        lines = text[: text.rfind("\n") + 1]
        if lines.strip() and not lines.lstrip().startswith("<think"):
            hear(lines[self._told :])
            self._told = len(lines)

    def _add_call(self, call: dict[str, Any], place: int) -> None:
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

    def reply(self) -> ModelReply:
        calls = tuple(
            ToolCall(call["id"] or f"call_{index}", call["name"], call["arguments"])
            for index, call in sorted(self._calls.items())
        )
        text = _THOUGHT.sub("", "".join(self._text))
        return ModelReply(
            text, calls, self._usage or Usage(estimated=True, cache_known=False), self.finish, self._model
        )


def _usage(said: dict[str, Any] | None) -> Usage | None:
    if not said or not said.get("prompt_tokens"):
        return None
    details = said.get("prompt_tokens_details") or {}
    told = (details.get("cached_tokens"), said.get("prompt_cache_hit_tokens"))
    cached = next((count for count in told if count is not None), None)
    return Usage(
        said["prompt_tokens"],
        cached or 0,
        said.get("completion_tokens") or 0,
        cache_known=cached is not None,
    )
