"""What is not on this machine."""

from __future__ import annotations

import pytest

from verdigris.core.needs import fetching


@pytest.mark.parametrize(
    ("said", "move"),
    [
        ("As a reminder, you're using offline mode (--offline) which can", "cargo fetch"),
        ("error: toolchain '1.50.0-x86_64-unknown-linux-gnu' is not installed", "rustup toolchain install"),
        ("missing go.sum entry; module lookup disabled by GOPROXY=off", "go mod download"),
        ("Cannot access central (https://x) in offline mode and the artifact a:b has not", "mvn dependency"),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'vite' imported from", "install the packages"),
    ],
)
def test_the_next_move(said: str, move: str) -> None:
    assert move in (fetching(said) or "")


def test_other_reasons_have_none() -> None:
    assert fetching("error: could not find `Cargo.toml`") is None
