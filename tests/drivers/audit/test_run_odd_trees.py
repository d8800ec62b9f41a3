"""Commits whose trees are not plain files with plain names."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from support.small_histories import ADD, SUB, TEST_SUB, add_commit, begin
from verdigris.drivers.audit.report import AuditOutcome, UnitReport, render_report
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.units import Selection

pytestmark = pytest.mark.timeout(300)
READING = """\
import pathlib
from calc import sub


def test_sub():
    a, b = pathlib.Path("{path}").read_text().split()
    assert sub(int(a), int(b)) == 1
"""


def last(repo: GitRepo) -> UnitReport:
    (one,) = audit(repo.root, AuditRequest(Selection("HEAD"))).units
    return one


def test_a_submodule_is_found_as_it_lies_in_the_worktree(tmp_path: Path) -> None:
    library = make_repo(tmp_path / "library")
    library.write("numbers.txt", "3 2\n")
    library.commit("numbers")
    repo = begin(tmp_path / "repo")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.root), "library")
    repo.commit("a submodule")
    reading = READING.format(path="library/numbers.txt")
    add_commit(repo, "sub", {"calc.py": ADD + SUB, "tests/test_sub.py": reading})
    one = last(repo)
    assert (one.outcome, one.why) == (AuditOutcome.TEST_DRIVEN, one.why)


def test_a_submodule_that_is_not_there_keeps_nothing_from_running(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head()},library")
    repo.git("commit", "--quiet", "--message", "a submodule that nobody fetched")
    repo.write("calc.py", ADD + SUB)
    repo.write("tests/test_sub.py", TEST_SUB)
    repo.git("add", "calc.py", "tests")
    repo.git("commit", "--quiet", "--message", "sub")
    one = last(repo)
    assert (one.outcome, one.why) == (AuditOutcome.TEST_DRIVEN, one.why)


def test_what_lfs_has_fetched_takes_the_place_of_its_pointer(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    data = b"3 2\n"
    oid = hashlib.sha256(data).hexdigest()
    kept = repo.root / ".git" / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
    kept.parent.mkdir(parents=True)
    kept.write_bytes(data)
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n"
    reading = READING.format(path="tests/numbers.bin")
    # As a comment: no git here has the filter.
    add_commit(repo, "numbers", {".gitattributes": "# *.bin filter=lfs\n", "tests/numbers.bin": pointer})
    add_commit(repo, "sub", {"calc.py": ADD + SUB, "tests/test_sub.py": reading})
    one = last(repo)
    assert (one.outcome, one.why) == (AuditOutcome.TEST_DRIVEN, one.why)


def test_names_that_are_no_text_are_carried_through(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    odd = repo.root / os.fsdecode(b"caf\xe9.py")
    odd.write_bytes(b"x = 1\n")
    add_commit(repo, "sub", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB})
    report = audit(repo.root, AuditRequest(Selection("HEAD")))
    assert report.units[0].outcome is AuditOutcome.TEST_DRIVEN
    assert render_report(report)["units"][0]["outcome"] == "test-driven"


def test_a_commit_that_takes_all_tests_away_is_told(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "no more tests", {"tests/test_add.py": None, "pyproject.toml": None})
    one = last(repo)
    assert (one.outcome, one.why) == (AuditOutcome.WEAKENED, one.why)


def test_the_first_commit_of_all_is_judged_against_nothing(tmp_path: Path) -> None:
    one = last(begin(tmp_path / "repo"))
    assert one.outcome is AuditOutcome.TEST_DRIVEN
    assert "+def add(a, b):" in one.reds[0].stub


MEASURED = """\
from pathlib import Path

from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.units import Selection


def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024


before = peak()
(one,) = audit(Path(), AuditRequest(Selection("HEAD~"))).units
print(one.outcome, peak() - before)
"""


def test_large_files_of_a_commit_are_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    """In the tree as data, among the tests, and as what LFS keeps; the worktree has none of them."""
    repo = begin(tmp_path / "repo")
    large = 64 << 20
    for path in ("data.bin", "tests/data.bin", "fetched"):
        (repo.root / path).touch()
        os.truncate(repo.root / path, large)
    oid = subprocess.run(
        ["sha256sum", "fetched"], cwd=repo.root, capture_output=True, check=True, text=True
    ).stdout.split()[0]
    kept = repo.root / ".git" / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
    kept.parent.mkdir(parents=True)
    (repo.root / "fetched").rename(kept)
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {large}\n"
    files = {".gitattributes": "*.big filter=lfs\n", "fetched.big": pointer}
    add_commit(repo, "sub", {**files, "calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB})
    add_commit(repo, "without", {"data.bin": None, "tests/data.bin": None, "fetched.big": None})
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], cwd=repo.root, capture_output=True, check=True, text=True
    )
    outcome, megabytes = done.stdout.split()
    assert outcome == "test-driven"
    # An audit of small files adds about 40 MB, and 10 more where our own modules are compiled first.
    assert int(megabytes) < large >> 20
