"""What walks have found, each as the shortest story that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from verdigris.core.actions import Deny
from verdigris.core.records import Actor
from verdigris.storage.project import open_project
from verdigris.turns.refactor import begin
from walk.every_rule import Walk
from walk.handwriting import with_block
from walk.story import Story


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(Walk, "wanted", None)
    told = Story()
    yield told
    told.walk.failed = True
    told.walk.teardown()


def test_a_switch_back_after_an_accepted_turn_leaves_a_clean_tree(story: Story) -> None:
    story.git("switch --quiet --create side")
    story.turn("a", "f9")
    story.commit()
    story.git("switch --quiet main")
    story.tdd("aside")


def test_a_committed_docstring_stays(story: Story) -> None:
    story.change_docstring("a")
    story.commit()
    story.add_function("a", "f1", 77)
    story.tdd("aside")


def test_committed_source_is_ground(story: Story) -> None:
    story.add_function("a", "f9")
    story.commit()
    story.tdd("aside")
    story.tdd("test")


def test_committed_source_is_not_set_aside_with_a_later_edit(story: Story) -> None:
    story.add_function("a", "f9")
    story.commit()
    story.add_function("a", "f8")
    story.tdd("aside")


def test_a_commit_in_an_open_turn_is_not_undone_by_two_strikes(story: Story) -> None:
    story.claimed("a", "f9")
    story.add_function("a", "f8")
    story.commit()
    story.add_function("a", "f7")
    story.tdd("settle")
    story.add_function("a", "f6")
    story.tdd("settle")


def test_a_commit_in_an_open_turn_is_not_undone_by_a_test_bug(story: Story) -> None:
    story.claimed("a", "f9")
    story.add_function("a", "f8")
    story.commit()
    story.tdd("test-bug tests/test_a.py:9 wrong")


def test_a_commit_in_a_refactor_is_not_undone_by_its_end(story: Story) -> None:
    story.tdd("refactor begin")
    story.comment("a.py")
    story.add_function("b", "f2", 77)
    story.commit()
    story.tdd("refactor abort")


def test_a_persons_commit_between_an_agents_calls_stays(story: Story) -> None:
    story.agent_writes("README.md", "first\n")
    story.add_function("b", "f9")
    story.commit()
    story.agent_writes("README.md", "second\n")


def test_a_persons_edits_between_an_agents_calls_are_not_lost(story: Story) -> None:
    story.agent_writes("README.md", "first\n")
    story.add_function("a", "f9")
    story.commit()
    story.git("switch --quiet --create side")
    story.add_function("b", "f8")
    story.agent_writes("README.md", "second\n")


def test_what_is_set_aside_comes_back_only_with_a_claim_for_which_it_was_made(story: Story) -> None:
    story.add_function("a", "f8")
    story.tdd("aside")
    story.add_test("b", "f9")
    story.tdd("test")
    story.tdd("claim tests/test_b.py::test_f9 b.py")
    assert "f8" not in story.here.read("a.py")


def test_a_comment_that_was_written_meanwhile_is_not_overwritten_by_what_comes_back(story: Story) -> None:
    story.add_function("a", "f1", 77)
    story.tdd("aside")
    story.add_function("a", "f1", 1)
    story.tdd("refactor begin")
    story.tdd("restore a1")


def test_a_report_leaves_no_empty_entry(story: Story) -> None:
    story.claimed("a", "f9")
    story.tdd("test-bug tests/test_a.py:9 wrong")
    assert story.here.status()["aside"] == []


def test_a_corrected_test_ends_its_report(story: Story) -> None:
    story.add_test("a", "f1", 5)
    story.tdd("test-bug tests/test_a.py:5 wrong")
    story.next_leads_on()


def test_a_deleted_test_ends_its_report(story: Story) -> None:
    story.tdd("test-bug tests/test_a.py:5 wrong")
    story.cut("tests/test_a.py", "test_f1")
    story.next_leads_on()


def test_every_verb_names_the_same_next_where_source_came_first(story: Story) -> None:
    story.add_function("a", "f1", 77)
    story.tdd("test")


def test_source_first_leads_on(story: Story) -> None:
    story.add_function("a", "f9")
    story.next_leads_on()


def test_a_test_of_source_that_came_first_leads_on(story: Story) -> None:
    story.add_function("a", "f1", 77)
    story.add_test("a", "f1", 77)
    story.next_leads_on()


def test_three_reds_in_two_files_lead_on(story: Story) -> None:
    story.add_test("a", "f9")
    story.add_test("b", "f8")
    story.add_test("b", "f7")
    story.tdd("test")
    story.next_leads_on()


def test_a_frozen_test_that_changed_leads_on(story: Story) -> None:
    story.claimed("a", "f9")
    story.add_test("b", "f8")
    story.next_leads_on()


def test_a_suspended_turn_leads_on(story: Story) -> None:
    story.turn("a", "f9")
    story.commit()
    story.claimed("a", "f8")
    story.git("stash --quiet")
    story.git("reset --quiet --hard HEAD~1")
    story.next_leads_on()


def test_a_merge_in_progress_leads_on(story: Story) -> None:
    story.git("switch --quiet --create side")
    story.turn("a", "f9")
    story.commit()
    story.git("switch --quiet main")
    story.turn("a", "f8")
    story.commit()
    story.git("merge --quiet side")
    story.next_leads_on()


def test_off_leads_on(story: Story) -> None:
    story.tdd("off --why so")
    story.add_function("a", "f9")
    story.next_leads_on()


def test_a_refactor_that_broke_something_leads_on(story: Story) -> None:
    story.tdd("refactor begin")
    story.add_function("a", "f1", 77)
    story.next_leads_on()


@pytest.mark.parametrize("discard", ["checkout --quiet -- .", "stash --quiet", "reset --quiet --hard"])
def test_what_was_accepted_and_thrown_away_is_not_written_again(story: Story, discard: str) -> None:
    story.turn("a", "f9")
    story.git(discard)
    story.tdd("aside")


def test_a_refused_end_of_a_refactor_leads_on(story: Story) -> None:
    story.tdd("refactor begin")
    story.cut("tests/test_b.py", "test_f2")
    story.tdd("refactor end")
    story.next_leads_on()


def test_a_switch_under_an_open_turn_leads_on(story: Story) -> None:
    story.git("switch --quiet --create side")
    story.turn("b", "f8")
    story.commit()
    story.tdd("test")
    story.git("switch --quiet main")
    story.claimed("a", "f9")
    story.make_right()
    story.git("switch --quiet side")
    story.next_leads_on()


def test_two_reports_lead_on(story: Story) -> None:
    story.tdd("test-bug tests/test_a.py:5 wrong")
    story.tdd("test-bug tests/test_b.py:5 wrong")
    story.next_leads_on()


def test_a_deleted_test_and_a_new_red_lead_on(story: Story) -> None:
    story.cut("tests/test_b.py", "test_f2")
    story.add_test("a", "f9")
    story.tdd("test")
    story.next_leads_on()


def test_a_new_name_for_test_files_leads_on(story: Story) -> None:
    story.write("pytest.ini", "[pytest]\npython_files = test_*.py check_*.py\n")
    story.write("tests/check_a.py", "import a\n\n\ndef test_f9():\n    assert a.f9() == 9\n")
    story.tdd("test")
    story.next_leads_on()


BROKEN = "def broken(:"


def test_a_stub_of_what_was_accepted_and_thrown_away_is_no_unclaimed_edit(story: Story) -> None:
    story.turn("b", "f3")
    story.git("checkout --quiet -- b.py")
    story.tdd("stub tests/test_b.py::test_f3")
    assert story.here.status()["unclaimed"] == []


def test_an_aborted_refactor_names_the_move_that_holds_once_the_tree_is_clean(story: Story) -> None:
    story.tdd("off --why so")
    story.add_function("b", "f3")
    story.tdd("on")
    story.git("checkout --quiet -- b.py")
    story.tdd("refactor begin")
    story.write("b.py", with_block(story.here.read("b.py"), BROKEN))
    story.commit()
    story.git("reset --quiet --mixed HEAD~1")
    story.tdd("refactor abort")


def test_committed_source_that_does_not_parse_leads_on(story: Story) -> None:
    story.add_test("b", "f9")
    story.tdd("test")
    story.write("b.py", with_block(story.here.read("b.py"), BROKEN))
    story.git("commit --quiet --message broken b.py")
    story.tdd("test tests/test_b.py::test_f9")
    story.next_leads_on()


def test_wrong_source_that_came_first_leads_on(story: Story) -> None:
    story.add_test("a", "f1", 77)
    story.add_function("a", "f1", 78)
    story.tdd("test")
    story.next_leads_on()


def test_a_report_of_each_file_and_source_that_came_first_lead_on(story: Story) -> None:
    story.add_test("a", "f9")
    story.tdd("test-bug tests/test_a.py:5 wrong")
    story.tdd("test-bug tests/test_b.py:5 wrong")
    story.add_function("a", "f8")
    story.next_leads_on()


def test_what_a_person_threw_away_in_a_refactor_does_not_come_back_with_its_end(story: Story) -> None:
    story.comment("tests/test_a.py")
    story.tdd("refactor begin")
    story.git("checkout --quiet -- tests/test_a.py")
    story.tdd("refactor abort")


def test_what_git_overwrites_in_a_sync_is_kept(story: Story) -> None:
    for _ in range(2):
        story.change_docstring("a")
        story.git("commit --quiet --all --message docstring")
    story.git("revert --no-edit HEAD~1")
    story.comment("a.py")
    assert story.tdd("sync -- revert --abort").code == 0


def test_a_configuration_that_changed_in_a_refactor_leads_on(story: Story) -> None:
    story.tdd("refactor begin")
    story.write("tdd.yaml", f"{story.here.read('tdd.yaml')}# a remark\n")
    story.tdd("refactor end")
    story.next_leads_on()


def test_reds_of_a_file_that_does_not_load_any_more_lead_on(story: Story) -> None:
    story.add_test("b", "f9")
    story.tdd("test")
    story.git("rm --quiet b.py")
    story.git("commit --quiet --message gone b.py")
    story.tdd("test tests/test_b.py::test_f9")
    story.next_leads_on()


def test_a_lost_test_a_red_and_source_that_came_first_lead_on(story: Story) -> None:
    story.add_test("a", "f9")
    story.tdd("test")
    story.cut("tests/test_b.py", "test_f2")
    story.add_function("a", "f9", 10)
    story.next_leads_on()


def test_no_source_that_parses_leads_on(story: Story) -> None:
    for module in ("a", "b"):
        story.write(f"{module}.py", with_block(story.here.read(f"{module}.py"), BROKEN))
    story.commit()
    story.tdd("test")
    story.next_leads_on()


def test_a_report_a_lost_test_and_source_that_came_first_lead_on(story: Story) -> None:
    story.add_test("a", "f9")
    story.tdd("test-bug tests/test_a.py:9 wrong")
    story.cut("tests/test_b.py", "test_f2")
    story.add_function("a", "f8")
    story.next_leads_on()


def test_a_module_that_is_gone_and_source_that_came_first_lead_on(story: Story) -> None:
    story.git("rm --quiet b.py")
    story.git("commit --quiet --message gone b.py")
    story.add_test("b", "f9")
    story.tdd("test")
    story.add_function("a", "f8")
    story.next_leads_on()


def test_a_stop_that_tells_of_a_change_outside_calls_names_the_move_after_its_own_run(story: Story) -> None:
    story.agent_writes("README.md", "Read me.\n")
    story.add_test("a", "f9")
    story.comment("tdd.yaml")
    told = story.agent_stops()
    assert "tdd.yaml changed outside the agent's calls" in told
    assert told.count("next: ") == 1


def test_a_stop_with_nothing_but_a_change_outside_calls_names_the_next_move(story: Story) -> None:
    story.agent_writes("README.md", "Read me.\n")
    story.comment("tdd.yaml")
    told = story.agent_stops()
    assert told.splitlines()[-1] == f"next: {story.here.agents_next()}"


def test_an_agent_is_led_to_a_person_where_no_source_parses(story: Story) -> None:
    for module in ("a", "b"):
        story.write(f"{module}.py", with_block(story.here.read(f"{module}.py"), BROKEN))
    story.commit()
    story.tdd("test tests/test_a.py")
    agent = open_project(story.here.root, Actor("agent", "s1", "claude"))
    denied = begin(agent, uncovered=False)
    assert isinstance(denied, Deny)
    assert denied.next == story.here.agents_next()
    assert denied.next.startswith("ask the person to mend a.py, which does not parse: ")
    story.tdd("test")
    assert story.here.agents_next() == denied.next
    story.cut("a.py", "broken")
    story.commit()
    assert story.here.agents_next() == "`tdd refactor begin` opens b.py, which does not parse"
    story.next_leads_on()


def break_source(story: Story, *modules: str) -> None:
    for module in modules:
        story.write(f"{module}.py", with_block(story.here.read(f"{module}.py"), BROKEN))
    story.commit()


def test_a_person_mends_source_that_does_not_parse(story: Story) -> None:
    break_source(story, "a")
    story.tdd("test")
    assert story.here.status()["next"] == "mend a.py, which does not parse, then `tdd test`"
    story.cut("a.py", "broken")
    mended = story.here.read("a.py")
    assert story.tdd("test").code == 0
    assert not story.here.status()["unclaimed"]
    story.add_function("a", "f8")
    assert story.here.status()["unclaimed"]
    story.tdd("aside")
    assert story.here.read("a.py") == mended


def test_mending_is_no_way_to_edit_for_an_agent(story: Story) -> None:
    break_source(story, "a")
    story.tdd("test")
    text = story.here.read("a.py")
    assert story.agent_writes("a.py", text.replace("def broken(:", "def added():\n    return 5")) != "pass"


def test_a_report_source_that_does_not_parse_and_two_reds_lead_on_from_off(story: Story) -> None:
    story.add_test("a", "f9")
    story.tdd("test-bug tests/test_a.py:9 wrong")
    story.tdd("off --why a walk")
    break_source(story, "a")
    story.add_test("a", "f8")
    story.add_test("a", "f7")
    story.next_leads_on()


def test_source_that_came_first_a_lost_test_and_source_that_does_not_parse_lead_on(story: Story) -> None:
    story.add_test("a", "f9")
    story.tdd("test")
    break_source(story, "b")
    story.cut("tests/test_a.py", "test_f1")
    story.add_function("a", "f8")
    story.next_leads_on()


def test_a_person_mends_what_was_broken_while_it_was_off(story: Story) -> None:
    story.tdd("off --why a walk")
    story.write("b.py", with_block(story.here.read("b.py"), BROKEN))
    story.add_function("b", "f2", 1002)
    story.next_leads_on()


def test_what_a_revert_took_away_in_a_refactor_is_put_back(story: Story) -> None:
    story.add_test("a", "f9", 1)
    story.add_function("a", "f9", 1)
    story.commit()
    story.tdd("refactor begin")
    story.git("revert --no-edit HEAD")
    story.next_leads_on()


def test_what_a_person_commits_of_a_frozen_file_stays_when_the_agent_stops(story: Story) -> None:
    story.add_test("a", "f9")
    story.tdd("test")
    story.agent_writes("a.py", with_block(story.here.read("a.py"), story.walk.hand.function("f8", 8)))
    story.add_test("a", "f7")
    story.comment("tdd.yaml")
    story.commit()
    committed = story.here.read("tests/test_a.py"), story.here.read("tdd.yaml")
    told = story.agent_stops()
    assert (story.here.read("tests/test_a.py"), story.here.read("tdd.yaml")) == committed
    assert "put back" not in told
    assert story.here.status()["suspended"]
    story.next_leads_on()


def test_what_a_person_commits_of_a_frozen_file_is_proven_anew(story: Story) -> None:
    story.claimed("a", "f9")
    story.add_test("a", "f7")
    assert "(`tdd restore tests/test_a.py`), edit the claimed source" in story.here.status()["next"]
    story.commit()
    assert story.here.status()["next"].startswith("`tdd test tests/test_a.py::test_f9`")
    story.next_leads_on()


@pytest.mark.parametrize("edited", [False, True])
def test_a_revert_that_git_cannot_abort_leads_on(story: Story, *, edited: bool) -> None:
    story.add_function("a", "f1", 5)
    story.add_function("b", "f8")
    story.commit()
    story.add_function("a", "f1", 6)
    story.commit()
    story.git("revert --no-edit HEAD~1")
    if edited:
        story.comment("b.py")
    way = "--quit" if edited else "--abort"
    assert story.here.status()["next"].startswith(f"drop it with `tdd sync -- revert {way}`")
    story.next_leads_on()


@pytest.mark.parametrize("reverted", ["added", "removed"])
@pytest.mark.parametrize("edited", [False, True])
def test_a_revert_of_whole_files_that_git_cannot_abort_leads_on(
    story: Story, reverted: str, *, edited: bool
) -> None:
    if reverted == "removed":
        story.write("more.py", story.walk.hand.function("f7", 7))
        story.commit()
        story.git("rm --quiet more.py")
    else:
        story.write("more.py", story.walk.hand.function("f7", 7))
    story.add_function("a", "f1", 5)
    story.commit()
    story.add_function("a", "f1", 6)
    story.commit()
    story.git("revert --no-edit HEAD~1")
    if edited:
        story.write("more.py", story.walk.hand.comment())
    way = "--quit" if edited else "--abort"
    assert story.here.status()["next"].startswith(f"drop it with `tdd sync -- revert {way}`")
    story.next_leads_on()


def test_a_person_mends_what_an_agent_committed(story: Story) -> None:
    story.write("a.py", with_block(story.here.read("a.py"), BROKEN))
    story.walk.agent_commits()
    story.tdd("test")
    story.next_leads_on()


def test_edits_that_come_back_do_not_replace_a_reworded_line_that_is_committed(story: Story) -> None:
    story.add_function("a", "f1", 5)
    story.add_function("a", "f8")
    story.tdd("aside")
    text = story.here.read("a.py")
    story.write("a.py", text.replace("return 1  #", "return 1  # reworded"))
    story.commit()
    assert story.tdd("restore a1").code == 3


def test_a_configuration_with_which_the_test_tool_does_not_start_leads_on(story: Story) -> None:
    story.add_test("a", "f9")
    story.tdd("test")
    story.write("pytest.ini", "xfail_strict = true\n")
    story.tdd("test tests/test_a.py")
    assert story.here.status()["next"].startswith("correct what keeps the test tool from starting (ERROR: ")
    story.next_leads_on()


def test_a_refactor_names_all_that_has_to_be_put_back_at_once(story: Story) -> None:
    story.tdd("refactor begin")
    story.comment("tdd.yaml")
    story.write("pytest.ini", "[pytest]\naddopts = -q\n")
    told = story.tdd("refactor end").next
    assert told is not None
    assert told.startswith("put tdd.yaml back, put back what pytest.ini lost, restructure, then `tdd refac")
    story.next_leads_on()


def test_a_report_whose_line_has_moved_leads_on(story: Story) -> None:
    story.add_test("a", "f9")
    story.tdd("test-bug tests/test_a.py:9 wrong")
    text = story.here.read("tests/test_a.py")
    story.write(
        "tests/test_a.py",
        text.replace("def test_f1", f"{story.walk.hand.test('a', 'f8', 8)}\n\n\ndef test_f1"),
    )
    story.next_leads_on()


def test_a_new_module_that_was_written_before_its_red_leads_on(story: Story) -> None:
    story.git("rm --quiet a.py tests/test_a.py")
    story.git("commit --quiet --message gone")
    story.add_test("a", "f9")
    story.write("tests/test_a.py", f"import a\n\n\n{story.here.read('tests/test_a.py').lstrip()}")
    story.add_function("a", "f8")
    story.tdd("test")
    story.next_leads_on()


def test_a_reported_test_that_was_revised_in_a_refactor_leads_on(story: Story) -> None:
    story.add_test("a", "f9")
    story.tdd("test-bug tests/test_a.py:9 wrong")
    story.tdd("refactor begin")
    story.add_test("a", "f9")
    story.next_leads_on()


def test_a_report_beside_a_test_file_that_did_not_load_and_is_gone_leads_on(story: Story) -> None:
    story.write("b.py", with_block(story.here.read("b.py"), BROKEN))
    story.commit()
    story.tdd("test")
    story.add_test("a", "f9")
    story.tdd("test-bug tests/test_a.py:9 wrong")
    story.git("rm --quiet tests/test_b.py")
    story.git("commit --quiet --message gone tests/test_b.py")
    assert "tests/test_b.py" not in story.here.status()["next"]


def test_a_stop_that_sets_a_refactor_aside_follows_git_as_status_does(story: Story) -> None:
    story.turn("a", "f3")
    story.add_test("a", "f4")
    story.tdd("refactor begin")
    story.git("checkout -- a.py")
    story.agent_stops()
    story.add_function("a", "f5")
    told = story.agent_stops()
    assert "set aside as a1" in told
    assert f"next: {story.here.agents_next()}" in told


def test_a_spoiled_refactor_a_report_and_a_red_lead_on(story: Story) -> None:
    story.turn("a", "f3")
    story.turn("a", "f4")
    story.tdd("test-bug tests/test_a.py:9 wrong")
    story.add_test("a", "f1", 77)
    story.tdd("refactor begin")
    story.add_test("a", "f4", 78)
    story.write("pytest.ini", "[pytest]\naddopts = -q\n")
    story.next_leads_on()


def test_a_refactor_with_a_changed_switch_and_spoiled_source_leads_on(story: Story) -> None:
    story.add_test("a", "f3")
    story.tdd("refactor begin")
    story.comment("tdd.yaml")
    story.cut("a.py", "f1")
    story.agent_stops()
    story.add_test("a", "f4")
    story.next_leads_on()


def test_a_frozen_file_that_changed_a_report_and_a_red_lead_on(story: Story) -> None:
    story.add_function("b", "f2", 1002)
    story.commit()
    story.tdd("test")
    story.tdd("test-bug tests/test_b.py:5 wrong")
    story.add_test("a", "f3")
    story.tdd("test")
    assert story.tdd("claim tests/test_a.py::test_f3").code == 0
    story.add_function("a", "f3")
    story.add_test("a", "f1")
    assert story.here.status()["next"] == (
        "put tests/test_a.py back as the open turn froze it (`tdd restore tests/test_a.py`), "
        "then `tdd settle`"
    )
    story.next_leads_on()


def test_a_tool_that_does_not_start_source_that_came_first_and_two_reds_lead_on(story: Story) -> None:
    story.add_test("b", "f7")
    story.add_test("b", "f6")
    story.add_function("a", "f5")
    story.write("pytest.ini", "addopts = -q\n")
    story.tdd("test")
    story.next_leads_on()


def test_what_nobody_asked_for_leads_on(story: Story) -> None:
    story.add_test("a", "f3")
    story.tdd("test")
    assert story.tdd("claim").code == 0
    story.add_function("a", "f3")
    story.add_function("a", "f4")
    answer = story.tdd("settle")
    assert "unasked: a.py:" in answer.out
    assert (answer.next or "").startswith("take a.py:")
    story.next_leads_on()


def test_a_report_and_a_configuration_that_does_not_parse_are_mended_in_one_act(story: Story) -> None:
    story.add_test("a", "f3")
    story.tdd("test")
    story.tdd("test-bug tests/test_a.py:9 wrong")
    story.write("pytest.ini", "addopts = -q\n")
    assert "mend pytest.ini, which does not parse, then `tdd test" in story.here.status()["next"]
    story.next_leads_on()


def test_edits_that_are_set_aside_leave_reds_that_can_be_claimed(story: Story) -> None:
    story.add_test("b", "f7")
    story.add_function("a", "f5")
    story.tdd("test")
    answer = story.tdd("aside")
    assert "fail tests/test_b.py::test_f7  red: valid" in answer.out
    assert answer.next == "`tdd claim tests/test_b.py::test_f7`"


def test_a_test_that_uses_a_module_which_it_does_not_import_leads_on(story: Story) -> None:
    story.git("rm --quiet tests/test_a.py")
    story.git("commit --quiet --message gone")
    story.add_test("a", "f9")
    story.tdd("test")
    story.next_leads_on()
