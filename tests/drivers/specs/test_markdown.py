from __future__ import annotations

import sys

import pytest

from verdigris.core.errors import ToolMissing
from verdigris.drivers.specs.spec import Spec, read_spec

FEATURE = """\
@active @id:SPEC-009
Feature: Basket
  What a shopper buys.

  Background:
    Given a shop

  @wip
  Scenario: Empty
    When nothing is added
    Then the sum is 0

  # money
  Rule: Discounts
    Background:
      Given a coupon

    Example: Half price
      Then the sum is 5
      \"\"\"
      # no comment
      \"\"\"

    Scenario Outline: <n> books
      Then the sum is <sum>
      Examples:
        | n | sum |
        | 1 | 10  |
"""
MARKDOWN = """\
---
id: SPEC-010
status: Draft
---
`@slow`
# Feature: Basket

Words.

## Rule: Discounts

### Scenario: Half price
* Given a coupon
* Then the sum is 5
"""


def read(text: str, path: str = "features/basket.feature") -> Spec:
    return read_spec(path, text.encode())


def test_a_rule_is_a_requirement_and_an_outline_is_one_scenario() -> None:
    spec = read(FEATURE)

    assert (spec.id, spec.title, spec.status) == ("SPEC-009", "Basket", "active")
    assert [(one.id, one.line, one.last_line) for one in spec.scenarios] == [
        ("SPEC-009#basket/empty", 9, 11),
        ("SPEC-009#discounts/half-price", 18, 22),
        ("SPEC-009#discounts/n-books", 24, 28),
    ]
    assert "| 1 | 10  |" in spec.scenarios[2].text


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("a shop", "a closed shop", {0, 1, 2}),
        ("a coupon", "two coupons", {1, 2}),
        ("| 1 | 10  |", "| 1 | 11  |", {2}),
        ("# no comment", "# another", {1}),
        ("@wip", "@slow", set()),
        ("# money", "# cash", set()),
    ],
)
def test_a_scenarios_hash_covers_its_backgrounds_and_examples(old: str, new: str, stale: set[int]) -> None:
    was, is_ = read(FEATURE).scenarios, read(FEATURE.replace(old, new)).scenarios

    assert {n for n, (one, two) in enumerate(zip(was, is_, strict=True)) if one.digest != two.digest} == stale


def test_the_markdown_dialect_has_front_matter_and_the_same_ids() -> None:
    spec = read(MARKDOWN, "features/basket.feature.md")

    assert (spec.id, spec.status, spec.blocks) == ("SPEC-010", "draft", (1,))
    assert [(one.id, one.line) for one in spec.scenarios] == [("SPEC-010#discounts/half-price", 12)]


def test_a_byte_order_mark_crlf_and_another_language_are_read() -> None:
    text = "\ufeff# language: de\r\nFunktionalität: Korb\r\n  Szenario: Leer\r\n    Dann ist die Summe 0\r\n"

    assert [one.id for one in read(text).scenarios] == ["basket#korb/leer"]


def test_what_is_no_gherkin_is_told_with_its_line() -> None:
    spec = read("Feature: x\n  Scenario: a\n    Given b\n  junk\n")

    assert spec.scenarios == ()
    assert [(one.line, one.why.startswith("no Gherkin: expected")) for one in spec.skipped] == [(4, True)]


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n"])
def test_an_empty_file_has_no_scenario(text: str) -> None:
    assert read(text).scenarios == ()


def test_without_the_parser_the_way_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gherkin.parser", None)

    with pytest.raises(ToolMissing) as caught:
        read(FEATURE)

    assert "pip install 'verdigris[gherkin]'" in (caught.value.hint or "")
