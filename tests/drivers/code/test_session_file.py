from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.gitrepo import make_repo
from verdigris.core.errors import UserError
from verdigris.drivers.code import session_file as sessions
from verdigris.drivers.code.plan import Plan, PlanStep
from verdigris.drivers.code.session_file import SessionFile, SessionRecord, find_session
from verdigris.models.protocol import Message, ToolCall, Usage
from verdigris.models.providers import Scrubber
from verdigris.storage.repository import Repository, find_repository

NAME = "0123abcd"
PREFIX = (Message("system", "You write code."),)
CALL = Message("assistant", "", (ToolCall("a", "search", "{}"),))
ENTRIES: tuple[sessions.SessionEntry, ...] = (
    sessions.Opened("m", PREFIX, start=7),
    sessions.Tasked("build it"),
    sessions.Said((Message("user", "build it"),)),
    sessions.TurnBegan(1, "tree1"),
    sessions.Said((CALL,)),
    sessions.Counted(Usage(10, 5, 2, cache_known=False)),
    sessions.Said((Message("tool", "found", call_id="a"),)),
    sessions.Planned(Plan((PlanStep("one", "t::a", "t", marked=True),))),
    sessions.Judged("[tdd] accepted"),
    sessions.ModelChosen("ollama:another"),
)


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return find_repository(make_repo(tmp_path / "repo").root)


def written(repo: Repository, *entries: sessions.SessionEntry, name: str = NAME) -> SessionFile:
    file = SessionFile(repo, name, Scrubber(()))
    for entry in entries:
        file.add(entry)
    return file


def test_what_was_written_folds_to_the_same_after_a_kill(repo: Repository) -> None:
    before = written(repo, *ENTRIES).record
    after = SessionFile(repo, NAME, Scrubber(())).record
    assert after == before
    assert after.conversation.prefix == PREFIX
    assert [message.role for message in after.conversation.said] == ["user", "assistant", "tool"]
    assert after.usage == Usage(10, 5, 2, cache_known=False)
    assert (after.tasks, after.start, after.openings, after.outcome) == (("build it",), 7, 1, "")
    assert after.turns == (sessions.TurnBegan(1, "tree1"),)
    assert after.plan.steps[0].marked
    assert after.verdicts == ("[tdd] accepted",)
    assert (after.model, after.chosen) == ("m", "ollama:another")


def test_a_session_that_goes_on_keeps_its_prefix_and_its_start(repo: Repository) -> None:
    file = written(repo, *ENTRIES, sessions.Ended("done"))
    assert file.record.outcome == "done"
    file.add(sessions.Opened("other", (Message("system", "changed"),), start=99))
    assert (file.record.model, file.record.openings, file.record.outcome) == ("other", 2, "")
    assert (file.record.conversation.prefix, file.record.start) == (PREFIX, 7)


def test_a_compaction_alone_replaces_what_was_said(repo: Repository) -> None:
    short = (Message("user", "the essentials"),)
    record = written(repo, *ENTRIES, sessions.Compacted(short)).record
    assert record.conversation.said == short
    assert record.conversation.prefix == PREFIX


def test_the_value_of_a_key_variable_is_not_written(repo: Repository) -> None:
    scrub = Scrubber(("LLM_KEY",), {"LLM_KEY": "hush-0123456789"})
    file = SessionFile(repo, NAME, scrub)
    file.add(sessions.Tasked("the key is hush-0123456789"))
    assert "hush-0123456789" not in file.path.read_text()


def test_a_session_is_found_by_its_beginning_and_the_last_one_without_a_name(repo: Repository) -> None:
    with pytest.raises(UserError, match="no session"):
        find_session(repo, "")
    for number, name in enumerate((NAME, "0123ffff", "99990000")):
        os.utime(written(repo, *ENTRIES, name=name).path, (number, number))
    assert find_session(repo, "") == "99990000"
    assert find_session(repo, "0123a") == NAME
    with pytest.raises(UserError, match="several"):
        find_session(repo, "0123")
    with pytest.raises(UserError, match="not known"):
        find_session(repo, "5")
    with pytest.raises(UserError, match="not known"):
        find_session(repo, "../../x")


def test_a_file_that_is_no_session_is_named(repo: Repository) -> None:
    file = written(repo, *ENTRIES)
    with file.path.open("a") as more:
        more.write('{"kind": "unheard"}\n')
    with pytest.raises(UserError, match="line 12"):
        sessions.fold_session(file.path)


def test_whose_worktree_it_is_can_be_read(repo: Repository) -> None:
    assert sessions.read_current(repo) == ""
    sessions.note_current(repo, NAME)
    assert sessions.read_current(repo) == NAME


def test_an_empty_record_has_nothing_said() -> None:
    assert SessionRecord().conversation.said == ()
