"""Two agents in one worktree: whose a change is, what waits, and who is told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.hands import Call, agent
from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World
from verdigris.core.errors import OthersCallOpen
from verdigris.core.events import EditClaim, Violation
from verdigris.core.paths import PathClass
from verdigris.core.state import Phase
from verdigris.storage.calls import callers
from verdigris.turns.claim import claim
from verdigris.turns.claim_check import Claimed
from verdigris.turns.own_part import concerns_about_authors
from verdigris.turns.test import run_tests
from verdigris.turns.tripwire import Pending, recall
from verdigris.turns.tripwire.authors import Window, share
from verdigris.turns.tripwire.calls import after_call, before_call
from verdigris.turns.tripwire.strays import Strays

EDIT = CALC + SUB


@contextmanager
def call(world: World, context: str) -> Iterator[Call]:
    made = Call(world, context)
    yield made
    made.end()


def red_of(world: World, context: str) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID, by=context)
    callers.note_session(str(world.project.repo.private), context, "")


def put_back_by(world: World) -> list[tuple[str, ...]]:
    return [event.by for event in world.events(Violation) if isinstance(event, Violation)]


def test_the_end_of_ones_call_leaves_what_anothers_open_call_wrote(world: World) -> None:
    a = Call(world, "a")
    world.write("calc.py", EDIT)
    b = Call(world, "b")
    assert not b.end()
    assert world.read("calc.py") == EDIT
    memory = recall(world.project)
    assert memory is not None
    assert memory.pending["calc.py"].by == ("a",), "it stood there when b's call began"
    ended = a.end()
    assert ended.put_back == ("calc.py",)
    assert "Put back: calc.py" in ended.text
    assert put_back_by(world) == [("a",)]
    assert world.read("calc.py") == CALC


def test_source_that_waited_claims_the_reds_of_whoever_wrote_it(world: World) -> None:
    red_of(world, "a")
    a = Call(world, "a")
    world.write("calc.py", EDIT)
    with call(world, "b"):
        pass
    assert a.end().claimed == SUB_ID
    assert world.state.claims[SUB_ID].by == "a"
    assert world.read("calc.py") == EDIT


def test_where_both_may_have_written_it_goes_back_when_both_have_ended_and_both_are_told(
    world: World,
) -> None:
    red_of(world, "a")
    a, b = Call(world, "a", "sed -i calc.py"), Call(world, "b", "npm run dev")
    world.write("calc.py", EDIT)
    ended = a.end()
    assert (ended.put_back, ended.claimed) == ((), "")
    assert "calc.py changed while another agent's call was open too (npm run dev)" in ended.text
    assert "next: wait for the end of another agent's call (npm run dev), then go on" in ended.text
    assert world.read("calc.py") == EDIT
    assert "Put back: calc.py" in b.end().text
    assert put_back_by(world) == [("a", "b")]
    assert world.read("calc.py") == CALC
    told = before_call(agent(world, "a"))
    assert "Put back: calc.py" in told.text
    assert "Calls of several agents were open" in told.text
    assert "tdd displaced calc.py" in told.text
    assert not before_call(agent(world, "a")).text, "told once"
    assert not world.events(EditClaim)


def test_a_call_that_began_later_is_not_suspected_and_a_later_write_is(world: World) -> None:
    a = Call(world, "a")
    world.write("calc.py", EDIT)
    b = Call(world, "b")
    world.write("calc.py", EDIT + "# more\n\nX = 1\n")
    b.end()
    memory = recall(world.project)
    assert memory is not None
    assert memory.pending["calc.py"].by == ("a", "b")
    a.end()
    assert put_back_by(world) == [("a", "b")]


def test_verbs_wait_while_anothers_open_call_may_have_written_source(world: World) -> None:
    red_of(world, "b")
    with call(world, "a"):
        world.write("calc.py", EDIT)
        with call(world, "b"), pytest.raises(OthersCallOpen, match=r"Another agent's call is open \(make\)"):
            run_tests(agent(world, "b"), [SUB_ID], cwd=world.root)
        assert world.read("calc.py") == EDIT
    assert world.read("calc.py") == CALC
    assert run_tests(agent(world, "b"), [SUB_ID], cwd=world.root).tests


def test_an_open_call_that_changed_nothing_hinders_nobody(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    with call(world, "server"), call(world, "b"):
        assert run_tests(agent(world, "b"), [SUB_ID], cwd=world.root).tests


def test_within_its_own_call_an_agents_source_goes_back_whoever_else_ended(world: World) -> None:
    with call(world, "a"):
        world.write("calc.py", EDIT)
        with call(world, "b"):
            pass
        run_tests(agent(world, "a"), [], cwd=world.root)
        assert world.read("calc.py") == CALC, "a keeps no shelter by an open call of its own"


def test_a_killed_call_ends_and_its_author_is_told_when_it_comes_back(world: World) -> None:
    a = Call(world, "a")
    world.write("calc.py", EDIT)
    os.close(a.descriptor)
    assert Call(world, "b").before.put_back == ("calc.py",)
    assert put_back_by(world) == [("a",)]
    assert "Put back: calc.py" in before_call(agent(world, "a"), agent_alive=True).text


def test_a_frozen_test_that_another_open_call_wrote_waits_and_no_verdict_is_given(world: World) -> None:
    world.green_by_record()
    with call(world, "a"):
        world.write("tests/test_sub.py", "cheat\n")
        with call(world, "b"):
            from verdigris.turns.settle import settle

            with pytest.raises(OthersCallOpen):
                settle(agent(world, "b"))
        assert world.read("tests/test_sub.py") == "cheat\n"
    assert world.read("tests/test_sub.py") == TEST_SUB
    assert put_back_by(world) == [("a",)]


def test_what_a_file_tool_is_about_to_write_is_left_to_its_own_end(world: World) -> None:
    private = str(world.project.repo.private)
    callers.note_edit(private, "a", "tests/test_add.py")
    world.green_by_record()
    before_call(agent(world, "b"))
    world.write("tests/test_add.py", "a's\n")
    assert not after_call(agent(world, "b"), wrote=("calc.py",))
    assert world.read("tests/test_add.py") == "a's\n"
    callers.end_edit(private, "a")
    assert after_call(agent(world, "a"), wrote=("tests/test_add.py",)).put_back == ("tests/test_add.py",)


def test_a_git_move_of_an_open_call_is_judged_at_its_own_end(world: World) -> None:
    before = world.repo.git("rev-parse", "HEAD")
    with call(world, "a"):
        world.write("calc.py", EDIT)
        world.repo.commit("unproven")
        world.write("calc.py", CALC)
        with call(world, "b"), pytest.raises(OthersCallOpen):
            run_tests(agent(world, "b"), [], cwd=world.root)
        assert world.repo.git("rev-parse", "HEAD") != before
    assert world.repo.git("rev-parse", "HEAD") == before
    assert world.state.phase is Phase.RED


@pytest.mark.parametrize(("context", "stays"), [("b", False), (callers.UNKNOWN, True)])
def test_in_anothers_turn_source_goes_back_unless_nobody_can_tell_whose_command_it_was(
    world: World, context: str, stays: bool
) -> None:
    red_of(world, "a")
    assert isinstance(claim(agent(world, "a"), [SUB_ID], ["calc.py"], cwd=world.root), Claimed)
    with call(world, context):
        world.write("calc.py", EDIT)
    assert (world.read("calc.py") == EDIT) is stays
    concern = "calc.py: another agent's call was open when it was written"
    turn = world.state.turn
    assert turn is not None
    assert [*concerns_about_authors(agent(world, "a"), world.state, turn)] == ([concern] if stays else [])


# -- the decision alone --------------------------------------------------------------------------


def strayed(*paths: str, link: bool = False) -> Strays:
    return Strays(PathClass.SOURCE, paths, "home", link=link)


def test_each_path_is_shared_by_who_could_write_it() -> None:
    seen = Window("b", frozenset({"mine.py"}), edits={"theirs.py": "a"})
    shared = share([strayed("mine.py", "theirs.py", "persons.py")], seen, {}, {"theirs.py": "1"})
    assert [(s.paths, set(by)) for s, by in shared.judged] == [(("mine.py",), {"b"})]
    assert shared.pending == {"theirs.py": Pending("1", ("a",))}
    assert [s.paths for s in shared.persons] == [("persons.py",)]


def test_what_is_known_of_a_path_holds_while_its_content_does() -> None:
    seen = Window("c", None, frozenset({"b"}))
    known = {"x.py": Pending("1", ("a",)), "y.py": Pending("1", ("a",))}
    shared = share([strayed("x.py", "y.py", "z.py")], seen, known, {"x.py": "1", "y.py": "2"})
    assert {s.paths: set(by) for s, by in shared.judged} == {
        ("x.py",): {"a"},
        ("y.py",): {"a", "b", "c"},
        ("z.py",): {"b", "c"},
    }


def test_a_link_is_one_change_with_what_it_hides() -> None:
    seen = Window("b", frozenset({"dir/x.py"}), open={"a": "make"}, shells=frozenset({"a"}))
    shared = share([strayed("dir", "dir/x.py", link=True)], seen, {}, {})
    assert [s.paths for s in shared.waiting] == [("dir", "dir/x.py")]
    assert shared.pending["dir"].by == ("a", "b")
