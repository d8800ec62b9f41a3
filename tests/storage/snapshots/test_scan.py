from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from support.gitrepo import make_repo
from verdigris.core.errors import StorageError
from verdigris.core.paths import EXECUTABLE, FILE, LINK
from verdigris.languages.folders import make_folders
from verdigris.sandbox.folders import clear
from verdigris.storage.snapshots.listing import LARGE_OTHER
from verdigris.storage.snapshots.scan import NAMES
from verdigris.storage.snapshots.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from support.gitrepo import GitRepo


def recorded(workspace: Workspace) -> list[str]:
    """What a snapshot holds now; the same as what one made from nothing would hold."""
    held = [entry.path for entry in workspace.files(workspace.snapshot())]
    (workspace._repo.private / "listing.json").unlink()
    anew = Workspace(workspace._repo, workspace._keep)
    assert [entry.path for entry in anew.files(anew.snapshot())] == held
    return held


def test_ignored_source_is_recorded_and_ignored_others_are_not(repo: GitRepo, workspace: Workspace) -> None:
    repo.write(".gitignore", "*.py\nbuild/\nnotes\n")
    for path in ("src/a.py", "tests/build/t.py", "build/out.txt", "notes", "script.py", "readme"):
        repo.write(path, "x")
    assert recorded(workspace) == [".gitignore", "readme", "src/a.py", "tests/build/t.py"]


def test_a_gitignore_that_comes_changes_or_goes_is_followed(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("docs/a.md", "a")
    repo.write("docs/b.md", "b")
    assert recorded(workspace) == ["docs/a.md", "docs/b.md"]
    repo.write("docs/.gitignore", "*\n")
    repo.write("docs/a.md", "edited together with it")
    assert recorded(workspace) == ["docs/.gitignore"]
    repo.write("docs/.gitignore", "a.md\n")
    assert recorded(workspace) == ["docs/.gitignore", "docs/b.md"]
    (repo.root / "docs/.gitignore").unlink()
    assert recorded(workspace) == ["docs/a.md", "docs/b.md"]


def test_the_users_own_excludes_have_no_say(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("readme", "x")
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/exclude").write_text("readme\n")
    (repo.home / ".config/git").mkdir(parents=True)
    (repo.home / ".config/git/ignore").write_text("readme\n")
    assert recorded(workspace) == ["readme"]


def test_a_large_other_file_is_left_out_and_large_source_is_not(repo: GitRepo, workspace: Workspace) -> None:
    for path in ("data.bin", "fits.bin", "src/data.bin"):
        with repo.write(path).open("wb") as file:
            file.truncate(LARGE_OTHER + (path != "fits.bin"))
    assert recorded(workspace) == ["fits.bin", "src/data.bin"]
    with (repo.root / "fits.bin").open("ab") as file:
        file.write(b"one too many")
    assert recorded(workspace) == ["src/data.bin"]


@pytest.mark.parametrize("name", [*NAMES, "x.egg-info"])
@pytest.mark.parametrize("root", ["src", "tests/deep"])
def test_no_name_leaves_code_out_of_source_and_tests(
    repo: GitRepo, workspace: Workspace, name: str, root: str
) -> None:
    repo.write(f"{root}/{name}/test_x.py", "x")
    repo.write(f"{root}/{name}/bin/{name}/more.py", "x")
    repo.write(".gitignore", f"{name}\n")
    held = [".gitignore", f"{root}/{name}/bin/{name}/more.py", f"{root}/{name}/test_x.py"]
    assert recorded(workspace) == held
    repo.write(f"{root}/{name}/test_y.py", "x")
    assert recorded(workspace) == [*held, f"{root}/{name}/test_y.py"]


def environment(repo: GitRepo, folder: str) -> None:
    repo.write(f"{folder}/pyvenv.cfg", "home = /usr/bin\n")
    repo.write(f"{folder}/bin/python", "#!")
    repo.write(f"{folder}/lib/python3.12/site-packages/pkg/test_pkg.py", "x")


def test_installed_packages_are_left_out_where_their_tool_puts_them(
    repo: GitRepo, workspace: Workspace
) -> None:
    for folder in (".venv", "env", "src/service/venv"):
        environment(repo, folder)
    for path in ("package.json", "src/web/package.json", "src/service/pyproject.toml"):
        repo.write(path, "x")
    for path in ("node_modules/a/index.js", "src/web/node_modules/b/test/b.js", ".tox/py312/lib/c.py"):
        repo.write(path, "x")
    assert recorded(workspace) == ["package.json", "src/service/pyproject.toml", "src/web/package.json"]


def test_what_only_looks_like_an_environment_is_recorded(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/env/pyvenv.cfg", "x")
    repo.write("src/env/lib/a.py", "x")
    environment(repo, "tests/venv")
    repo.write("tests/requirements.txt", "x")
    assert {"src/env/lib/a.py", "tests/venv/lib/python3.12/site-packages/pkg/test_pkg.py"} < set(
        recorded(workspace)
    )


def test_of_an_environment_only_what_its_tool_fills_is_left_out(repo: GitRepo, workspace: Workspace) -> None:
    environment(repo, "lib/env")
    repo.write("lib/setup.py", "x")
    repo.write("lib/env/own.py", "x")
    assert recorded(workspace) == ["lib/env/own.py", "lib/setup.py"]


def test_a_link_to_an_environment_is_left_out_as_the_environment_is(
    repo: GitRepo, workspace: Workspace
) -> None:
    environment(repo, ".venv")
    (repo.root / "env").symlink_to(".venv")
    (repo.root / "src").mkdir()
    (repo.root / "src/env").symlink_to("../.venv")
    assert recorded(workspace) == ["src/env"]


def test_folders_nest_deeper_than_python_calls_itself(
    repo: GitRepo, workspace: Workspace, shallow_calls: int
) -> None:
    deep = "src" + "/d" * (shallow_calls + 50)
    make_folders(f"{repo.root}/{deep}")
    repo.write(f"{deep}/x.py", "x")
    assert recorded(workspace) == [f"{deep}/x.py"]
    clear(f"{repo.root}/src")


def test_a_nested_repository_below_source_is_plain_files(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/a.py", "a")
    for place in ("src/inner", "vendor/inner", "src/inner/deeper"):
        inner = make_repo(repo.root / place)
        inner.write(".gitignore", "*.log\n")
        inner.write("b.py", "b")
        inner.commit()
        inner.home.rmdir()
    expected = ["src/a.py"] + [
        f"src/inner/{p}" for p in (".gitignore", "b.py", "deeper/.gitignore", "deeper/b.py")
    ]
    assert recorded(workspace) == expected
    repo.write("src/inner/deeper/c.py", "c")
    repo.write("vendor/inner/c.py", "c")
    assert recorded(workspace) == [*expected, "src/inner/deeper/c.py"]


def test_source_that_becomes_a_nested_repository_stays(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/pkg/a.py", "a")
    before = workspace.snapshot()
    make_repo(repo.root / "src/pkg").home.rmdir()
    assert workspace.snapshot() == before
    repo.write("src/pkg/a.py", "hidden?")
    assert workspace.read(workspace.snapshot(), "src/pkg/a.py") == b"hidden?"


@pytest.mark.parametrize(("place", "held"), [("src/sub", ["src/sub/a.py"]), ("vendor/sub", [])])
def test_a_submodule_follows_the_rule_of_nested_repositories(
    repo: GitRepo, workspace: Workspace, tmp_path: Path, place: str, held: list[str]
) -> None:
    inner = make_repo(tmp_path / "inner")
    inner.write("a.py", "a")
    inner.commit()
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), place)
    assert recorded(workspace) == [".gitmodules", *held]


def test_links_modes_pointers_and_empty_folders(repo: GitRepo, workspace: Workspace, tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    repo.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    repo.write("src/data.bin", pointer)
    repo.write("src/run", "#!", executable=True)
    (repo.root / "src/empty").mkdir()
    (repo.root / "src/out").symlink_to(tmp_path)
    (repo.root / "src/dangling").symlink_to("nowhere")
    tree = workspace.snapshot()
    assert {entry.path: entry.mode for entry in workspace.files(tree)} == {
        ".gitattributes": FILE,
        "src/dangling": LINK,
        "src/data.bin": FILE,
        "src/out": LINK,
        "src/run": EXECUTABLE,
    }
    assert workspace.read(tree, "src/data.bin") == pointer
    assert workspace.read(tree, "src/out") == os.fsencode(tmp_path)


def test_what_is_neither_file_nor_link_is_skipped(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("src/a.py", "a")
    repo.write("src/b.py", "b")
    assert recorded(workspace) == ["src/a.py", "src/b.py"]
    (repo.root / "src/b.py").unlink()
    os.mkfifo(repo.root / "src/b.py")
    os.mkfifo(repo.root / "src/fifo")
    monkeypatch.chdir(repo.root)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("src/socket")
        assert recorded(workspace) == ["src/a.py"]


def test_names_that_git_refuses_do_not_stop_a_snapshot(repo: GitRepo, workspace: Workspace) -> None:
    for path in ("src/.GIT/a.py", "src/.git/a.py", "src/git~1", "src/.gitx", "src/back\\slash"):
        repo.write(path, "x")
    (repo.root / "src/.gitmodules").symlink_to("x")
    assert recorded(workspace) == ["src/.gitx", "src/back\\slash", "src/git~1"]


def test_folders_files_and_links_change_places(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/x/a.py", "a")
    repo.write("src/y", "y")
    assert recorded(workspace) == ["src/x/a.py", "src/y"]
    (repo.root / "src/x").rename(repo.root / "src/z")
    (repo.root / "src/x").symlink_to("z")
    (repo.root / "src/y").unlink()
    repo.write("src/y/b.py", "b")
    assert recorded(workspace) == ["src/x", "src/y/b.py", "src/z/a.py"]


def test_what_lies_beyond_an_ignored_link_is_not_recorded(repo: GitRepo, workspace: Workspace) -> None:
    repo.write(".gitignore", "/docs\n!/docs/\n")
    repo.write("docs/a.md", "a")
    assert recorded(workspace) == [".gitignore", "docs/a.md"]
    (repo.root / "docs").rename(repo.root / "moved")
    (repo.root / "docs").symlink_to("moved")
    assert recorded(workspace) == [".gitignore", "moved/a.md"]


def test_odd_other_names_are_asked_about_one_by_one(repo: GitRepo, workspace: Workspace) -> None:
    repo.write(".gitignore", "*.log\n")
    for name in (":(top)", ":!x", "*", "a\nb.log", "a\nb", " ", os.fsdecode(b"\xff")):
        repo.write(name, "x")
    assert set(recorded(workspace)) == {".gitignore", ":(top)", ":!x", "*", "a\nb", " ", os.fsdecode(b"\xff")}


@pytest.mark.usefixtures("unprivileged")
def test_an_unreadable_file_is_named(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/good.py", "x")
    repo.write("src/se cret.py", "x").chmod(0)
    with pytest.raises(StorageError, match=r"'src/se cret\.py'") as caught:
        workspace.snapshot()
    assert "readable" in str(caught.value.hint)


@pytest.mark.usefixtures("unprivileged")
@pytest.mark.parametrize("mode", [0o000, 0o600])
def test_an_unreadable_folder_is_named_unless_it_is_ignored(
    repo: GitRepo, workspace: Workspace, mode: int
) -> None:
    repo.write("src/locked/a.py", "x")
    workspace.snapshot()
    (repo.root / "src/locked").chmod(mode)
    try:
        with pytest.raises(StorageError, match="src/locked"):
            workspace.snapshot()
    finally:
        (repo.root / "src/locked").chmod(0o755)


@pytest.mark.usefixtures("unprivileged")
def test_an_ignored_unreadable_folder_is_left_alone(repo: GitRepo, workspace: Workspace) -> None:
    repo.write(".gitignore", "pgdata\n")
    repo.write("pgdata/a", "x")
    (repo.root / "pgdata").chmod(0)
    try:
        assert recorded(workspace) == [".gitignore"]
    finally:
        (repo.root / "pgdata").chmod(0o755)
