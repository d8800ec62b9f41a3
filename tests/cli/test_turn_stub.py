"""`tdd stub` writes the stubs and runs the test that they are for, so that the red is seen at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Cli
from support.gitrepo import make_repo

TEST = "tests/test_cart.py::test_prices_are_added"
CLAIM = f"`tdd claim {TEST}`"


@pytest.fixture
def cart(tmp_path: Path) -> Cli:
    cli = Cli(make_repo(tmp_path / "shop"))
    lines = (
        "from cart import total",
        "",
        "",
        "def test_prices_are_added():",
        "    assert total([3, 4]) == 7",
    )
    cli.repo.write("tests/test_cart.py", "\n".join((*lines, "")))
    cli.ok("init", "--yes")
    return cli


def test_the_red_and_its_claim_follow_the_stubs(cart: Cli) -> None:
    lines = cart.ok("stub", "tests/test_cart.py").out.splitlines()
    assert "  cart.py (new):" in lines
    assert lines.index("  cart.py (new):") < lines.index(f"● fail {TEST}  red: valid")
    assert [line for line in lines if line.startswith("next: ")] == [f"next: {CLAIM}"]
    assert lines[-1] == f"next: {CLAIM}"
    cart.ok("claim")


def test_the_document_has_the_stubs_and_the_run(cart: Cli) -> None:
    told = cart.ok("stub", TEST, "--json").json
    assert told["test"] == "tests/test_cart.py"
    assert [stub["path"] for stub in told["stubs"]] == ["conftest.py", "cart.py"]
    assert [(test["id"], test["red"]) for test in told["run"]["tests"]] == [(TEST, "valid")]
    assert told["next"] == told["run"]["next"] == CLAIM


def test_where_nothing_is_written_nothing_is_run(cart: Cli) -> None:
    cart.ok("stub", TEST)
    again = cart.ok("stub", TEST)
    assert "no stub to write" in again.out
    assert "failed" not in again.out
    told = cart.ok("stub", TEST, "--json").json
    assert (told["stubs"], told["run"], told["next"]) == ([], None, CLAIM)
