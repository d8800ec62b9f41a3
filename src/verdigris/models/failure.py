"""What a server's failure means, and how long to wait before the next attempt."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from verdigris.core.value import value

if TYPE_CHECKING:
    from verdigris.models.providers import Endpoint
    from verdigris.models.request import Feature


class Meaning(StrEnum):
    AGAIN = "again"
    LESS = "less"
    """The server does not know a parameter of the request."""
    OVERFLOW = "overflow"
    MISUSED = "misused"
    UNAVAILABLE = "unavailable"
    """And no sooner for being tried again."""


@value
class ModelFailure:
    meaning: Meaning
    words: str
    hint: str = ""
    after: float | None = None
    """Seconds that the server wants to be left alone."""
    feature: Feature | None = None


@value
class Refusal:
    """An HTTP answer that is no success, or an error in the middle of a stream."""

    status: int
    message: str
    code: str = ""
    after: float | None = None


_AGAIN = frozenset({408, 409, 425, 429})
_PARAMETERS = frozenset({400, 404, 422, 500, 501})
"""With these, servers say that they do not know a parameter."""
_MISSED = frozenset({"json_validate_failed", "tool_use_failed"})
"""The model's fault, not the request's: the next answer may be better."""
_FAULT = 500
_QUOTA = re.compile(
    r"insufficient_quota|insufficient.balance|billing|exceeded your current quota", re.IGNORECASE
)
_OVERFLOW = re.compile(
    r"context[ _](length|window|size|limit)|exceed_context|above_max_length|reduce the length"
    r"|(prompt|input|messages?)\b.{0,60}(too long|too large|too many|exceed|longer than)"
    r"|too many (input )?tokens|exceeds?\b.{0,40}\btokens?\b",
    re.IGNORECASE | re.DOTALL,
)
_CONTEXT = re.compile(r"context[ _](length|window|size)|exceed_context", re.IGNORECASE)
_TOO_LARGE = re.compile(r"request too large|tokens must be reduced", re.IGNORECASE)
_COMPLETION = re.compile(
    r"max_(completion_)?tokens.{0,60}(too large|at most)|completion tokens", re.IGNORECASE
)
_REFUSING = re.compile(
    r"support|unknown|unrecogni[sz]ed|unexpected|not (allowed|permitted|enabled|implemented|available)"
    r"|invalid|requires?\b|extra|cannot|can't|unavailable|only|does not|doesn't|must",
    re.IGNORECASE,
)
_NAMES: Mapping[Feature, re.Pattern[str]] = {
    "format": re.compile(
        r"response_format|json_schema|json_object|json.mode|structured.output|grammar|guided|schema",
        re.IGNORECASE,
    ),
    "stream_options": re.compile(r"stream_options|include_usage", re.IGNORECASE),
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "max_tokens": re.compile(r"max_(completion_)?tokens", re.IGNORECASE),
    "tools": re.compile(r"\btools?\b|function.call", re.IGNORECASE),
    "stream": re.compile(r"\bstream(ing)?\b", re.IGNORECASE),
}


def meaning_of(refusal: Refusal, endpoint: Endpoint, sent: Sequence[Feature]) -> ModelFailure:
    """`sent`: the features of the request, those first that are easiest to do without."""
    said = f"{refusal.code} {refusal.message}"
    if _is_spent(refusal, said):
        return ModelFailure(
            Meaning.UNAVAILABLE,
            f"there is no credit or quota left for {endpoint.shown}",
            f"add credit at the provider, then run again{_key_hint(endpoint)}",
        )
    if _overflows(refusal.status, said):
        return ModelFailure(
            Meaning.OVERFLOW, f"{endpoint.shown} cannot read that much at once: {refusal.message}"
        )
    if refusal.code in _MISSED:
        return ModelFailure(Meaning.AGAIN, f"{endpoint.shown} failed to answer in the requested form")
    if refusal.status in _PARAMETERS and (feature := _refused_feature(said, sent)):
        return ModelFailure(Meaning.LESS, f"{endpoint.shown} does not take {feature}", feature=feature)
    if refusal.status in _AGAIN or refusal.status >= _FAULT:
        words = f"{endpoint.shown} answers {refusal.status}: {refusal.message}"
        return ModelFailure(Meaning.AGAIN, words, after=refusal.after)
    return ModelFailure(Meaning.MISUSED, *_explain_misuse(refusal, endpoint))


def _is_spent(refusal: Refusal, said: str) -> bool:
    """Some say "quota" of what is free again in a minute; then they also say when."""
    if refusal.status == 402:  # noqa: PLR2004 - payment required
        return True
    return refusal.after is None and bool(_QUOTA.search(said))


def _overflows(status: int, said: str) -> bool:
    if status == 413:  # noqa: PLR2004 - content too large
        return True
    if status == 429:  # noqa: PLR2004 - most are about requests a minute
        return bool(_TOO_LARGE.search(said))
    if status >= _FAULT:
        return bool(_CONTEXT.search(said))
    if _COMPLETION.search(said) and not _CONTEXT.search(said):
        return False
    return status in {400, 422} and bool(_OVERFLOW.search(said))


def _refused_feature(said: str, sent: Sequence[Feature]) -> Feature | None:
    if not _REFUSING.search(said):
        return None
    return next((feature for feature in sent if _NAMES[feature].search(said)), None)


def _explain_misuse(refusal: Refusal, endpoint: Endpoint) -> tuple[str, str]:
    """What a person has to mend, and how."""
    match refusal.status:
        case 401:  # what the server says may hold a part of the key
            return _wrong_key(endpoint)
        case 403:
            words = f"{endpoint.shown} refuses access: {refusal.message}"
            return words, f"see what the account may use{_key_hint(endpoint)}"
        case 404 if re.search(r"model|" + re.escape(endpoint.model), f"{refusal.code} {refusal.message}"):
            words = f"the server does not know the model {endpoint.shown}: {refusal.message}"
            return words, "check the model's name in tdd.yaml; `tdd doctor` lists what is there"
        case 404 | 405:
            words = f"there is no chat API for {endpoint.shown}"
            return words, "check base_url in tdd.yaml; it usually ends in /v1"
        case _:
            words = f"{endpoint.shown} refuses the request with {refusal.status}: {refusal.message}"
            return words, "check the model's settings in tdd.yaml"


def _wrong_key(endpoint: Endpoint) -> tuple[str, str]:
    if not endpoint.api_key_env:
        return (
            f"{endpoint.shown} needs a key, and no variable for it is configured",
            "set api_key_env (of the role, or under llm) to the name of the variable that holds the key",
        )
    return (
        f"{endpoint.shown} does not take the key in the variable {endpoint.api_key_env}",
        f"check what {endpoint.api_key_env} holds (its value is never shown here)",
    )


def _key_hint(endpoint: Endpoint) -> str:
    return f" (the key is in {endpoint.api_key_env})" if endpoint.api_key_env else ""


LONGEST = 400
"""Characters of what a server says that people are shown."""


def message_of(body: Any, text: str) -> tuple[str, str]:
    """What a server says and its code, of the many shapes that servers use."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        said = error.get("message") or error.get("detail") or error.get("error") or ""
        code = error.get("code") or error.get("type") or ""
    else:
        said, code = error or text, ""
    shown = " ".join(str(said).split())
    if shown.startswith("<"):
        shown = "(a web page)"
    return (shown if len(shown) <= LONGEST else shown[:LONGEST] + " …"), str(code)


_SPOKEN = re.compile(r"(?:re)?try(?: again)? in (\d+(?:\.\d+)?) ?(ms|s)\b", re.IGNORECASE)


@value
class Patience:
    tries: int = 6
    first: float = 1.0
    """Seconds before the second try; doubled for each one after it."""
    longest: float = 30.0
    obeyed: float = 120.0
    """The longest wait that a server may ask for; one that wants more is not tried again."""
    jitter: Callable[[], float] = random.random
    """From 0 to 1: it keeps many callers apart."""

    def delay(self, tried: int, after: float | None) -> float | None:
        """Seconds before the next try, or None to give up."""
        if tried >= self.tries:
            return None
        jitter = self.jitter()
        usual = min(self.longest, self.first * 2.0 ** (tried - 1)) * (0.5 + jitter / 2)
        if after is None:
            return usual
        return None if after > self.obeyed else max(after, min(usual, 1.0) * jitter)


def retry_after(headers: Mapping[str, str], said: str, now: datetime | None = None) -> float | None:
    """Seconds, from either form of the header, or from what the server says."""
    if (told := _read_retry_after(headers, now)) is not None:
        return told
    spoken = _SPOKEN.search(said)
    return None if spoken is None else float(spoken[1]) / (1000 if spoken[2] == "ms" else 1)


def _read_retry_after(headers: Mapping[str, str], now: datetime | None) -> float | None:
    if (exact := _number(headers.get("retry-after-ms"))) is not None:
        return exact / 1000
    header = headers.get("retry-after", "")
    if (seconds := _number(header)) is not None:
        return seconds
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def _number(said: str | None) -> float | None:
    try:
        number = float(said or "")
    except ValueError:
        return None
    return max(0.0, number) if number < float("inf") else None
