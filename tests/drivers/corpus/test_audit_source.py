"""Triples of a repository that never heard of us, by way of an audit."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from support.cli import DEAF_TO
from support.small_histories import ADD, SUB, TEST_SUB, add_commit, begin
from verdigris.core.errors import UserError
from verdigris.drivers.audit.report import render_report
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.units import Selection
from verdigris.drivers.corpus.export import ExportOptions, export_corpus, gather
from verdigris.drivers.corpus.replay import ReplayAnswer, ReplayRequest, verify_corpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.gitrepo import GitRepo

pytest.importorskip("detect_secrets", reason="the extra verdigris[corpus] is not installed")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GitRepo, Path]]:
    home = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as patch:
        for name in DEAF_TO:
            patch.delenv(name, raising=False)
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.setenv("VIRTUAL_ENV", sys.prefix)
        repo = begin(home / "repo")
        add_commit(repo, "feat: sub", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB})
        add_commit(repo, "docs: say hello", {"README.md": "hello\n"})
        report = audit(repo.root, AuditRequest(Selection("HEAD~2..HEAD")))
        (home / "audit.json").write_text(json.dumps(render_report(report)))
        yield repo, home / "audit.json"


def options(folder: Path, report: Path) -> ExportOptions:
    return ExportOptions("triples", folder, log=False, audits=(report,))


def test_a_test_driven_commit_is_a_triple_and_others_are_not(
    audited: tuple[GitRepo, Path], tmp_path: Path
) -> None:
    repo, report = audited
    found = gather(repo.root, options(tmp_path, report))
    assert found.left_out == ()
    [triple] = found.triples
    assert triple.origin == f"audit:{repo.git('rev-parse', 'HEAD~1')}"
    assert triple.base_commit == repo.git("rev-parse", "HEAD~2")
    assert triple.statement.startswith("feat: sub\n\nMake these tests pass")
    assert [red.id for red in triple.reds] == ["tests/test_sub.py::test_sub"]
    assert triple.reds[0].kind.startswith("import, then ")
    assert "STUB:TDD" in triple.test_patch
    assert "-def sub(" in triple.patch or "+    return a - b" in triple.patch
    assert triple.verdict == "test-driven"
    assert triple.against_commit is not None
    assert "STUB:TDD" not in triple.against_commit.source


def test_it_is_replayed_although_its_red_tree_is_nowhere_but_in_its_patch(
    audited: tuple[GitRepo, Path], tmp_path: Path
) -> None:
    repo, report = audited
    export_corpus(repo.root, options(tmp_path / "out", report))
    [done] = verify_corpus(repo.root, ReplayRequest(tmp_path / "out"))
    assert (done.answer, done.why) == (ReplayAnswer.HOLDS, "1 red before and green after")
    assert not (repo.root / ".git" / "tdd").exists()


def test_an_audit_that_cannot_be_read_is_named(audited: tuple[GitRepo, Path], tmp_path: Path) -> None:
    repo, _ = audited
    for text, said in (("{oops", "no JSON"), ('{"schema": "x"}', "no audit report")):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(UserError, match=said):
            gather(repo.root, options(tmp_path / "out", tmp_path / "bad.json"))
    with pytest.raises(UserError, match="cannot be read"):
        gather(repo.root, options(tmp_path / "out", tmp_path / "none.json"))


def test_an_audit_of_another_repository_is_left_out_by_name(
    audited: tuple[GitRepo, Path], tmp_path: Path
) -> None:
    repo, report = audited
    other = begin(tmp_path / "other")
    found = gather(other.root, options(tmp_path / "out", report))
    assert found.triples == ()
    assert found.left_out[0].what == f"audit:{repo.git('rev-parse', 'HEAD~1')}"
