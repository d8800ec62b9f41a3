"""The pages of a cycle: checks the plan, and renders the evidence from the log alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from verdigris.core.records import Actor
from verdigris.core.state import Cycle
from verdigris.core.value import value
from verdigris.drivers.cycle.frame import identity_of
from verdigris.drivers.specs.markdown import MarkdownPage, list_items, read_page
from verdigris.drivers.specs.spec_lint import SpecFault, error

EXAMPLE = """\
## SCENARIO-ID
- assert: what a test observes
- edge: an input at a boundary, and what is observed then"""
_ITEM = re.compile(r"\W*(asserts?|edges?|edge cases?)\W*[:\uff1a]\W*\S", re.IGNORECASE)
_LOOKED_AT = 2000
"""Characters of a line that are searched; a plan for people has no longer lines."""
_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
_SOURCE = re.compile(
    r"""\b(?:def|fn|func|function|class|interface|struct|impl)\s+\w+\s*[({:<]   # a definition
      | \bfrom\s+\S+\s+import\b|(?:^|:)\s*`?import\s+[\w.{*]+`?\s*(?:$|from\b|as\b)|\#include|require\(
      | \b(?:const|let|var)\s+\w+\s*=                                           # a binding
      | \bassert\w*[\s(!]+\S+\s*(?:==|!=|===|,)                                 # an assertion of a test tool
      | \bexpect\(|=>\s*[{(\w]|;\s*$
    """,
    re.VERBOSE,
)


@value
class PlannedScenario:
    id: str
    line: int
    asserts: int
    edges: int


def read_plan(text: str) -> tuple[PlannedScenario, ...]:
    """Reads one for each heading that is an id with `#`, in the order of the text."""
    page = read_page(text)
    heads = [n for n, line in enumerate(page.lines) if line.level]
    found = []
    for at in heads:
        heading = page.lines[at]
        if "#" not in heading.title:
            continue
        end = next((n for n in heads if n > at), len(page.lines))
        kinds = [_ITEM.match(item.text) for item in list_items(page.lines[at + 1 : end])]
        words = [kind[1].casefold() for kind in kinds if kind]
        edges = sum(word.startswith("edge") for word in words)
        name = heading.title.strip("` ")
        found.append(PlannedScenario(name, heading.number, len(words) - edges, edges))
    return tuple(found)


def lint_plan(text: str, scenarios: Sequence[str]) -> tuple[SpecFault, ...]:
    """`scenarios`: the ids of the spec."""
    planned = read_plan(text)
    found = [*_lint_scenarios(planned, scenarios), *_lint_source(text, read_page(text))]
    return tuple(sorted(found, key=lambda fault: fault.line))


def _lint_scenarios(planned: Sequence[PlannedScenario], scenarios: Sequence[str]) -> Iterator[SpecFault]:
    known = {one.id for one in planned}
    for missing in (one for one in scenarios if one not in known):
        fix = f"add:\n{EXAMPLE.replace('SCENARIO-ID', missing)}"
        yield error(1, f"the plan says nothing about {missing}", fix)
    for one in planned:
        if one.id not in scenarios:
            yield error(one.line, f"the spec has no scenario {one.id}", "`tdd spec show` lists the ids")
            continue
        if not one.asserts:
            yield error(one.line, f"{one.id}: nothing to assert", "add an item `- assert: …`")
        if not one.edges:
            yield error(one.line, f"{one.id}: no edge case", "add an item `- edge: …`")


def _lint_source(text: str, page: MarkdownPage) -> Iterator[SpecFault]:
    plain = "say in words what is observed; the test author chooses the language"
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if _FENCE.match(line):
            yield error(number, "a block of code in the plan", plain)
            break
    for one in page.lines:
        if _SOURCE.search(one.text[:_LOOKED_AT]):
            yield error(one.number, "this looks like source", plain)


FOLDER = ".tdd/evidence"
_PAGE = Path(__file__).with_name("evidence.md")
_NAME = re.compile(r"EVID-(\d+)\.md")
_FIELD = re.compile(r"^(id|cycle|spec|worktree): (.+)$", re.MULTILINE)
ACTORS = (("planner", "plan"), ("test author", "red"), ("validator", "validate"), ("coder", "green"))


@value
class EvidenceFacts:
    """The facts on the page."""

    id: str
    """`EVID-001`."""
    cycle: Cycle
    validation: Mapping[str, Any]
    """The record of the validation that passed."""
    settled: int
    """The event with the kernel's verdict."""
    concerns: tuple[str, ...]
    """Concerns of that verdict."""
    at: int
    """Milliseconds since the epoch."""


def next_id(names: Sequence[str]) -> str:
    numbers = [int(found[1]) for name in names if (found := _NAME.fullmatch(name))]
    return f"EVID-{max(numbers, default=0) + 1:03}"


def path_of(evidence: str) -> str:
    return f"{FOLDER}/{evidence}.md"


def read_fields(text: str) -> Mapping[str, str]:
    """Returns the fields of the front matter by which the log is searched."""
    head = text.split("\n---", 1)[0]
    return {found[1]: found[2].strip().strip('"') for found in _FIELD.finditer(head)}


def render(facts: EvidenceFacts) -> str:
    """Renders the verdict first; the same facts give the same page."""
    cycle, validation = facts.cycle, facts.validation
    scenarios, judged = validation.get("scenarios", {}), validation.get("judgement")
    both = [who for who in cycle.workers.get("green", ()) if who in cycle.authors]
    shared = (f"`{identity_of(who)}` wrote tests and code" for who in both)
    return _PAGE.read_text("utf-8").format(
        id=facts.id,
        cycle=cycle,
        day=datetime.fromtimestamp(facts.at / 1000, UTC).date().isoformat(),
        tests=len(cycle.tests),
        scenarios=len(scenarios),
        identities=_rows(f"| {name} | {_names(cycle.workers.get(stage, ()))} |" for name, stage in ACTORS),
        shown=_rows(
            f"| `{name}` | {one['digest'][:12]} | {', '.join(f'`{test}`' for test in one['tests'])} |"
            for name, one in scenarios.items()
        ),
        reds=_rows(
            f"| `{test}` | {_cell(red['failure'])} | `{red['place']}` |"
            for test, red in sorted(validation.get("reds", {}).items())
        ),
        checks=_rows(_check_rows(validation)),
        judged=f"A judgement was given besides: {judged['verdict']}."
        if judged
        else "Nobody judged besides the kernel's checks.",
        settled=facts.settled,
        rounds=cycle.rounds + 1,
        plan=cycle.commits.get("plan", ""),
        red=cycle.commits.get("red", ""),
        concerns=_rows(f"- concern: {concern}" for concern in (*shared, *facts.concerns)),
    )


def _rows(lines: Iterable[str]) -> str:
    return "".join(f"\n{line}" for line in lines)


def _names(actors: Sequence[Actor]) -> str:
    return ", ".join(f"`{identity_of(actor)}`" for actor in actors) or "nobody"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")[:160]


def _check_rows(validation: Mapping[str, Any]) -> Iterator[str]:
    for check in validation.get("checks", ()):
        notes = "; ".join(check.get("notes", ()))
        noted = f"; noted: {_cell(notes)}" if notes else ""
        yield f"| {check['name']} | no finding{noted} |"
