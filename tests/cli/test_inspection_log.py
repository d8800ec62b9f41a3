from __future__ import annotations

import pytest

from support.cli import Cli


@pytest.fixture
def busy(cli: Cli) -> Cli:
    cli.ok("off", "--why", "a\nspike")
    cli.ok("on")
    return cli


def test_one_line_per_event_oldest_first(busy: Cli) -> None:
    lines = busy.ok("log").out.splitlines()
    assert [line.split()[5] for line in lines if "configured" not in line][-2:] == [
        "switched_off",
        "switched_on",
    ]
    assert any(r"a\nspike" in line for line in lines)


def test_the_last_events(busy: Cli) -> None:
    assert len(busy.ok("log", "-n", "1").out.splitlines()) == 1
    assert "switched_on" in busy.ok("log", "-n", "1").out
    assert busy.tdd("log", "-n", "0").code == 2


def test_one_document_with_every_event(busy: Cli) -> None:
    document = busy.ok("log", "--json").json
    assert document["schema"] == 1
    assert [event["seq"] for event in document["events"]] == sorted(e["seq"] for e in document["events"])
    assert [event["type"] for event in document["events"]][:2] == ["configured", "ground"]
    assert [event["type"] for event in busy.ok("log", "--json", "-n", "2").json["events"]] == [
        "switched_off",
        "switched_on",
    ]


def test_an_empty_log_is_a_document_too(bare_cli: Cli) -> None:
    assert bare_cli.ok("log", "--json").json == {"schema": 1, "events": []}
    assert bare_cli.ok("log").out == ""
    assert bare_cli.ok("log", "verify", "--json").json["events"] == 0


def test_a_whole_log_verifies(busy: Cli) -> None:
    assert "log intact" in busy.ok("log", "verify").out
