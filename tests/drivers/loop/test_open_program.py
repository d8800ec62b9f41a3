"""One run and one daemon at a time in a repository; each can be asked to stop."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.gitrepo import make_repo
from verdigris.core.errors import UserError
from verdigris.drivers.loop.open_program import (
    DAEMON,
    RUN,
    Occupant,
    ask_to_stop,
    find_occupant,
    is_asked_to_stop,
    occupy,
)
from verdigris.storage.repository import Repository, find_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return find_repository(make_repo(tmp_path / "project").root)


def test_whoever_is_at_work_is_known_and_alone(repo: Repository) -> None:
    assert find_occupant(repo, RUN) is None
    with occupy(repo, RUN, "port"):
        assert find_occupant(repo, RUN) == Occupant(os.getpid(), "port")
        assert find_occupant(repo, DAEMON) is None
        with pytest.raises(UserError) as refused, occupy(repo, RUN, "other"):
            pass
    assert f"process {os.getpid()}" in refused.value.message
    assert refused.value.hint == "let it end, or stop it with `tdd loop stop`"
    assert find_occupant(repo, RUN) is None


def test_all_worktrees_of_a_repository_share_the_place(tmp_path: Path) -> None:
    first = make_repo(tmp_path / "project")
    first.commit(a="")
    first.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))
    with occupy(find_repository(first.root), RUN, "port"):
        assert find_occupant(find_repository(tmp_path / "other"), RUN) == Occupant(os.getpid(), "port")


def test_a_run_is_stopped_by_its_name(repo: Repository) -> None:
    with occupy(repo, RUN, "port"):
        ask_to_stop(repo, os.getpid(), "other")
        assert not is_asked_to_stop(repo, "port")
        ask_to_stop(repo, os.getpid(), "port")
        assert is_asked_to_stop(repo, "port")
        assert not is_asked_to_stop(repo, "")
    with occupy(repo, RUN, "port"):
        assert not is_asked_to_stop(repo, "port")


def test_a_daemon_that_is_stopped_stops_its_run_too(repo: Repository) -> None:
    with occupy(repo, DAEMON):
        ask_to_stop(repo, os.getpid(), "")
        with occupy(repo, RUN, "port"):
            assert is_asked_to_stop(repo, "port")
        assert is_asked_to_stop(repo, "")
    assert not is_asked_to_stop(repo, "")


def test_a_mark_for_a_process_that_was_killed_does_not_stop_its_namesake(repo: Repository) -> None:
    ask_to_stop(repo, os.getpid(), "")
    with occupy(repo, RUN, "port"):
        assert not is_asked_to_stop(repo, "port")
    ask_to_stop(repo, os.getpid(), "")
    with occupy(repo, DAEMON):
        assert not is_asked_to_stop(repo, "")


def test_a_mark_for_another_process_stops_nobody_here(repo: Repository) -> None:
    with occupy(repo, RUN, "port"):
        ask_to_stop(repo, os.getpid() + 1, "port")
        assert not is_asked_to_stop(repo, "port")
