from __future__ import annotations

import pytest

from verdigris.drivers.specs.delta import (
    DeltaEntry,
    StaleScenario,
    apply_delta,
    changed_spec,
    is_delta,
    make_delta,
    read_delta,
    render_delta,
    requirements,
    stale_scenarios,
    unread_headings,
)
from verdigris.drivers.specs.spec import Spec, read_spec

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

### Requirement: Names
#### Scenario: Shown
- THEN it is shown
## Notes
Words.
"""
NEW = """\
# Sessions
## Requirements
### Requirement: Session expiry
It SHALL end.
#### Scenario: Idle
- THEN it ends
#### Scenario: Used
- THEN it stays

### Requirement: Names
#### Scenario: Shown
- THEN it is shown in bold

### Requirement: Remember me
#### Scenario: Ticked
- THEN it lasts
## Notes
Words.
"""
DELTA = """\
## ADDED Requirements
### Requirement: Remember me
#### Scenario: Ticked
- THEN it lasts
## MODIFIED Requirements
### Requirement: Session expiry

**BEFORE**

```markdown
#### Scenario: Old
```

**AFTER**

It SHALL end soon.
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


def spec(text: str, path: str = "openspec/specs/s/spec.md") -> Spec:
    return read_spec(path, text.encode())


def test_a_delta_is_read_by_its_sections() -> None:
    found = read_delta(DELTA)

    assert [(one.operation, one.name, one.line, one.to) for one in found] == [
        ("added", "Remember me", 2, ""),
        ("modified", "Session expiry", 6, ""),
        ("removed", "Sign out", 22, ""),
        ("renamed", "Expiry", 24, "Session expiry"),
    ]
    assert found[1].body[0] == "It SHALL end soon."
    assert is_delta(DELTA)
    assert not is_delta(BASE)
    assert read_delta(BASE) == ()


def test_what_is_shown_as_before_is_no_scenario() -> None:
    assert [one.name for one in spec(DELTA).scenarios] == ["Ticked", "Idle", "Used"]


def test_half_a_rename_is_kept_as_what_it_is() -> None:
    text = "## RENAMED Requirements\n- FROM: `### Requirement: A`\n- FROM: B\n  TO: C\n- TO: D\n"

    assert [(one.name, one.to) for one in read_delta(text)] == [("A", ""), ("B", "C"), ("", "D")]


def test_a_heading_that_names_no_requirement_is_found() -> None:
    assert unread_headings("## ADDED Requirements\n### Login\n#### Scenario: a\n") == (2,)
    assert unread_headings(DELTA) == ()


def test_a_delta_is_applied_in_order_and_leaves_the_rest() -> None:
    made = apply_delta(BASE, spec(BASE), read_delta(DELTA))

    assert [one.name for one in requirements(spec(made), made)] == ["Session expiry", "Names", "Remember me"]
    assert "BEFORE" not in made
    assert "It SHALL end soon." in made
    assert made.startswith("# Sessions\n## Requirements\n")
    assert made.endswith("## Notes\nWords.\n")


def test_line_ends_and_a_byte_order_mark_stay() -> None:
    odd = "\ufeff" + BASE.replace("\n", "\r\n")

    made = apply_delta(odd, spec(odd), read_delta(DELTA))

    assert made.startswith("\ufeff# Sessions\r\n")
    assert "\n" not in made.replace("\r\n", "")


def test_the_delta_between_two_texts_makes_one_of_the_other() -> None:
    entries = make_delta((spec(BASE), BASE), (spec(NEW), NEW))
    text = render_delta(entries, {one.name: one for one in requirements(spec(BASE), BASE)})
    made = apply_delta(BASE, spec(BASE), read_delta(text))

    assert [(one.operation, one.name, one.to) for one in entries] == [
        ("added", "Remember me", ""),
        ("modified", "Names", ""),
        ("removed", "Sign out", ""),
        ("renamed", "Expiry", "Session expiry"),
    ]
    assert [one.digest for one in spec(made).scenarios] == [one.digest for one in spec(NEW).scenarios]
    assert "**BEFORE**\n\n```markdown\n#### Scenario: Shown\n- THEN it is shown\n```" in text


def test_the_same_text_has_no_delta() -> None:
    assert make_delta((spec(BASE), BASE), (spec(BASE), BASE)) == ()


KIRO = """\
# Requirements
## Requirement 1: Login

#### Acceptance Criteria
1. WHEN a THEN b
2. WHEN c THEN d
"""


def test_a_spec_of_another_format_has_a_delta_too() -> None:
    new = KIRO.replace("THEN d", "THEN e")
    entries = make_delta((spec(KIRO), KIRO), (spec(new), new))
    text = render_delta(entries, {one.name: one for one in requirements(spec(KIRO), KIRO)})
    made = apply_delta(KIRO, spec(KIRO), read_delta(text))

    assert [(one.operation, one.name) for one in entries] == [("modified", "Login")]
    assert made.startswith("# Requirements\n## Requirement 1: Login\n")
    assert [one.digest for one in spec(made).scenarios] == [one.digest for one in spec(new).scenarios]


def test_a_fence_within_a_requirement_stays_whole_in_before() -> None:
    old = "### Requirement: R\n```\n#### Scenario: no\n```\n#### Scenario: a\n- THEN x\n"
    new = old.replace("THEN x", "THEN y")
    entries = make_delta((spec(old), old), (spec(new), new))
    text = render_delta(entries, {one.name: one for one in requirements(spec(old), old)})

    assert [one.name for one in spec(text).scenarios] == ["a"]
    assert "````markdown" in text


def test_stale_scenarios_are_told_by_id_and_hash() -> None:
    old, delta = spec(BASE), read_delta(DELTA)
    entries = make_delta((old, BASE), (spec(NEW), NEW))

    assert stale_scenarios(old, changed_spec(old, BASE, delta), delta) == (
        StaleScenario(old.scenarios[0], "changed", "s#session-expiry/idle"),
        StaleScenario(old.scenarios[1], "renamed", "s#session-expiry/used"),
        StaleScenario(old.scenarios[2], "removed"),
    )
    assert [(one.scenario.name, one.fate) for one in stale_scenarios(old, spec(NEW), entries)] == [
        ("Idle", "renamed"),
        ("Used", "renamed"),
        ("Everywhere", "removed"),
        ("Shown", "changed"),
    ]


@pytest.mark.parametrize("text", ["", "\n", "# Only a title", "## ADDED Requirements"])
def test_any_text_can_be_compared_and_changed(text: str) -> None:
    entry = DeltaEntry("added", "New", 1, body=("#### Scenario: a", "- THEN x"))

    assert read_delta(text) == ()
    assert [one.name for one in spec(apply_delta(text, spec(text), (entry,))).scenarios] == ["a"]
