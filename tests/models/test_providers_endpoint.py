from __future__ import annotations

import pytest

from verdigris.models.providers import Endpoint


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.2:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost.example.org/v1", False),
        ("https://api.openai.com/v1", False),
        ("http://192.168.0.4/v1", False),
    ],
)
def test_a_server_on_this_machine_is_local(url: str, local: bool) -> None:
    assert Endpoint("m", "m", url).local is local


def test_an_endpoint_is_shown_without_a_password() -> None:
    assert Endpoint("openai:m", "m", "https://u:p@host/v1").shown == "m at https://host/v1"
