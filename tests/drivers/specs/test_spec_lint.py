from __future__ import annotations

import pytest

from verdigris.drivers.specs.spec import read_spec
from verdigris.drivers.specs.spec_lint import SpecFault, base_path, lint_spec

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
### Requirement: Session expiry
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
RENAME = "## RENAMED Requirements\n- FROM: `### Requirement: Expiry`\n- TO: `### Requirement: {}`\n"


def lint(text: str, base: str | None = None) -> tuple[SpecFault, ...]:
    found = None if base is None else read_spec("openspec/specs/s/spec.md", base.encode())
    return lint_spec(read_spec("x.md", text.encode()), text, found, base or "")


def errors(text: str, base: str | None = None) -> list[str]:
    return [fault.what for fault in lint(text, base) if fault.level == "error"]


AMBIGUOUS = """\
---
id: a
---
---
id: b
---
### R
#### Scenario: A  b
- THEN x
#### Scenario: a B
- THEN y
[needs clarification: which?]
"""


@pytest.mark.parametrize(
    ("text", "whats"),
    [
        (BASE, []),
        ("### 要件\n#### Scenario: 成功\n- 画面が開く\n", []),
        ("---\nid: PRD-001\nkind: prd\n---\n# Goal\n", []),
        ("## REMOVED Requirements\n### Requirement: X\n", ["there is no spec that has 'X'"]),
        (
            f"{BASE}### Requirement: sign  out\n#### Scenario: Here\n- THEN it ends\n",
            ["the requirement 'sign  out' is there twice (line 9)"],
        ),
        (
            AMBIGUOUS,
            [
                "2 front-matter blocks (lines 1, 4)",
                "the scenario 'a B' is there twice in one requirement (line 8)",
                "an open question: `[NEEDS CLARIFICATION …]`",
            ],
        ),
    ],
)
def test_what_makes_a_spec_ambiguous_is_an_error_and_nothing_else_is_a_fault(
    text: str, whats: list[str]
) -> None:
    assert [(fault.level, fault.what) for fault in lint(text)] == [("error", what) for what in whats]


def test_a_spec_without_a_scenario_is_told_the_lines_to_add() -> None:
    (fault,) = lint("# Summary\ntext\n")

    assert fault.level == "error"
    assert "#### Scenario: NAME\n- **GIVEN**" in fault.fix


def test_words_and_unread_lines_are_warnings() -> None:
    found = lint("---\nstatus: nearly\n---\n### R\n#### Scenario: a\nIt works.\n#### Scenario\n")

    assert {fault.level for fault in found} == {"warning"}
    assert [fault.line for fault in found] == [1, 5, 7]


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


@pytest.mark.parametrize("text", [DELTA, RENAME.format("EXPIRY")])
def test_a_delta_whose_targets_exist_is_good(text: str) -> None:
    assert errors(text, BASE) == []


def test_a_near_miss_is_told_how_it_is_spelt() -> None:
    text = "## REMOVED Requirements\n### Requirement: sign  out\n"

    assert lint(text, BASE)[0].fix == "write `Sign out`, letter for letter"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a/openspec/changes/add-x/specs/auth/s/spec.md", "", "a/openspec/specs/auth/s/spec.md"),
        ("openspec/changes/archive/2025-01-01-x/specs/s/spec.md", "", "openspec/specs/s/spec.md"),
        ("specs/001-x/spec.md", "", None),
        ("specs/x.delta.md", "---\ndelta_of: specs/x.md\n---\n", "specs/x.md"),
    ],
)
def test_the_spec_of_a_delta_is_found_by_its_place_or_its_front_matter(
    path: str, text: str, expected: str | None
) -> None:
    assert base_path(read_spec(path, text.encode())) == expected


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            RENAME.format("Life") + "## REMOVED Requirements\n### Requirement: Expiry\n",
            "'Expiry' is renamed first (line 2)",
        ),
        (RENAME.format("sign  OUT"), "'Expiry' cannot be renamed: 'Sign out' is there already"),
        ("## RENAMED Requirements\n- FROM: `### Requirement: Expiry`\n", "a rename without its TO"),
        ("## RENAMED Requirements\n- TO: `### Requirement: Expiry`\n", "a rename without its FROM"),
        (
            "## ADDED Requirements\n### Requirement: sign out\n#### Scenario: x\n- THEN y\n",
            "'sign out' differs from 'Sign out' in case or blanks only",
        ),
        (
            (
                "## REMOVED Requirements\n- `### Requirement: Sign out`\n"
                "## ADDED Requirements\n### Requirement: New\n#### Scenario: x\n- THEN y\n"
                "### Requirement: new\n#### Scenario: z\n- THEN y\n"
            ),
            "'new' is added (line 4) and added",
        ),
        ("## ADDED Requirements\n", "the delta changes nothing yet"),
    ],
)
def test_a_delta_that_contradicts_itself_is_an_error(text: str, what: str) -> None:
    assert what in errors(text, BASE)


def test_a_heading_of_a_delta_that_is_not_read_is_told() -> None:
    text = "## ADDED Requirements\n### Login\n### Requirement: A\n#### Scenario: x\n- THEN y\n"

    assert [(one.level, one.line) for one in lint(text, BASE)] == [("warning", 2)]


def test_a_feature_without_a_scenario_is_told_the_lines_in_gherkin() -> None:
    text = "Feature: Basket\n  Words.\n"
    (fault,) = lint_spec(read_spec("a.feature", text.encode()), text)

    assert (fault.level, fault.line) == ("error", 2)
    assert "  Scenario: NAME\n    Given" in fault.fix
