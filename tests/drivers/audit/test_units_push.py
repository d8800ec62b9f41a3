from __future__ import annotations

from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from verdigris.core.errors import UserError
from verdigris.drivers.audit import units
from verdigris.drivers.audit.units import PushedRef, parse_refs, range_by_environment, ranges_by_refs
from verdigris.storage.repository import find_repository

ZERO = "0" * 40


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """Its first commit is on the remote's `main`."""
    made = make_repo(tmp_path / "repo")
    made.commit("first", a="1")
    made.git("init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    made.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    made.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    return made


def _found(repo: GitRepo, *refs: PushedRef) -> list[str]:
    return [one.text for one in ranges_by_refs(find_repository(repo.root), refs)]


def _ref(local: str, remote: str = ZERO) -> PushedRef:
    return PushedRef("refs/heads/work", local, "refs/heads/work", remote)


def test_lines_are_read_as_git_writes_them() -> None:
    text = f"refs/heads/a {'1' * 40} refs/heads/b {'2' * 40}\n(delete) {ZERO} refs/heads/c {'3' * 40}\n\n"
    assert parse_refs(text) == (
        PushedRef("refs/heads/a", "1" * 40, "refs/heads/b", "2" * 40),
        PushedRef("(delete)", ZERO, "refs/heads/c", "3" * 40),
    )
    assert parse_refs("") == ()


def test_another_line_is_refused_with_words() -> None:
    with pytest.raises(UserError, match="not a line of a pre-push hook"):
        parse_refs("hello\n")


def test_a_branch_that_the_remote_has_brings_what_is_new(repo: GitRepo) -> None:
    first = repo.head()
    second = repo.commit("second", a="2")
    assert _found(repo, _ref(second, first)) == [f"{first}..{second}"]


def test_a_new_branch_brings_what_no_remote_has(repo: GitRepo) -> None:
    first = repo.head()
    repo.commit("second", a="2")
    third = repo.commit("third", a="3")
    assert _found(repo, _ref(third)) == [f"{first}..{third}"]


def test_what_is_pushed_need_not_be_head(repo: GitRepo) -> None:
    first = repo.head()
    repo.git("checkout", "--quiet", "-b", "other")
    other = repo.commit("other", b="1")
    repo.git("checkout", "--quiet", first)
    assert _found(repo, _ref(other)) == [f"{first}..{other}"]


def test_deletions_and_what_is_there_already_bring_nothing(repo: GitRepo) -> None:
    assert _found(repo, _ref(ZERO, repo.head()), _ref(repo.head())) == []


def test_a_tag_brings_its_commit_and_a_tag_of_no_commit_nothing(repo: GitRepo) -> None:
    first = repo.head()
    second = repo.commit("second", a="2")
    repo.git("tag", "-a", "v1", "-m", "one")
    repo.git("tag", "blob", repo.git("rev-parse", "HEAD:a"))
    tags = [_ref(repo.git("rev-parse", name)) for name in ("v1", "blob")]
    assert _found(repo, *tags) == [f"{first}..{second}"]


def test_a_remote_commit_that_is_not_here_counts_as_none(repo: GitRepo) -> None:
    first = repo.head()
    second = repo.commit("second", a="2")
    assert _found(repo, _ref(second, "9" * 40)) == [f"{first}..{second}"]


def test_a_rewritten_branch_brings_what_differs_from_where_it_parted(repo: GitRepo) -> None:
    first = repo.head()
    old = repo.commit("old", a="2")
    repo.git("reset", "--hard", "--quiet", first)
    new = repo.commit("new", a="3")
    assert _found(repo, _ref(new, old)) == [f"{first}..{new}"]


def test_the_same_under_two_names_is_audited_once(repo: GitRepo) -> None:
    second = repo.commit("second", a="2")
    assert len(_found(repo, _ref(second), _ref(second))) == 1


def test_a_history_that_no_remote_knows_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = make_repo(tmp_path / "alone")
    ids = [alone.commit(str(number), a=str(number)) for number in range(5)]
    assert _found(alone, _ref(ids[-1])) == [f"{ids[0]}..{ids[-1]}"]
    assert _found(alone, _ref(ids[0])) == []
    monkeypatch.setattr(units, "MOST_COMMITS", 2)
    assert _found(alone, _ref(ids[-1])) == [f"{ids[2]}..{ids[-1]}"]


def test_pre_commit_tells_the_range_by_variables() -> None:
    given = {"PRE_COMMIT_FROM_REF": "a", "PRE_COMMIT_TO_REF": "b", "PRE_COMMIT_LOCAL_BRANCH": "refs/heads/x"}
    found = range_by_environment(given)
    assert found is not None
    assert (found.text, found.ref) == ("a..b", "x")
    assert range_by_environment({}) is None
