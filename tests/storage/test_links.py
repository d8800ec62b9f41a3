from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World, make_world
from verdigris.core.actions import Allow, Deny
from verdigris.core.records import Actor
from verdigris.core.verdict import Kind
from verdigris.storage import links
from verdigris.storage.project import open_project
from verdigris.turns.claim_check import Claimed
from verdigris.turns.tripwire.calls import after_call, before_call
from verdigris.turns.write import decide_writes

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.project import Project


def agent(world: World) -> Project:
    return open_project(world.root, Actor("agent", "session", "claude"))


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """Outside the worktree."""
    (tmp_path / "away").mkdir()
    return tmp_path / "away"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(
        tmp_path / "repo", **{"pkg/__init__.py": "", "pkg/a.py": "A = 1\n", "tests/data/x": "1"}
    )


def into_link(world: World, folder: str, away: Path) -> None:
    (world.root / folder).rename(away / "real")
    (world.root / folder).symlink_to(away / "real")


def paths(world: World) -> list[str]:
    return [link.path for link in links.links_out(world.project, world.project.workspace.snapshot())]


def test_source_that_became_a_link_is_put_back_and_settles_as_broken(world: World, away: Path) -> None:
    world.green_by_record()
    assert not before_call(agent(world))
    world.write("calc.py", CALC + SUB)
    into_link(world, "pkg", away)
    settled = world.settle()
    assert settled.verdict.kind is Kind.BROKEN
    assert settled.verdict.reasons[0].startswith(
        f"pkg is a link that leads out of the worktree, to {away}/real"
    )
    tripped = after_call(agent(world))
    assert set(tripped.put_back) == {"pkg", "pkg/__init__.py", "pkg/a.py"}
    assert "next: write the files themselves at pkg" in tripped.text
    assert not (world.root / "pkg").is_symlink()
    assert world.read("pkg/a.py") == "A = 1\n"
    assert world.read("calc.py") == CALC + SUB
    assert (away / "real/a.py").exists()


def test_ignoring_the_link_hides_nothing(world: World, away: Path) -> None:
    world.green_by_record()
    assert not before_call(agent(world))
    world.write(".gitignore", "/pkg\n")
    into_link(world, "pkg", away)
    assert paths(world) == ["pkg"]
    assert "pkg" in after_call(agent(world)).put_back


def test_a_folder_that_became_a_link_within_the_worktree_goes_back_too(world: World) -> None:
    world.green_by_record()
    assert not before_call(agent(world))
    (world.root / "pkg").rename(world.root / "notes")
    (world.root / "pkg").symlink_to("notes")
    assert "pkg/a.py" in after_call(agent(world)).put_back
    assert world.read("pkg/a.py") == "A = 1\n"


def test_in_red_a_new_link_to_code_outside_goes_back(world: World, away: Path) -> None:
    (away / "more.py").write_text("B = 1\n")
    assert not before_call(agent(world))
    (world.root / "extra").symlink_to(away)
    (world.root / "pkg/more.py").symlink_to(away / "more.py")
    assert set(after_call(agent(world)).put_back) == {"extra", "pkg/more.py"}


def test_golden_data_behind_a_link_lets_nothing_be_claimed(world: World, away: Path) -> None:
    into_link(world, "tests/data", away)
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    denied = world.claim(SUB_ID, "calc.py")
    assert isinstance(denied, Deny)
    assert denied.rule == "leads-out"
    assert "`generated:` in tdd.yaml" in denied.next


def test_a_person_may_let_a_link_lead_out(tmp_path: Path, away: Path) -> None:
    world = make_world(tmp_path / "repo", "    generated: [tests/data]\n", **{"tests/data/x": "1"})
    into_link(world, "tests/data", away)
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    assert isinstance(world.claim(SUB_ID, "calc.py"), Claimed)


def test_links_within_the_worktree_and_to_plain_data_are_free(world: World, away: Path) -> None:
    (away / "x.csv").write_text("1\n")
    (world.root / "data").symlink_to(away)
    (world.root / "tests/pkg").symlink_to("../pkg")
    (world.root / "alias.py").symlink_to(world.root / "calc.py")
    assert paths(world) == []


def test_what_no_snapshot_holds_is_as_far_away_as_what_lies_outside(world: World) -> None:
    world.write(".git/extra/a.py", "A = 2\n")
    world.write("package.json", "{}")
    world.write("node_modules/b/b.py", "B = 2\n")
    (world.root / "pkg/one").symlink_to("../.git/extra")
    (world.root / "pkg/two").symlink_to("../node_modules/b")
    assert paths(world) == ["pkg/one", "pkg/two"]


def test_a_folder_with_more_than_can_be_looked_at_is_judged_by_its_name(
    world: World, away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "LOOKED_AT", 1)
    for name in ("a", "b", "c"):
        (away / name).touch()
    (world.root / "docs").symlink_to(away)
    (world.root / "pkg/data").symlink_to(away)
    assert paths(world) == ["pkg/data"]


def test_a_write_through_such_a_link_is_denied(world: World, away: Path) -> None:
    (world.root / "extra").symlink_to(away)
    decision = decide_writes(agent(world), {"extra/a.py": lambda _: b"A = 1\n"}, cwd=world.root)
    assert isinstance(decision, Deny)
    assert decision.rule == "leads-out"
    beside = decide_writes(agent(world), {str(away / "a.py"): lambda _: b"A = 1\n"}, cwd=world.root)
    assert isinstance(beside, Allow)
