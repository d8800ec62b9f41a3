"""How long to wait before a call is tried again."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping


_SPOKEN = re.compile(r"(?:re)?try(?: again)? in (\d+(?:\.\d+)?) ?(ms|s)\b", re.IGNORECASE)


@value
class Patience:
    tries: int = 6
    first: float = 1.0
    """Seconds before the second try; doubled for each one after it."""
    longest: float = 30.0
    obeyed: float = 120.0
    """The longest wait that a server may ask for; one that wants more is not tried again."""

    def delay(self, tried: int, after: float | None, jitter: float) -> float | None:
        """Seconds before the next try, or None to give up; `jitter` from 0 to 1 keeps many callers apart."""
        if tried >= self.tries:
            return None
        usual = min(self.longest, self.first * 2.0 ** (tried - 1)) * (0.5 + jitter / 2)
        if after is None:
            return usual
        return None if after > self.obeyed else max(after, min(usual, 1.0) * jitter)


def retry_after(headers: Mapping[str, str], said: str = "", now: datetime | None = None) -> float | None:
    """Seconds, from either form of the header, or from what the server says."""
    if (told := _told(headers, now)) is not None:
        return told
    spoken = _SPOKEN.search(said)
    return None if spoken is None else float(spoken[1]) / (1000 if spoken[2] == "ms" else 1)


def _told(headers: Mapping[str, str], now: datetime | None) -> float | None:
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
