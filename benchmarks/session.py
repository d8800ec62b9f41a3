"""A session: what enforcement adds to what a model is shown, how much of that was sent before, and the time.

`python benchmarks/session.py`: one scripted task of several features, each a test and its code, played
through the real kernel. "Without" is the same conversation with every word taken out that only the law says:
claims, footers, its tools, and its part of the system text.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from verdigris.core.records import Actor
from verdigris.core.settings import Prices
from verdigris.drivers.budget import cost_of
from verdigris.drivers.code.session_start import SessionOptions, open_session, run_session
from verdigris.drivers.code.tools.table import SYSTEM
from verdigris.drivers.happenings import TurnJudged
from verdigris.models.protocol import Ask, Message, ModelReply, ToolCall, Usage
from verdigris.models.providers import Scrubber
from verdigris.models.recording import Recorder
from verdigris.models.request import estimate, estimate_ask, prefix_share, whole_share
from verdigris.setup.initialisation import initialise
from verdigris.turns.settle import settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.drivers.happenings import Happening
    from verdigris.models.protocol import Model
    from verdigris.storage.project import Project

FEATURES = 8
SETTLE = "verdigris.drivers.code.tools.law.settle"
PLAIN = "You are a coding agent. Read before you edit, test what you write; call finish at the end.\n"
"""What an agent without the law would be told in its place."""
_LAW = re.compile(r"; claims [^\n]*|^\[tdd\] (?!suppressed)[^\n]*\n?", re.MULTILINE)
PRICES = Prices(input=1.0, output=4.0, cached=0.1)


def calls(*given: tuple[str, Mapping[str, object]]) -> ModelReply:
    made = tuple(
        ToolCall(f"call_{number}", name, json.dumps(arguments))
        for number, (name, arguments) in enumerate(given)
    )
    return ModelReply("", made, Usage(), "tool_calls", "scripted")


def script() -> Iterator[ModelReply]:
    """Each feature is a function with its test; what is written before stays in the files."""
    for number in range(FEATURES):
        name, test = f"scale_by_{number + 2}", f"tests/test_scale_{number}.py"
        body = (
            f"from scales import {name}\n\n\ndef test_{name}():\n    assert {name}(7) == {7 * (number + 2)}\n"
        )
        stub = f"def {name}(amount):\n    raise NotImplementedError  # STUB:TDD\n"
        source = ("create_file", {"path": "scales.py", "content": stub})
        if number:
            last = f"    return amount * {number + 1}\n"
            source = ("edit_file", {"path": "scales.py", "search": last, "replace": f"{last}\n\n{stub}"})
        yield calls(
            ("create_file", {"path": test, "content": body}),
            source,
            ("run_tests", {"ids": [f"{test}::test_{name}"]}),
        )
        old = f"def {name}(amount):\n    raise NotImplementedError  # STUB:TDD\n"
        new = f"def {name}(amount):\n    return amount * {number + 2}\n"
        yield calls(("edit_file", {"path": "scales.py", "search": old, "replace": new}))
    yield calls(("finish", {"summary": "All scales are there."}))


class Kept:
    """A model whose asks are kept."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = model.name
        self.asks: list[Ask] = []

    def ask(self, ask: Ask) -> ModelReply:
        self.asks.append(ask)
        return self._model.ask(ask)


def without_law(ask: Ask, *, beginning: bool = True) -> Ask:
    """`beginning`: also without the law's part of the system text, and its tools."""

    def plain(message: Message) -> Message:
        if message.role == "system" and beginning:
            return replace(message, content=message.content.replace(SYSTEM.strip(), PLAIN))
        return replace(message, content=_LAW.sub("", message.content))

    law = {"edit_claim", "refactor_begin", "refactor_end"} if beginning else set()
    tools = tuple(tool for tool in ask.tools if tool.name not in law)
    return replace(ask, messages=tuple(map(plain, ask.messages)), tools=tools)


def make_project(root: Path) -> None:
    root.mkdir()
    stack = f"{{root: ., language: python, runner: pytest, python: {json.dumps(sys.executable)}}}"
    (root / "tdd.yaml").write_text(f"stacks: [{stack}]\nliveness: {{enabled: false}}\n")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "a beginning")):
        identity = ("-c", "user.name=b", "-c", "user.email=b@example.org")
        subprocess.run(["git", *identity, *words], cwd=root, check=True)
    initialise(root, Actor(client="benchmark"))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tdd-session.") as folder:
        root, talk = Path(folder) / "repo", Path(folder) / "talk.jsonl"
        make_project(root)
        recorder = Recorder(talk, Scrubber(()))
        for number, reply in enumerate(script(), 1):
            recorder.append("step-1-agent", number, Ask(()), reply)
        happenings: list[Happening] = []
        settling: list[float] = []

        def timed(project: Project) -> object:
            begun = time.perf_counter()
            try:
                return settle(project)
            finally:
                settling.append((time.perf_counter() - begun) * 1000)

        options = SessionOptions(model=f"replay:{talk}")
        with patch(SETTLE, timed), open_session(root, happenings.append, options) as session:
            kept = Kept(session.model)
            session.model = kept
            ended = run_session(session, "Write functions that scale an amount by 2 to 9.")
        assert ended.outcome == "done", ended
        report(kept.asks, [one for one in happenings if isinstance(one, TurnJudged)], settling)


def report(asks: list[Ask], judged: list[TurnJudged], settling: list[float]) -> None:
    plain = [without_law(ask) for ask in asks]
    quiet = [without_law(ask, beginning=False) for ask in asks]
    rows = []
    for name, sent in (("with the law", asks), ("without its words in turns", quiet), ("without", plain)):
        shares = [prefix_share(before, now) for before, now in zip([None, *sent], sent, strict=False)]
        whole = whole_share(shares)
        money = cost_of(Usage(whole.prompt, whole.shared, 0), PRICES)
        rows.append((name, sum(map(estimate_ask, sent)), whole.prompt - whole.shared, whole.share, money))
    print(f"{FEATURES} features, {len(asks)} turns, {len(judged)} settlements (one run each)\n")
    print("| | tokens shown | uncached | share sent before | money (1, 0.1 cached) |\n|---|---|---|---|---|")
    for name, tokens, fresh, share, money in rows:
        print(f"| {name} | {tokens} | {fresh} | {share:.1%} | {money:.5f} |")
    (_, law_tokens, law_fresh, _, law_money), _, (_, tokens, fresh, _, money) = rows
    print(f"| ratio | {law_tokens / tokens:.3f} | {law_fresh / fresh:.3f} | | {law_money / money:.3f} |\n")
    later = [prefix_share(one, two).share for one, two in pairwise(asks)]
    print(f"least share of a prompt that is the prompt before it: {min(later):.1%}")
    print(f"largest footer: {max(estimate(one.footer) for one in judged)} tokens")
    claim = {"test_ids": ["tests/test_scale_0.py::test_scale_by_2"]}
    print(f"a claim that is not implied: {estimate('edit_claim ' + json.dumps(claim))} tokens")
    print(f"settlement: {statistics.median(settling):.0f} ms, the tests' own time included")


if __name__ == "__main__":
    main()
