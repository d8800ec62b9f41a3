"""Which command runs a test."""

from __future__ import annotations

import pytest

from verdigris.core.settings import Stack
from verdigris.runners.registry import (
    download_advice,
    fill_command,
    fitting_command,
    reports,
    split_by_command,
)

pytestmark = pytest.mark.quick

E2E, ONE, SLOW = ("npx", "{args}"), ("one", "{args}"), ("slow", "--out={report}/x.xml")
STACK = Stack(
    root="web",
    test_command_for=(("test/one.test.js::a › b", ONE), ("test/e2e/**", E2E), ("**/*.slow.js", SLOW)),
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("web/test/e2e/x.test.js::a", E2E),
        ("web/test/e2e/x.slow.js", E2E),
        ("web/test/x.slow.js::a::b", SLOW),
        ("web/test/one.test.js::a › b", ONE),
        ("web/test/one.test.js::a › b › c", ONE),
        ("web/test/one.test.js::a › bc", None),
        ("web/test/one.test.js", None),
        ("test/e2e/x.test.js", None),
    ],
)
def test_the_first_that_fits(name: str, words: tuple[str, ...] | None) -> None:
    assert fitting_command(STACK, name) == words


def test_named_tests_are_parted() -> None:
    names = ("web/test/e2e/x.js::a", "web/test/y.js::b", "web/test/e2e/z.js")
    assert split_by_command(STACK, names) == {
        E2E: ("web/test/e2e/x.js::a", "web/test/e2e/z.js"),
        None: ("web/test/y.js::b",),
    }


def test_all_of_a_stack_is_the_runners_and_each_commands_own() -> None:
    files = ("web/test/y.js", "web/test/e2e/x.js", "web/x.slow.js")
    assert split_by_command(STACK, (), files) == {
        None: (),
        E2E: ("web/test/e2e/x.js",),
        SLOW: ("web/x.slow.js",),
        ONE: ("web/test/one.test.js::a › b",),
    }
    assert split_by_command(STACK, ("web/test",), files) == {
        None: ("web/test",),
        E2E: ("web/test/e2e/x.js",),
        ONE: ("web/test/one.test.js::a › b",),
    }
    assert split_by_command(STACK, ("web/lib",), files) == {None: ("web/lib",)}


def test_arguments_are_filled_in() -> None:
    assert fill_command(("npx", "{args}", "-v"), ("run", "a b")) == ("npx", "run", "a b", "-v")
    assert fill_command(("sh", "-c", "x && npx {args}"), ("run", "a b")) == ("sh", "-c", "x && npx run 'a b'")


def test_a_command_without_our_arguments_reports_itself() -> None:
    assert reports(SLOW)
    assert not reports(E2E)
    assert not reports(("sh", "-c", "npx {args}"))


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
    assert move in (download_advice(said) or "")


def test_other_reasons_have_none() -> None:
    assert download_advice("error: could not find `Cargo.toml`") is None
