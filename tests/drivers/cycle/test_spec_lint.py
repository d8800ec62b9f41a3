from __future__ import annotations

import pytest

from verdigris.drivers.cycle.spec import read_spec
from verdigris.drivers.cycle.spec_lint import DeltaEntry, Fault, base_path, lint_spec, read_delta

BASE = """\
# Sessions
## Requirements
### Requirement: Expiry
It SHALL end.
#### Scenario: Idle
- THEN it ends
#### Scenario: Used
- THEN it stays
### Requirement: Sign out
#### Scenario: Everywhere
- THEN all end
"""
DELTA = """\
## ADDED Requirements
### Requirement: Remember me
#### Scenario: Ticked
- THEN it lasts
## MODIFIED Requirements
### Requirement: Expiry
#### Scenario: Idle
- THEN it ends after an hour
#### Scenario: Used
- THEN it stays
## REMOVED Requirements
- `### Requirement: Sign out`
## RENAMED Requirements
- FROM: `### Requirement: Expiry`
- TO: `### Requirement: Session expiry`
"""


def lint(text: str, base: str | None = None) -> tuple[Fault, ...]:
    found = None if base is None else read_spec("openspec/specs/s/spec.md", base.encode())
    return lint_spec(read_spec("x.md", text.encode()), text, found, base or "")


def errors(text: str, base: str | None = None) -> list[str]:
    return [fault.what for fault in lint(text, base) if fault.level == "error"]


def test_a_good_spec_has_no_fault() -> None:
    assert lint(BASE) == ()


def test_a_spec_without_a_scenario_is_told_the_lines_to_add() -> None:
    (fault,) = lint("# Summary\ntext\n")

    assert fault.level == "error"
    assert "#### Scenario: NAME\n- **GIVEN**" in fault.fix


def test_what_makes_a_spec_ambiguous_is_an_error() -> None:
    text = "---\nid: a\n---\n---\nid: b\n---\n### R\n#### Scenario: A  b\n- THEN x\n"
    text += "#### Scenario: a B\n- THEN y\n"

    assert errors(text + "[needs clarification: which?]\n") == [
        "2 front-matter blocks (lines 1, 4)",
        "the scenario 'a B' is there twice in one requirement (line 8)",
        "an open question: `[NEEDS CLARIFICATION …]`",
    ]


def test_words_and_unread_lines_are_warnings() -> None:
    found = lint("---\nstatus: nearly\n---\n### R\n#### Scenario: a\nIt works.\n#### Scenario\n")

    assert {fault.level for fault in found} == {"warning"}
    assert [fault.line for fault in found] == [1, 5, 7]


def test_a_spec_in_another_language_needs_no_keywords() -> None:
    assert lint("### 要件\n#### Scenario: 成功\n- 画面が開く\n") == ()


def test_a_delta_is_read_by_its_sections() -> None:
    assert read_delta(DELTA) == (
        DeltaEntry("added", "Remember me", 2),
        DeltaEntry("modified", "Expiry", 6),
        DeltaEntry("removed", "Sign out", 12),
        DeltaEntry("renamed", "Expiry", 14, to="Session expiry"),
    )
    assert read_delta(BASE) == ()


def test_a_delta_whose_targets_exist_is_good() -> None:
    assert errors(DELTA, BASE) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "## MODIFIED Requirements\n### Requirement: expiry\n#### Scenario: Idle\n- THEN x\n",
            "openspec/specs/s/spec.md has no requirement 'expiry'",
        ),
        (
            "## REMOVED Requirements\n### Requirement: Login\n",
            "openspec/specs/s/spec.md has no requirement 'Login'",
        ),
        (
            "## RENAMED Requirements\n- FROM: `### Requirement: Login`\n- TO: `### Requirement: Sign in`\n",
            "openspec/specs/s/spec.md has no requirement 'Login'",
        ),
        (
            "## MODIFIED Requirements\n### Requirement: Expiry\n#### Scenario: Idle\n- THEN x\n",
            "the change of 'Expiry' drops the scenario 'Used'",
        ),
        (
            "## ADDED Requirements\n### Requirement: Expiry\n#### Scenario: Idle\n- THEN x\n",
            "'Expiry' is there already, so it cannot be added",
        ),
    ],
)
def test_a_delta_that_does_not_fit_its_spec_is_an_error(text: str, what: str) -> None:
    assert errors(text, BASE) == [what]


def test_a_near_miss_is_told_how_it_is_spelt() -> None:
    text = "## REMOVED Requirements\n### Requirement: sign  out\n"

    assert lint(text, BASE)[0].fix == "write `Sign out`, letter for letter"


def test_a_delta_without_a_spec_is_an_error() -> None:
    assert errors("## REMOVED Requirements\n### Requirement: X\n") == ["there is no spec that has 'X'"]


def test_the_spec_of_an_openspec_change_is_found_by_its_place() -> None:
    assert base_path("a/openspec/changes/add-x/specs/auth/s/spec.md") == "a/openspec/specs/auth/s/spec.md"
    assert base_path("openspec/changes/archive/2025-01-01-x/specs/s/spec.md") == "openspec/specs/s/spec.md"
    assert base_path("specs/001-x/spec.md") is None
