from __future__ import annotations

import re

import pytest

from support.cli import Cli
from verdigris.cli.demo import DemoScreen
from verdigris.drivers.demo import Scene

COLOURS = {"✗ denied [": "1;33", "● red for": "1;31", "◆ hollow": "1;35", "✔ accepted: ": "1;32"}


@pytest.mark.slow
def test_the_play_is_plain_in_a_pipe_and_ends_in_whole_logs(bare_cli: Cli) -> None:
    where = bare_cli.repo.home
    ran = bare_cli.tdd("demo", env={"TMPDIR": str(where)})
    assert ran.code == 0, ran
    assert "\x1b" not in ran.out
    agent, rest = ran.out.split("── A machine")
    machine, cycle = rest.split("── A spec becomes evidence")
    acts = re.split(r"(?m)^(?=── )", ran.out)[1:]
    assert len(acts) == 5
    assert max(len(act.rstrip().splitlines()) for act in acts[:-1]) < 24, "with the question a whole screen"
    answers = (
        "denied [red-first]",
        "denied [red-passing]",
        "● red for the right reason: AttributeError",
        "denied [frozen-oracle]",
    )
    told = [*answers, "◆ regressed", "✔ accepted", "plain unittest says green", "◆ hollow"]
    places = [agent.index(answer, len(agent.splitlines()[0])) for answer in told]
    assert places == sorted(places)
    assert "│ self.assertEqual(calc.mul(3, 4), 12)" in agent
    assert "│ +     return year % 4 == 0\n  ✔ accepted\n" in machine
    assert "6 steps, 4 commits" in machine
    assert "answers are recorded" in machine
    assert "✗ the coder is refused: test_shipping.py: it belongs to the tests" in cycle
    for word in ("spec_hash", "ACTIVATE", "identity", "stage"):
        assert word not in cycle, "nobody who sees it first knows it"
    assert ".tdd/evidence/EVID-001.md says which test shows which example" in cycle
    assert "the logs are intact" in cycle
    assert cycle.count("/tdd-demo-") == 3, "each folder is named"
    assert "tdd help tutorial" in cycle.splitlines()[-1]
    made = [line for line in ran.out.splitlines() if str(where) not in line]
    assert max(map(len, made)) <= 80


def test_on_a_terminal_each_answer_has_a_colour_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("NO_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("time.sleep", lambda _: None)
    screen = DemoScreen()
    screen.show(Scene("denied", "denied [red-first]"))
    screen.show(Scene("red", "red for the right reason: AssertionError"))
    screen.show(Scene("rejected", "hollow"))
    screen.show(Scene("accepted", "accepted: test_a"))
    out = capsys.readouterr().out
    for sign, colour in COLOURS.items():
        assert f"\x1b[{colour}m  {sign}" in out, sign
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_on_a_terminal_an_answer_waits_until_what_it_answers_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    screen = DemoScreen()
    screen.show(Scene("edit", code=("+ x",)))
    screen.show(Scene("denied", "denied [red-first]"))
    screen.show(Scene("red", "red for the right reason: AssertionError"))
    screen.show(Scene("accepted", "accepted: test_a"))
    assert pauses == [0.25, 0.4, 0.4, 0.5]


@pytest.mark.parametrize(("variable", "coloured"), [("NO_COLOR", False), ("CI", False), ("ANY", True)])
def test_a_terminal_is_plain_where_the_user_says_so(
    variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, coloured: bool
) -> None:
    for name in ("NO_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    DemoScreen().show(Scene("denied", "denied [red-first]"))
    out = capsys.readouterr().out
    assert ("\x1b[1;33m  ✗ denied [red-first]\x1b[0m" in out, "\x1b" in out) == (coloured, coloured)


def test_each_act_but_the_first_waits_for_a_reader_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("click.prompt", lambda text, **_: asked.append(text))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for stdin, questions in ((False, []), (True, ["Enter: the next act"])):
        monkeypatch.setattr("sys.stdin.isatty", lambda there=stdin: there)
        screen = DemoScreen()
        screen.show(Scene("act", "one"))
        screen.show(Scene("act", "two"))
        assert asked == questions
    assert "── two" in capsys.readouterr().out
