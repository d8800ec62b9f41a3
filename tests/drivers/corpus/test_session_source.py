"""What the file of a session tells: parts between compactions, who spoke, and what it cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.corpora import made_triple
from support.gitrepo import make_repo
from verdigris.drivers.code.session_file import Compacted, Counted, Ended, ModelChosen, Opened, Said, Tasked
from verdigris.drivers.corpus.session_source import Sessions, tell_story
from verdigris.drivers.corpus.triple import Author
from verdigris.models.protocol import Message, Usage
from verdigris.storage.repository import find_repository

pytestmark = pytest.mark.quick
ENTRIES = (
    Opened("small", (Message("system", "rules"),)),
    Tasked("add"),
    Said((Message("user", "add"),)),
    Counted(Usage(10, 0, 2)),
    Said((Message("assistant", "yes"),)),
    Compacted((Message("user", "so far"),)),
    ModelChosen("large"),
    Counted(Usage(20, 5, 3)),
    Said((Message("assistant", "done"),)),
    Ended("done"),
)


def test_a_compaction_begins_a_part_and_what_it_carried_over_is_marked() -> None:
    story = tell_story("s1", ENTRIES)
    assert (story.model, story.statement, story.outcome) == ("small", "add", "done")
    first, second = story.parts
    assert [one.message.content for one in first] == ["add", "yes"]
    assert [(one.message.content, one.copied) for one in second] == [("so far", True), ("done", False)]


def test_a_reply_has_its_usage_and_its_speaker() -> None:
    first, second = tell_story("s1", ENTRIES).parts
    assert (first[0].usage, first[0].model) == (None, "")
    assert (first[1].usage, first[1].model) == (Usage(10, 0, 2), "small")
    assert (second[1].usage, second[1].model) == (Usage(20, 5, 3), "large")


def test_a_damaged_session_is_left_out_by_name_and_a_foreign_context_has_none(tmp_path: Path) -> None:
    repo = find_repository(make_repo(tmp_path / "repo").root)
    folder = repo.private / "sessions"
    folder.mkdir(parents=True)
    (folder / "0123abcd.jsonl").write_text("oops\n")
    sessions = Sessions(repo)
    assert [one.what for one in sessions.left_out] == ["session:0123abcd"]
    assert list(sessions.trajectories([made_triple(author=Author("agent", "code", "0123abcd"))])) == []
