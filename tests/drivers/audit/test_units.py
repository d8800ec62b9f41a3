from __future__ import annotations

from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from verdigris.core.errors import UserError
from verdigris.drivers.audit.units import Range, Selection, find_units
from verdigris.storage.repository import find_repository


def units(repo: GitRepo, text: str, **said: object) -> Range:
    return find_units(find_repository(repo.root), Selection(text, **said))  # type: ignore[arg-type]


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = make_repo(tmp_path / "repo")
    for number in range(4):
        made.write(f"f{number}", str(number))
        made.commit(f"commit {number}")
    return made


def titles(found: Range) -> list[str]:
    return [unit.commit.title for unit in found.units]


def test_a_range_is_its_commits_with_the_oldest_first(repo: GitRepo) -> None:
    found = units(repo, "HEAD~2..HEAD")
    assert titles(found) == ["commit 2", "commit 3"]
    assert found.units[0].after == found.units[1].before == repo.git("rev-parse", "HEAD~1^{tree}")


def test_a_single_commit_is_a_range_of_one(repo: GitRepo) -> None:
    assert titles(units(repo, "HEAD~1")) == ["commit 2"]


def test_before_the_first_commit_there_is_the_empty_tree(repo: GitRepo) -> None:
    (first,) = units(repo, "HEAD~3").units
    assert first.before == repo.git("hash-object", "-t", "tree", "/dev/null")
    assert first.commit.parents == ()


def test_a_squash_begins_where_the_branches_parted(repo: GitRepo) -> None:
    repo.git("checkout", "--quiet", "-b", "work", "HEAD~2")
    repo.commit("on work", work="1")
    (one,) = units(repo, "main..work", squash=True).units
    assert one.before == repo.git("rev-parse", "main~2^{tree}")
    assert one.after == repo.git("rev-parse", "work^{tree}")
    assert one.commit.title == "on work"


def test_a_squash_of_several_says_how_many_they_are(repo: GitRepo) -> None:
    (one,) = units(repo, "HEAD~3..HEAD", squash=True).units
    assert one.commit.title == "3 commits up to: commit 3"


def test_of_a_merge_the_second_parent_can_be_judged_alone(repo: GitRepo) -> None:
    repo.git("checkout", "--quiet", "-b", "work", "HEAD~2")
    repo.commit("on work", work="1")
    repo.git("checkout", "--quiet", "main")
    repo.git("merge", "--quiet", "--no-ff", "--message", "merge", "work")
    (whole,) = units(repo, "HEAD").units
    (second,) = units(repo, "HEAD", merged=True).units
    assert whole.before == repo.git("rev-parse", "HEAD^1^{tree}")
    assert (second.before, second.after) == (
        repo.git("rev-parse", "HEAD~3^{tree}"),
        repo.git("rev-parse", "work^{tree}"),
    )


def test_paths_and_authors_choose_commits(repo: GitRepo) -> None:
    assert titles(units(repo, "HEAD~3..HEAD", paths=("f2",))) == ["commit 2"]
    assert titles(units(repo, "HEAD~3..HEAD", author="nobody")) == []


def test_shards_are_parts_of_the_whole(repo: GitRepo) -> None:
    parts = [titles(units(repo, "HEAD~3..HEAD", shard=(part, 2))) for part in (1, 2)]
    assert parts == [["commit 1", "commit 3"], ["commit 2"]]


def test_names_that_are_no_utf8_are_told_by_marks(repo: GitRepo) -> None:
    repo.git("config", "i18n.commitEncoding", "latin-1")
    repo.run("commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "-F", "-", stdin=b"caf\xe9\xff")
    (one,) = units(repo, "HEAD").units
    one.commit.title.encode("utf-8")


def test_an_unborn_branch_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no commit yet"):
        units(make_repo(tmp_path / "repo"), "main..HEAD")


def test_a_range_that_does_not_exist_is_told(repo: GitRepo) -> None:
    with pytest.raises(UserError, match="no commit 'gone'") as told:
        units(repo, "gone..HEAD")
    assert told.value.hint is not None
    assert "git log" in told.value.hint


def test_an_option_is_no_range(repo: GitRepo) -> None:
    with pytest.raises(UserError, match="no commit '--all'"):
        units(repo, "--all")


def test_a_shallow_clone_names_the_way_to_more_history(repo: GitRepo, tmp_path: Path) -> None:
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.root}", str(tmp_path / "shallow"))
    shallow = GitRepo(tmp_path / "shallow", repo.home)
    for text in ("HEAD", "HEAD~2..HEAD"):
        with pytest.raises(UserError) as told:
            units(shallow, text)
        assert told.value.hint is not None
        assert "fetch-depth: 0" in told.value.hint
