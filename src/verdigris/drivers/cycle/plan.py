"""Checks the plan of a cycle: what to assert for every scenario, and edge cases, in plain words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.drivers.specs.markdown import list_items, read_page
from verdigris.drivers.specs.spec_lint import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.drivers.specs.markdown import Page

EXAMPLE = """\
## SCENARIO-ID
- assert: what a test observes
- edge: an input at a boundary, and what is observed then"""
_ITEM = re.compile(r"\W*(asserts?|edges?|edge cases?)\W*[:\uff1a]\W*\S", re.IGNORECASE)
_LOOKED_AT = 2000
"""Characters of a line: longer ones are no plan for a person."""
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
    """One for each heading that is an id with `#`; in the order of the text."""
    page = read_page(text)
    heads = [n for n, line in enumerate(page.lines) if line.heading]
    found = []
    for at in heads:
        heading = page.lines[at].heading
        if heading is None or "#" not in heading.text:
            continue
        end = next((n for n in heads if n > at), len(page.lines))
        kinds = [_ITEM.match(item.text) for item in list_items(page.lines[at + 1 : end])]
        words = [kind[1].casefold() for kind in kinds if kind]
        edges = sum(word.startswith("edge") for word in words)
        number = page.lines[at].number
        found.append(PlannedScenario(heading.text.strip("` "), number, len(words) - edges, edges))
    return tuple(found)


def lint_plan(text: str, scenarios: Sequence[str]) -> tuple[Fault, ...]:
    """`scenarios`: the ids of the spec. The plan is good when there is no fault."""
    planned = read_plan(text)
    found = [*_lint_scenarios(planned, scenarios), *_lint_source(text, read_page(text))]
    return tuple(sorted(found, key=lambda fault: fault.line))


def _lint_scenarios(planned: Sequence[PlannedScenario], scenarios: Sequence[str]) -> Iterator[Fault]:
    known = {one.id for one in planned}
    for missing in (one for one in scenarios if one not in known):
        fix = f"add:\n{EXAMPLE.replace('SCENARIO-ID', missing)}"
        yield Fault("error", 1, f"the plan says nothing about {missing}", fix)
    for one in planned:
        if one.id not in scenarios:
            yield Fault(
                "error", one.line, f"the spec has no scenario {one.id}", "`tdd spec show` lists the ids"
            )
            continue
        if not one.asserts:
            yield Fault("error", one.line, f"{one.id}: nothing to assert", "add an item `- assert: …`")
        if not one.edges:
            yield Fault("error", one.line, f"{one.id}: no edge case", "add an item `- edge: …`")


def _lint_source(text: str, page: Page) -> Iterator[Fault]:
    plain = "say in words what is observed; the test author chooses the language"
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if _FENCE.match(line):
            yield Fault("error", number, "a block of code in the plan", plain)
            break
    for one in page.lines:
        if _SOURCE.search(one.text[:_LOOKED_AT]):
            yield Fault("error", one.number, "this looks like source", plain)
