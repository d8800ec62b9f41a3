from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from support.small_histories import add_commit
from verdigris.drivers.audit.report import AuditOutcome, UnitReport
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.tree_runs.node_packages import choose_installer, list_members, tell_failure
from verdigris.drivers.audit.units import Selection

WORDS = "export const shout = (text) => text.toUpperCase();\n"
TEST = """\
import test from "node:test";
import assert from "node:assert";
import { mkdirSync, writeFileSync } from "node:fs";
import { greet } from "../src/greet.js";

test("greets", () => {
  mkdirSync("node_modules/.cache", { recursive: true });
  writeFileSync("node_modules/.cache/seen", "yes");
  assert.equal(greet("ann"), "HELLO ANN");
});
"""
QUIET = "export const greet = (name) => `hello ${name}`;\n"
LOUD = 'import { shout } from "loud";\n\nexport const greet = (name) => shout(`hello ${name}`);\n'


@pytest.mark.parametrize(
    ("lock", "text", "words"),
    [
        ("package-lock.json", "{}", "npm ci"),
        ("npm-shrinkwrap.json", "{}", "npm ci"),
        ("pnpm-lock.yaml", "", "pnpm install --frozen-lockfile"),
        ("yarn.lock", "# yarn lockfile v1\n", "yarn install --frozen-lockfile"),
        ("yarn.lock", "__metadata:\n  version: 8\n", "yarn install --immutable"),
        ("bun.lock", "{}", "bun install --frozen-lockfile"),
        ("", "", "npm install --no-package-lock --before 2024-05-28"),
    ],
)
def test_the_lock_file_names_the_tool(lock: str, text: str, words: str) -> None:
    found = choose_installer(lock, text, "2024-05-28")
    assert " ".join((found.tool, *found.install)).startswith(words)


def test_a_workspace_may_have_packages_in_each_of_its_folders() -> None:
    telling = ["package.json", "packages/web/package.json"]
    alone = {"package.json": "{}"}
    assert list_members("", telling, alone) == ("",)
    assert list_members("", telling, {"package.json": '{"workspaces": ["packages/*"]}'}) == (
        "",
        "packages/web/",
    )
    assert list_members("", telling, {**alone, "pnpm-workspace.yaml": ""}) == ("", "packages/web/")


def test_npm_is_cited_without_its_code_and_the_place_of_its_log() -> None:
    said = (
        "npm warn old\nnpm error code E404\nnpm error 404 Not Found - GET https://example.org/gone\n"
        "npm error A complete log of this run can be found in: /x\n"
    )
    assert tell_failure("npm", said) == "npm error 404 Not Found - GET https://example.org/gone"
    assert (
        tell_failure("pnpm", "ERR_PNPM_OUTDATED_LOCKFILE  it is old")
        == "pnpm: ERR_PNPM_OUTDATED_LOCKFILE  it is old"
    )


def pack(name: str, version: str, text: str) -> bytes:
    """A package as npm packs it."""
    made = io.BytesIO()
    manifest = json.dumps({"name": name, "version": version, "type": "module", "main": "index.js"})
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for path, content in (("package.json", manifest), ("index.js", text)):
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))
    return made.getvalue()


def files_with_lock(packed: bytes) -> dict[str, str]:
    """A manifest and a lock that ask for a package which lies in the project."""
    asked = {"loud": "file:vendor/loud.tgz"}
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
    manifest = {"name": "greeter", "version": "1.0.0", "type": "module", "dependencies": asked}
    lock = {
        "name": "greeter",
        "version": "1.0.0",
        "lockfileVersion": 3,
        "requires": True,
        "packages": {
            "": {"name": "greeter", "version": "1.0.0", "dependencies": asked},
            "node_modules/loud": {
                "version": "1.0.0",
                "resolved": "file:vendor/loud.tgz",
                "integrity": integrity,
            },
        },
    }
    return {"package.json": json.dumps(manifest), "package-lock.json": json.dumps(lock)}


def begin(root: Path) -> GitRepo:
    repo = make_repo(root)
    files = {"package.json": '{"type": "module", "scripts": {"test": "node --test"}}', "src/greet.js": QUIET}
    add_commit(repo, "the first", {**files, ".gitignore": "node_modules\n"})
    return repo


def change(repo: GitRepo, packed: bytes) -> UnitReport:
    (repo.root / "vendor").mkdir()
    (repo.root / "vendor" / "loud.tgz").write_bytes(packed)
    add_commit(
        repo,
        "shout",
        {**files_with_lock(pack("loud", "1.0.0", WORDS)), "src/greet.js": LOUD, "test/greet.test.js": TEST},
    )
    (unit,) = audit(repo.root, AuditRequest(Selection("HEAD~..HEAD"), env="lock")).units
    return unit


needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None or shutil.which("node") is None, reason="npm is not installed"
)


@needs_npm
@pytest.mark.timeout(200)
def test_packages_of_a_lock_are_laid_into_the_room_where_a_test_may_write_among_them(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    unit = change(repo, pack("loud", "1.0.0", WORDS))
    assert (unit.outcome, [red.why for red in unit.reds]) == (AuditOutcome.TEST_DRIVEN, ["assertion"]), (
        unit.why
    )
    assert unit.environment.startswith("lock-")
    assert not (repo.root / "node_modules").exists()


@needs_npm
@pytest.mark.timeout(200)
def test_one_environment_serves_all_commits_with_the_same_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = begin(tmp_path / "repo")
    first = change(repo, pack("loud", "1.0.0", WORDS))
    add_commit(repo, "a comment", {"src/greet.js": LOUD + "// more\nexport const bye = () => 1;\n"})
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "node").symlink_to(shutil.which("node") or "")
    (programs / "git").symlink_to(shutil.which("git") or "")
    monkeypatch.setenv("PATH", str(programs))  # no npm is there: nothing is installed again
    (second,) = audit(repo.root, AuditRequest(Selection("HEAD~..HEAD"), env="lock")).units
    assert second.environment == first.environment
    assert second.outcome is AuditOutcome.UNTESTED, second.why


@needs_npm
@pytest.mark.timeout(200)
def test_a_lock_that_cannot_be_met_blames_nobody_and_cites_the_tool(tmp_path: Path) -> None:
    unit = change(begin(tmp_path / "repo"), pack("loud", "1.0.0", "// not what the lock says\n"))
    assert unit.outcome is AuditOutcome.UNVERIFIED
    assert "its environment cannot be built: npm" in unit.why
    assert "sha512" in unit.why
