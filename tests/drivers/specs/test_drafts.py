from __future__ import annotations

import pytest

from verdigris.drivers.specs.drafts import FORMATS, Format, make_draft, with_status
from verdigris.drivers.specs.spec import read_spec
from verdigris.drivers.specs.spec_lint import lint_spec


@pytest.mark.parametrize("form", FORMATS)
def test_a_draft_has_one_scenario_to_fill_in_and_is_blocked_until_then(form: Format) -> None:
    draft = make_draft('Cart: "half" price', form, (), parent="PRD-007")
    spec = read_spec(draft.path, draft.text.encode())
    faults = lint_spec(spec, draft.text)

    assert (spec.status, len(spec.scenarios), spec.title) == ("draft", 1, 'Cart: "half" price')
    assert spec.metadata["prd"] == "PRD-007"
    assert {fault.what for fault in faults} == {"an open question: `[NEEDS CLARIFICATION …]`"}
    assert draft.path == f"specs/cart-half-price.{'feature' if form == 'feature' else 'md'}"


@pytest.mark.parametrize(
    ("form", "known", "path", "spec_id"),
    [
        ("openspec", ["openspec/project.md"], "openspec/specs/cart/spec.md", "cart"),
        ("spec-kit", [".specify/x", "specs/007-a/spec.md"], "specs/008-cart/spec.md", "cart"),
        ("kiro", [".kiro/specs/a/requirements.md"], ".kiro/specs/cart/requirements.md", "cart"),
        ("bmad", ["_bmad-output/a.md"], "_bmad-output/implementation-artifacts/cart.md", "cart"),
        ("forgeplan", [".forgeplan/specs/SPEC-041-a.md"], ".forgeplan/specs/SPEC-042-cart.md", "SPEC-042"),
        ("feature", ["features/a.feature"], "features/cart.feature", "cart"),
    ],
)
def test_a_draft_goes_to_the_usual_place_of_its_format(
    form: Format, known: list[str], path: str, spec_id: str
) -> None:
    draft = make_draft("Cart", form, known)

    assert draft.path == path
    assert read_spec(path, draft.text.encode()).id == spec_id
    assert read_spec(path, make_draft("Cart", form, known, spec_id="X-1").text.encode()).id == "X-1"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"---\nid: a\nstatus: draft\n---\n# T\n", b"---\nid: a\nstatus: active\n---\n# T\n"),
        (b"---\nStatus: 'Draft'  # soon\n---\n", b"---\nStatus: 'Active'  # soon\n---\n"),
        (b"\xef\xbb\xbf---\r\nid: a\r\n---\r\n", b"\xef\xbb\xbf---\r\nstatus: active\r\nid: a\r\n---\r\n"),
        (b"# T\r\n\r\n**Status**: Draft  \r\n## A\r\n", b"# T\r\n\r\n**Status**: Active  \r\n## A\r\n"),
        (b"# T\n- **Status:** `draft`\n", b"# T\n- **Status:** `active`\n"),
        (b"# T\nStatus: ready-for-dev\n", b"# T\nStatus: active\n"),
        (b"# T\n## A\nStatus: draft\n", b"---\nstatus: active\n---\n# T\n## A\nStatus: draft\n"),
        (
            b"\xef\xbb\xbf# T\r\n```\r\n**Status**: Draft\r\n```\r\n",
            b"\xef\xbb\xbf---\r\nstatus: active\r\n---\r\n# T\r\n```\r\n**Status**: Draft\r\n```\r\n",
        ),
        (b"---\nid: a\n---\n---\nstatus: draft\n---\n", b"---\nid: a\n---\n---\nstatus: active\n---\n"),
        (b"---\nid: a\n---\n**Status**: Draft\n", b"---\nid: a\n---\n**Status**: Active\n"),
        (b"", b"---\nstatus: active\n---\n"),
        (b"# T\n\xff\xfe\n", b"---\nstatus: active\n---\n# T\n\xff\xfe\n"),
    ],
)
def test_the_status_is_set_in_place_and_every_other_byte_stays(before: bytes, after: bytes) -> None:
    assert with_status("a.md", before, "active") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"@id:x @Draft @slow\nFeature: A\n", b"@id:x @active @slow\nFeature: A\n"),
        (b"# language: de\r\nFunktion: A\r\n", b"# language: de\r\n@active\r\nFunktion: A\r\n"),
        (b"\xef\xbb\xbfFeature: A\n", b"\xef\xbb\xbf@active\nFeature: A\n"),
        (
            b"@drafty\nFeature: A\n  @draft\n  Scenario: x\n",
            b"@drafty\n@active\nFeature: A\n  @draft\n  Scenario: x\n",
        ),
    ],
)
def test_the_status_of_a_feature_is_a_tag(before: bytes, after: bytes) -> None:
    assert with_status("a.feature", before, "active") == after


@pytest.mark.parametrize("data", [b"---\nstatus: [draft]\n---\n", b"---\nstatus:\n  now: draft\n---\n"])
def test_a_status_that_cannot_be_set_is_left_alone(data: bytes) -> None:
    assert with_status("a.md", data, "active") is None
