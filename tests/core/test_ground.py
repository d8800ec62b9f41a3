from __future__ import annotations

import pytest

from verdigris.core.ground import Side, Versions, choose_side, is_nearer

H, H2, A, X = "h", "h2", "a", "x"


@pytest.mark.parametrize(
    ("versions", "side"),
    [
        pytest.param(Versions(tree=H, head=H, base=H, accepted=H), Side.HEAD, id="clean"),
        pytest.param(Versions(tree=H, head=H, base=H, accepted=A), Side.HEAD, id="clean-though-accepted"),
        pytest.param(Versions(tree=None, head=None, base=H, accepted=A), Side.HEAD, id="gone-in-both"),
        pytest.param(Versions(tree=X, head=H, base=H, accepted=H), Side.HEAD, id="edited"),
        pytest.param(Versions(tree=X, head=None, base=None, accepted=None), Side.HEAD, id="new-file"),
        pytest.param(Versions(tree=A, head=H, base=H, accepted=A), Side.TREE, id="accepted"),
        pytest.param(Versions(tree=None, head=H, base=H, accepted=None), Side.TREE, id="accepted-deletion"),
        pytest.param(Versions(tree=X, head=H, base=H, accepted=A), Side.MERGED, id="edited-on-accepted"),
        pytest.param(Versions(tree=X, head=H2, base=H, accepted=A), Side.MERGED, id="head-moved-below-it"),
        pytest.param(Versions(tree=X, head=A, base=H, accepted=A), Side.HEAD, id="accepted-and-committed"),
        pytest.param(Versions(tree=A, head=H2, base=H, accepted=A), Side.TREE, id="accepted-carried-along"),
        pytest.param(
            Versions(tree=A, head=H, base=H, accepted=H, once_accepted=True), Side.TREE, id="popped-again"
        ),
        pytest.param(
            Versions(tree=H, head=H, base=H, accepted=H, unearned=True), Side.BEFORE, id="agents-test"
        ),
        pytest.param(
            Versions(tree=H, head=H, base=H, accepted=H, unearned=True, source=True),
            Side.HEAD,
            id="agents-source-that-lies-there-clean",
        ),
        pytest.param(
            Versions(tree=H, head=H, base=H, accepted=A, unattributed=True), Side.BEFORE, id="test-taken-back"
        ),
        pytest.param(
            Versions(tree=X, head=H, base=H, accepted=H, unearned=True, source=True),
            Side.BEFORE,
            id="agents-source-below-an-edit",
        ),
    ],
)
def test_the_ground_of_a_path(versions: Versions, side: Side) -> None:
    assert choose_side(versions) is side


@pytest.mark.parametrize(
    ("text", "nearer"), [(b"a\nb\nc\nx\n", True), (b"a\nx\n", False), (b"a\nb\n", True), (b"", False)]
)
def test_an_edit_was_made_on_what_it_is_nearer_to(text: bytes, *, nearer: bool) -> None:
    assert is_nearer(text, b"a\nb\nc\n", b"a\n") is nearer
