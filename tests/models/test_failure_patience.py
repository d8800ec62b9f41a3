from __future__ import annotations

from datetime import UTC, datetime

import pytest

from verdigris.models.failure import Patience, retry_after

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


def test_waits_double_up_to_the_longest_and_then_end() -> None:
    patience = Patience(tries=5, first=1, longest=3, jitter=lambda: 1.0)
    assert [patience.delay(tried, None) for tried in range(1, 6)] == [1, 2, 3, 3, None]


def test_jitter_takes_up_to_a_half() -> None:
    assert Patience(first=4, jitter=lambda: 0.0).delay(1, None) == 2


def test_a_server_is_left_alone_for_as_long_as_it_asks_within_reason() -> None:
    patience = Patience(obeyed=60, jitter=lambda: 1.0)
    assert patience.delay(1, 42) == 42
    assert patience.delay(1, 61) is None
    assert patience.delay(1, 0) == 1


@pytest.mark.parametrize(
    ("headers", "said", "seconds"),
    [
        ({"retry-after": "7"}, "", 7),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, "", 0.25),
        ({"retry-after": "Sun, 15 Nov 2026 12:00:30 GMT"}, "", 30),
        ({"retry-after": "Sun, 15 Nov 2026 11:00:00 GMT"}, "", 0),
        ({"retry-after": "-4"}, "", 0),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "inf"}, "", None),
        ({}, "Please try again in 6.25s.", 6.25),
        ({}, "please retry in 120ms", 0.12),
        ({}, "Rate limit reached", None),
    ],
)
def test_how_long_a_server_asks_for(headers: dict[str, str], said: str, seconds: float | None) -> None:
    assert retry_after(headers, said, NOW) == seconds
