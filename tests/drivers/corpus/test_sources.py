"""Triples of a repository that never heard of us, by way of an audit."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import DEAF_TO
from support.corpora import MUL_ID, gather_triples, prove_sub
from support.gitrepo import GitRepo, make_repo
from support.late_imports import needs
from support.small_histories import ADD, FLOOR, SUB, TEST_FLOOR, TEST_SUB, add_commit, begin
from support.turns import SUB_ID, World
from verdigris.core.errors import LogDamaged, UserError
from verdigris.drivers.audit.report import render_report
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.units import Selection
from verdigris.drivers.corpus.export import ExportOptions, export_corpus, gather
from verdigris.drivers.corpus.replay import ReplayAnswer, ReplayRequest, verify_corpus

pytestmark = needs("detect_secrets", "the extra verdigris[corpus] is not installed")


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
    assert triple.passing == ("tests/test_add.py::test_add",)
    assert triple.author.name == repo.git("log", "-1", "--format=%an", "HEAD~1")
    assert triple.against_commit is not None
    assert "STUB:TDD" not in triple.against_commit.source


@pytest.mark.parametrize("form", ["triples", "swebench", "parquet"])
@pytest.mark.parametrize("title", ["feat: sub", "fix: sub"])
def test_it_is_replayed_although_its_red_tree_is_nowhere_but_in_its_patch(
    audited: tuple[GitRepo, Path], tmp_path: Path, form: str, title: str
) -> None:
    """The one needs a stub to be red, the other none."""
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="the extra verdigris[corpus] is not installed")
    repo, report = audited
    if title == "fix: sub":
        report = tmp_path / "audit.json"
        fixed = {"calc.py": ADD + FLOOR, "tests/test_sub.py": TEST_SUB + TEST_FLOOR}
        repo = begin(tmp_path / "repo")
        add_commit(repo, "feat: sub", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB})
        add_commit(repo, title, fixed)
        report.write_text(json.dumps(render_report(audit(repo.root, AuditRequest(Selection("HEAD"))))))
    export_corpus(repo.root, ExportOptions(form, tmp_path / "out", log=False, audits=(report,)))
    [done] = verify_corpus(repo.root, ReplayRequest(tmp_path / "out"))
    more = 2 if title == "fix: sub" else 1
    assert (done.answer, done.why) == (ReplayAnswer.HOLDS, f"1 red before and green after, {more} more pass")
    assert not (repo.root / ".git" / "tdd").exists()


def test_an_audit_that_cannot_be_read_is_named(audited: tuple[GitRepo, Path], tmp_path: Path) -> None:
    repo, _ = audited
    for text, said in (("{oops", "not JSON"), ('{"schema": "x"}', "not an audit report")):
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


def test_each_accepted_turn_is_a_triple_with_its_red_and_its_edit(proven: World, tmp_path: Path) -> None:
    found = gather_triples(proven, tmp_path / "out")
    assert found.left_out == ()
    by_test = {triple.reds[0].id: triple for triple in found.triples}
    assert by_test.keys() == {SUB_ID, MUL_ID}
    sub = by_test[SUB_ID]
    assert (sub.reds[0].kind, sub.reds[0].place) == ("AttributeError", "tests/test_sub.py:5")
    assert "module 'calc' has no attribute 'sub'" in sub.reds[0].message
    assert "+def sub(a, b):" in sub.patch
    assert "test_sub" not in sub.patch
    assert "+def test_sub():" in sub.test_patch
    assert "calc.py b/calc.py" not in sub.test_patch
    assert sub.passing == ("tests/test_add.py::test_add",)
    assert (sub.verdict, sub.liveness, sub.language, sub.runner) == (
        "accepted",
        "not-tried",
        "python",
        "pytest",
    )
    assert sub.repository == "local/repo"
    assert sub.environment
    assert sub.author.role == "person"


def test_patches_against_a_commit_hold_all_since_it(proven: World, tmp_path: Path) -> None:
    found = gather_triples(proven, tmp_path / "out")
    by_test = {triple.reds[0].id: triple for triple in found.triples}
    mul = by_test[MUL_ID]
    assert mul.base_commit == proven.repo.head()
    assert mul.against_commit is not None
    assert "def mul" in mul.against_commit.source
    assert "def sub" not in mul.against_commit.source.replace(" def sub", "")
    assert mul.against_commit.tests.count("diff --git") == 1
    assert by_test[SUB_ID].base_commit == proven.repo.git("rev-parse", "HEAD~1")


def test_a_repository_without_a_log_is_refused_with_a_way_out(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    with pytest.raises(UserError, match="no log") as refused:
        gather(repo.root, ExportOptions("triples", tmp_path / "out"))
    assert "--audit" in (refused.value.hint or "")


def test_a_damaged_log_is_refused(world: World, tmp_path: Path) -> None:
    log = world.root / ".git" / "tdd" / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"configured"', b'"configurex"', 1))
    with pytest.raises(LogDamaged):
        gather_triples(world, tmp_path / "out")


def test_a_triple_whose_file_the_store_lost_is_left_out_and_named(world: World, tmp_path: Path) -> None:
    prove_sub(world)
    [triple] = gather_triples(world, tmp_path / "out").triples
    store = world.root / ".git" / "tdd" / "store" / "objects"
    entry = next(e for e in world.project.workspace.files(triple.green_tree) if e.path == "calc.py")
    blob = store / entry.blob[:2] / entry.blob[2:]
    assert b"def sub" in zlib.decompress(blob.read_bytes())
    blob.unlink()
    found = gather_triples(world, tmp_path / "out")
    assert found.triples == ()
    [gone] = found.left_out
    assert gone.what == triple.origin
    assert triple.green_tree in gone.why


def test_a_remote_names_the_repository_without_its_credentials(world: World, tmp_path: Path) -> None:
    world.repo.git("remote", "add", "origin", "https://ada:hush@example.org/ada/calc.git")
    prove_sub(world)
    [triple] = gather_triples(world, tmp_path / "out").triples
    assert triple.repository == "ada/calc"
    assert triple.remote == "https://example.org/ada/calc.git"
    assert triple.id.startswith("ada__calc-")


def test_a_file_that_is_no_utf_8_is_in_the_patch_as_a_binary_one(world: World, tmp_path: Path) -> None:
    world.write("data.txt", "caf\xe9\n".encode("latin-1"))
    prove_sub(world)
    [triple] = gather_triples(world, tmp_path / "out").triples
    assert "GIT binary patch" in triple.test_patch
    assert "+def test_sub" in triple.test_patch
