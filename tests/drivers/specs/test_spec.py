from __future__ import annotations

import hashlib

import pytest

from verdigris.drivers.specs.spec import Spec, normalized_digest, read_spec, slug

OPENSPEC = """\
# Sessions

## Purpose
Users stay signed in while they work.

## Requirements

### Requirement: Session expiry
A session SHALL end after 30 idle minutes.

#### Scenario: An idle session ends
- **GIVEN** a session that was last used 31 minutes ago
- **WHEN** it is used again
- **THEN** the user is asked to sign in

#### Scenario: A used session stays
- **WHEN** a session is used within 30 minutes
- **THEN** it stays open

### Requirement: Sign out
#### Scenario 2\uff1aEverywhere
- **WHEN** a user signs out
"""
SPECKIT = """\
# Feature Specification: Basket

**Feature Branch**: `001-basket`
**Status**: Draft

## User Scenarios & Testing

### User Story 1 - Add an item (Priority: P1)

A shopper adds things.

**Acceptance Scenarios**:

1. **Given** an empty basket, **When** a book is added, **Then** it holds one book
2. **Given** one book, **When** it is added again,
   **Then** it holds two books

### Edge Cases
- What happens at 1,000 items?

## Requirements
- **FR-001**: System MUST count items. [NEEDS CLARIFICATION: how many?]
"""
KIRO = """\
# Requirements Document

### Requirement 1: Login

**User Story:** As a user, I want to log in.

#### Acceptance Criteria

1. WHEN the password is right THE SYSTEM SHALL open the page
2. IF the password is wrong THEN THE SYSTEM SHALL say so
"""
BMAD = """\
---
title: Story 1.2
status: ready-for-dev
---
# Story 1.2: Discount

## Acceptance Criteria

- Given a basket of 100
- When a coupon of 10 is used
- Then the price is 90
- Given an empty basket
- When a coupon is used
- Then it is refused

| Scenario | Input / State | Expected | Error |
|---|---|---|---|
| zero | 0 | 0 | - |
"""


def read(text: str, path: str = "specs/x.md") -> Spec:
    return read_spec(path, text.encode())


def test_openspec_scenarios_have_ids_by_capability_requirement_and_name() -> None:
    spec = read(OPENSPEC, "openspec/specs/auth/sessions/spec.md")

    assert spec.id == "auth/sessions"
    assert [one.id for one in spec.scenarios] == [
        "auth/sessions#session-expiry/an-idle-session-ends",
        "auth/sessions#session-expiry/a-used-session-stays",
        "auth/sessions#sign-out/everywhere",
    ]
    assert (spec.scenarios[0].line, spec.scenarios[0].last_line) == (11, 14)
    assert spec.status == "draft"


def test_spec_kit_scenarios_are_items_below_a_bold_line() -> None:
    spec = read(SPECKIT, "specs/001-basket/spec.md")

    assert (spec.id, spec.status) == ("001-basket", "draft")
    assert [one.requirement for one in spec.scenarios] == ["User Story 1 - Add an item (Priority: P1)"] * 2
    assert "holds two books" in spec.scenarios[1].text
    assert spec.unclear == (22,)


def test_kiro_criteria_belong_to_their_requirement() -> None:
    spec = read(KIRO, ".kiro/specs/login/requirements.md")

    assert spec.id == "login"
    assert [one.requirement for one in spec.scenarios] == ["Login", "Login"]
    assert spec.scenarios[1].id.startswith("login#login/if-the-password-is-wrong")


def test_steps_on_lines_of_their_own_are_one_scenario_until_the_next_given() -> None:
    spec = read(BMAD)

    assert [(one.line, one.last_line) for one in spec.scenarios] == [(9, 11), (12, 14)]
    assert (spec.title, spec.status) == ("Story 1.2", "ready-for-dev")
    assert [(one.line, one.why) for one in spec.skipped] == [
        (16, "a table of cases is not read as scenarios")
    ]


LOOSE = "steps below a heading that announces no scenario"
READ = {
    "headings below acceptance criteria group them": (
        (
            "## Acceptance Criteria\n### Empty\n- **GIVEN** none\n- **THEN** zero\n"
            "### Scenario: own\n- THEN one\n### Full\n- GIVEN all\n- THEN full\n"
            "**Notes**\n- not read\n## Notes\n- nor this\n"
        ),
        ["x#empty/given-none 3", "x#empty/own 5", "x#full/given-all 8"],
        [],
    ),
    "steps that belong to no scenario are told once a section": (
        "## 受け入れ基準\n1. WHEN a THEN b\n2. WHEN c THEN d\n## Ways\n\nWHEN it runs\n\nWhen in doubt.\n",
        [],
        [(2, LOOSE), (6, LOOSE)],
    ),
    "an example in a fence is no scenario": (
        "# A\n```md\n#### Scenario: no\n```\n~~~\n```\n#### Scenario: neither\n~~~\n#### Scenario: yes\n",
        ["x#a/yes 9"],
        [],
    ),
    "a heading of any level, emphasised or closed, is read": (
        "## **Scenario: one** ##\ntext\n###### scenario 3 : two\n#### Scenario\n",
        ["x#spec/one 1", "x#spec/two 3"],
        [(4, "a heading `Scenario` needs a colon and a name")],
    ),
    "a scenario is no requirement of the next one": (
        "## Basket\n### Scenario: a\n- THEN x\n### Scenario: b\n- THEN y\n",
        ["x#basket/a 2", "x#basket/b 4"],
        [],
    ),
    "the same name twice has two ids": (
        "### R\n#### Scenario: a\nx\n#### Scenario: a\ny\n",
        ["x#r/a 2", "x#r/a-2 4"],
        [],
    ),
    "a rule between paragraphs is no front matter": (
        "# T\n\n---\n\n#### Scenario: a\n---\n",
        ["x#t/a 5"],
        [],
    ),
}


@pytest.mark.parametrize(("text", "scenarios", "skipped"), READ.values(), ids=READ)
def test_scenarios_are_read_and_other_lines_are_told(
    text: str, scenarios: list[str], skipped: list[tuple[int, str]]
) -> None:
    spec = read(text)
    assert [f"{one.id} {one.line}" for one in spec.scenarios] == scenarios
    assert [(one.line, one.why) for one in spec.skipped] == skipped


def test_a_byte_order_mark_and_crlf_change_nothing_but_lines_stay_counted() -> None:
    plain, odd = read(OPENSPEC), read("\ufeff" + OPENSPEC.replace("\n", "\r\n"))

    assert [(one.id, one.line, one.digest) for one in odd.scenarios] == [
        (one.id, one.line, one.digest) for one in plain.scenarios
    ]


def test_names_that_begin_alike_keep_their_ids_when_one_of_them_goes() -> None:
    items = [
        f"WHEN {'a very long and winding beginning of a sentence that ' * 2}{end} THEN x" for end in "abc"
    ]
    all_, some = (
        read("### R\n#### Acceptance Criteria\n" + "".join(f"{n}. {one}\n" for n, one in enumerate(kept, 1)))
        for kept in (items, items[2:])
    )

    assert len({one.id for one in all_.scenarios}) == 3
    assert [one.id for one in some.scenarios] == [one.id for one in all_.scenarios[2:]]


def test_of_two_front_matter_blocks_the_first_wins_and_both_are_known() -> None:
    spec = read("---\nid: SPEC-001\nstatus: Active\n---\n---\nstatus: draft\nprd: PRD-001\n---\n# T\n")

    assert (spec.id, spec.status, spec.blocks) == ("SPEC-001", "active", (1, 5))
    assert spec.metadata["prd"] == "PRD-001"


def test_the_hash_ignores_what_editors_change() -> None:
    expected = hashlib.sha256(b"# A\n\ntext").hexdigest()

    assert normalized_digest(b"# A\r\n\r\ntext \t\r\n\r\n\r\n") == expected
    assert normalized_digest(b"# A\n\ntext") == expected
    assert normalized_digest(b"# A\n\n text") != expected


def test_a_scenarios_hash_changes_with_its_text_only() -> None:
    one = read("### R\n#### Scenario: a\n- THEN x\n### S\n#### Scenario: b\n- THEN y\n")
    two = read("### R\n#### Scenario: a\n- THEN x   \n\n### S\n#### Scenario: b\n- THEN z\n")

    assert one.scenarios[0].digest == two.scenarios[0].digest
    assert one.scenarios[1].digest != two.scenarios[1].digest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A used session stays", "a-used-session-stays"),
        ("  **!** ", "unnamed"),
        ("利用者がログインする", "利用者がログインする"),
        ("word " * 30, "word-word-word-word-word-word-word-word-word-word-16d113"),
        ("x" * 70, "x" * 53 + "-c71bd1"),
    ],
)
def test_slugs(text: str, expected: str) -> None:
    assert slug(text) == expected


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b"---", b"---\n", b"#" * 70_000, b"- " * 5_000])
def test_any_bytes_are_a_spec_without_scenarios(data: bytes) -> None:
    assert read_spec("junk.md", data).scenarios == ()


@pytest.mark.parametrize(
    "block",
    ["a: [", "a: &a [x]\nstatus: *a", "created: 2025-13-45", "[" * 5_000, "status: draft\nstatus: ["],
)
def test_front_matter_that_no_loader_should_try_is_said(block: str) -> None:
    spec = read(f"---\n{block}\n---\n#### Scenario: a\n- THEN x\n")

    assert ([one.line for one in spec.skipped], spec.status, len(spec.scenarios)) == ([1], "draft", 1)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "begin",
    ["# a", "- ", "1. ", "**a", "**Status**", "#### Scenario", "### Requirement", "**acceptance ", "- given"],
)
def test_a_long_line_takes_no_long_time(begin: str) -> None:
    assert read(f"{begin}{' ' * 50_000}x\n").id == "x"
