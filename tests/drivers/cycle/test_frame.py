"""Who wrote tests and source in a cycle: by file tool, by shell, one after the other."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.cycles import CODE, STUB, TEST_PATH, TESTS, CycleWorld, denied, done, make_cycle
from verdigris.core.records import Actor
from verdigris.core.state import PASS, Stage
from verdigris.drivers.cycle.frame import count_of
from verdigris.drivers.cycle.validation.judgement import GivenVerdict
from verdigris.storage.calls.callers import UNKNOWN
from verdigris.turns.settle import settle
from verdigris.turns.tripwire.calls import after_call, before_call
from verdigris.turns.write import decide_writes

MAIN, WRITER, OTHER = (Actor("agent", name, "claude") for name in ("session", "a1", "a2"))
JUDGED = GivenVerdict(PASS)


@pytest.fixture
def red(tmp_path: Path) -> CycleWorld:
    return make_cycle(tmp_path / "repo", "red")


def shell(world: CycleWorld, who: Actor, command: str) -> None:
    """A call of an agent's shell, with the tripwire before and after it."""
    before_call(world.project(who))
    subprocess.run(["bash", "-c", command], cwd=world.root, check=True)
    after_call(world.project(who))


def file_tool(world: CycleWorld, who: Actor, path: str, text: str) -> None:
    before_call(world.project(who))
    decide_writes(world.project(who), {path: lambda _: text.encode()}, cwd=world.root)
    world.write(path, text)
    after_call(world.project(who), wrote=(path,))


def written_by_shell(path: str, text: str) -> str:
    return f"cat > {path} <<'END'\n{text}END\n"


def authors(world: CycleWorld) -> set[Actor]:
    return set(world.cycle.authors)


def hand_in(world: CycleWorld, who: Actor) -> None:
    shell(world, who, "true")
    done(world.advance(who))


def test_whoever_wrote_tests_by_the_shell_is_their_author_and_cannot_validate(red: CycleWorld) -> None:
    shell(red, WRITER, written_by_shell("calc.py", STUB) + written_by_shell(TEST_PATH, TESTS))
    hand_in(red, MAIN)
    assert authors(red) == {WRITER}
    denied(red.validate(JUDGED, WRITER), "self-validation")
    done(red.validate(JUDGED, OTHER))


def test_a_shell_that_changes_what_another_wrote_makes_an_author(red: CycleWorld) -> None:
    file_tool(red, WRITER, "calc.py", STUB)
    file_tool(red, WRITER, TEST_PATH, TESTS)
    shell(red, MAIN, "cat calc.py")
    shell(red, OTHER, f"echo '# changed in place' >> {TEST_PATH}")
    hand_in(red, MAIN)
    assert authors(red) == {WRITER, OTHER}
    denied(red.validate(JUDGED, OTHER), "self-validation")
    done(red.validate(JUDGED, MAIN))


def test_two_contexts_one_after_the_other_are_two_authors(red: CycleWorld) -> None:
    shell(red, WRITER, written_by_shell("calc.py", STUB) + written_by_shell(TEST_PATH, TESTS))
    file_tool(red, OTHER, "tests/test_more.py", "def test_more():\n    assert True\n")
    hand_in(red, MAIN)
    assert authors(red) == {WRITER, OTHER}


def test_the_session_itself_is_the_author_of_what_it_writes(red: CycleWorld) -> None:
    file_tool(red, MAIN, "calc.py", STUB)
    file_tool(red, MAIN, TEST_PATH, TESTS)
    done(red.advance(OTHER))
    assert authors(red) == {MAIN}
    denied(red.validate(JUDGED, MAIN), "self-validation")


def test_where_nobody_is_known_to_have_written_all_agents_of_the_stage_count(red: CycleWorld) -> None:
    """A process that outlived its call, or a person: nobody is cleared by a write that nobody saw."""
    file_tool(red, WRITER, "calc.py", STUB)
    red.write(TEST_PATH, TESTS)
    done(red.advance(MAIN))
    assert authors(red) == {MAIN, WRITER}


def test_a_command_of_an_unknown_context_validates_nothing_and_clears_nobody(red: CycleWorld) -> None:
    unknown = Actor("agent", UNKNOWN, "claude")
    shell(red, WRITER, written_by_shell("calc.py", STUB))
    shell(red, unknown, written_by_shell(TEST_PATH, TESTS))
    hand_in(red, MAIN)
    assert authors(red) >= {WRITER, unknown}
    no = denied(red.validate(JUDGED, unknown), "unknown-context")
    assert "plain command of its own" in no.next


def test_a_person_who_writes_and_hands_in_is_the_author(red: CycleWorld) -> None:
    red.to_validate()
    assert [who.context for who in red.cycle.authors] == ["author"]


def test_authors_of_an_earlier_round_stay_authors(red: CycleWorld) -> None:
    shell(red, WRITER, written_by_shell("calc.py", STUB) + written_by_shell(TEST_PATH, TESTS))
    hand_in(red, MAIN)
    done(red.validate(GivenVerdict("CONCERNS", (f"{TEST_PATH}:6 — too weak",)), OTHER))
    shell(red, MAIN, f"echo '# a round later' >> {TEST_PATH}")
    hand_in(red, MAIN)
    assert authors(red) == {WRITER, MAIN}
    denied(red.validate(JUDGED, WRITER), "self-validation")


def test_the_coder_who_writes_by_the_shell_is_named(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "green")
    shell(world, WRITER, written_by_shell("calc.py", CODE))
    settle(world.project(MAIN))
    done(world.advance(MAIN))
    assert world.cycle.workers[Stage.GREEN] == (WRITER,)


def test_one_test_is_not_told_as_several() -> None:
    assert [count_of(number, "test") for number in (0, 1, 2)] == ["0 tests", "1 test", "2 tests"]
