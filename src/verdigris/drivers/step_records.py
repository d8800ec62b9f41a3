"""The records of a step: its commit message, its plan for people and its log for programs (`.tdd`)."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from verdigris.core.report import TestReport
from verdigris.core.state import Red
from verdigris.core.value import field, value
from verdigris.drivers.budget import Metered
from verdigris.models.providers import Scrubber
from verdigris.models.request import whole_share
from verdigris.models.roles import Role
from verdigris.storage.durable_files import prepare_folder, write_whole

SCHEMA = 1
WIDTH = 76
SUBJECT = 72
MOST_CONCERNS = 5


def _run_document(report: TestReport) -> dict[str, Any]:
    return {
        "command": report.command,
        "ended": report.ended.value,
        "milliseconds": report.duration_ms,
        "tests": {result.native_id: result.status.value for result in report.results},
        "failures": {
            result.native_id: result.failure.message
            for result in report.results
            if result.failure is not None
        },
        "output": report.tail,
    }


class StepLog:
    """The log of a step; rewritten after each attempt, so that a kill loses only the open one."""

    def __init__(self, keeper: StepRecords, step: int, role: Role, model: Metered) -> None:
        self._keeper, self._step, self._role, self._model = keeper, step, role, model
        self._plan = ""
        self._attempts: list[dict[str, Any]] = []
        self._end: dict[str, Any] = {}

    def plan(self, text: str) -> None:
        self._plan = text
        self._keeper.plan(self._step, self._role, text)
        self.write()

    def attempt(
        self,
        number: int,
        *,
        paths: tuple[str, ...] = (),
        reasons: tuple[str, ...] = (),
        output: str = "",
        runs: Sequence[TestReport] = (),
    ) -> None:
        """An attempt without reasons was accepted. `output`: of a tool; `runs`: of the test tool."""
        told = {"paths": list(paths), "reasons": list(reasons), "output": output}
        self._attempts.append({"attempt": number, **told, "runs": [_run_document(report) for report in runs]})
        self.write()

    def record_end(self, **facts: Any) -> None:
        self._end = facts
        self.write()

    def write(self) -> None:
        calls = self._model.calls
        usage = self._model.usage
        self._keeper.log(
            self._step,
            self._role,
            {
                "schema": SCHEMA,
                "step": self._step,
                "role": self._role.name,
                "model": self._model.name,
                "plan": self._plan,
                "attempts": self._attempts,
                "prompts": [
                    {
                        "messages": len(call.ask.messages),
                        "tokens": call.share.prompt,
                        "prefix": call.share.share,
                    }
                    for call in calls
                ],
                "usage": {
                    "prompt": usage.prompt,
                    "cached": usage.cached,
                    "completion": usage.completion,
                    "estimated": usage.estimated,
                },
                "prefix_share": whole_share([call.share for call in calls]).share,
                **self._end,
            },
        )


class StepRecords:
    def __init__(self, root: Path, scrub: Scrubber) -> None:
        self._folder = prepare_folder(root)
        self._scrub = scrub

    def plan(self, step: int, role: Role, text: str) -> None:
        self._write(
            self._folder / "plan" / f"step-{step}-{role}.md", f"# Step {step}: {role}\n\n{text.strip()}\n"
        )

    def log(self, step: int, role: Role, document: dict[str, Any]) -> None:
        text = json.dumps(self._scrub.document(document), indent=2, ensure_ascii=False)
        self._write(self._folder / "logs" / f"step-{step}-{role}.json", f"{text}\n")

    def _write(self, path: Path, text: str) -> None:
        write_whole(path, self._scrub(text).encode("utf-8", "backslashreplace"))


@value
class Proposal:
    """A role's words about its edits; recorded before the edits are written."""

    type: str = ""
    subject: str = ""
    rationale: str = ""
    intents: Mapping[str, str] = field(default_factory=dict)
    """Path → the purpose of the change."""
    reds: Mapping[str, str] = field(default_factory=dict)
    """Of the coder: test id → its failure."""
    because: str = ""
    """Of a tester whose test was sent back: the coder's reason."""
    points: tuple[int, ...] = ()
    """Of the tester: the points of the kata that the test covers."""
    improvement: str = ""
    lesson: str = ""


@value
class Verified:
    """The kernel's findings about a step."""

    verdict: str
    suite: str = ""
    """How many tests passed, in words."""
    tests: tuple[str, ...] = ()
    reds: Mapping[str, str] = field(default_factory=dict)
    oracle: str = ""
    concerns: tuple[str, ...] = ()


def message(role: Role, step: int, proposal: Proposal, verified: Verified) -> str:
    """The rationale, then the purpose of each file's change if the role gave one, then trailers."""
    intents = [f"{path}: {flat(what)}" for path, what in proposal.intents.items() if _tells(what, proposal)]
    parts = (
        _headline(proposal),
        _fill_paragraph(_paragraphs(proposal.rationale)),
        _fill_paragraph([f"Revised because {flat(proposal.because)}"] if proposal.because else []),
        _bullets(intents) if len(intents) > 1 else "",
        "\n".join(f"{name}: {flat(text)}" for name, text in _trailers(role, step, proposal, verified)),
    )
    return "\n\n".join(filter(None, parts)) + "\n"


def _tells(what: str, proposal: Proposal) -> bool:
    return bool(what.strip()) and flat(what) not in {flat(proposal.subject), flat(proposal.rationale)}


def _headline(proposal: Proposal) -> str:
    line = f"{proposal.type}: {style_subject(proposal.subject)}"
    return line if len(line) <= SUBJECT else line[: SUBJECT - 1].rstrip() + "…"


def style_subject(subject: str) -> str:
    """A subject as in conventional commits: without a sentence's capital and full stop."""
    line = flat(subject)
    line = line[:-1] if line.endswith(".") and not line.endswith("..") else line
    first = line.partition(" ")[0]
    plain = first[1:].islower() or first == "A"
    return line[:1].lower() + line[1:] if plain and first[:1].isupper() else line


def _trailers(role: Role, step: int, proposal: Proposal, verified: Verified) -> Iterator[tuple[str, str]]:
    yield "TDD-Role", role.name
    yield "TDD-Step", str(step)
    yield from (("TDD-Test", test) for test in verified.tests)
    yield from (("TDD-Red", f"{failure} ({test})") for test, failure in verified.reds.items())
    yield from (("TDD-Point", str(point)) for point in proposal.points)
    yield "TDD-Verdict", verified.verdict
    if verified.suite:
        yield "TDD-Suite", verified.suite
    yield from (("TDD-Concern", concern) for concern in verified.concerns[:MOST_CONCERNS])
    if verified.oracle:
        yield "TDD-Oracle", verified.oracle


def summarise_red(red: Red) -> tuple[str, str]:
    """Its id, with kind and place of its failure; not the message, which may hold addresses and times."""
    kind = red.failure.partition(":")[0] or red.status
    place = f" at {red.place}" if red.place and not red.place.startswith("/") else ""
    return red.test_id, f"{kind}{place}"


def _paragraphs(text: str) -> Iterator[str]:
    """Joins each paragraph, and each item of a list, to one line."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+[.)])\s)", text.strip()):
        if line := flat(re.sub(r"^\s*(?:[-*]|\d+[.)])\s+", "", block)):
            yield line


def _fill_paragraph(lines: Iterable[str]) -> str:
    """Fills one line as a paragraph, and several as a list."""
    told = list(lines)
    if len(told) != 1:
        return _bullets(told)
    return textwrap.fill(told[0], WIDTH, break_long_words=False, break_on_hyphens=False)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(
        textwrap.fill(
            flat(line),
            WIDTH,
            initial_indent="- ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in lines
    )


def flat(text: str) -> str:
    """On one line, with printable characters only: ids may hold any bytes."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in line)
