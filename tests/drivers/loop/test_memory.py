"""State files live on a branch of their own, which nobody checks out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.gitrepo import make_repo
from verdigris.drivers.loop.memory import BRANCH, read_state, write_state

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_written_beside_others_and_the_worktree_stays_as_it_is(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.write("a.py", "x = 1\n")
    repo.commit()
    head = repo.git("rev-parse", "HEAD")
    assert read_state(repo.root, "port") == ""
    write_state(repo.root, "port", "# port\n", "port: iteration 1")
    write_state(repo.root, "sort", "# sort ✅\n", "sort: iteration 1")
    write_state(repo.root, "port", "# port, again\n", "port: iteration 2")
    assert read_state(repo.root, "port") == "# port, again\n"
    assert read_state(repo.root, "sort") == "# sort ✅\n"
    assert repo.git("log", "--format=%s", BRANCH).splitlines() == [
        "port: iteration 2",
        "sort: iteration 1",
        "port: iteration 1",
    ]
    assert (repo.git("rev-parse", "HEAD"), repo.git("status", "--porcelain")) == (head, "")
