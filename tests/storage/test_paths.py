from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World, make_world
from verdigris.core.actions import Allow, Deny
from verdigris.core.errors import UserError
from verdigris.core.paths import Detected, PathClass
from verdigris.core.records import Actor
from verdigris.core.settings import Settings
from verdigris.core.verdict import Kind
from verdigris.languages.conventions import compile_classes
from verdigris.languages.registry import usual
from verdigris.storage import paths
from verdigris.storage.paths import CanonicalPath, Disk, FileIdentity, canonical, class_of, links_out
from verdigris.storage.project import Project, open_project
from verdigris.turns.claim_check import Claimed
from verdigris.turns.tripwire.calls import after_call, before_call
from verdigris.turns.write import decide_writes

CLASSES = compile_classes(Settings(), {(".", "python"): Detected(source=("src",))}, usual)
TEST = "tests/test_calc.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tree = tmp_path / "project"
    for name in ("src/calc.py", TEST, "docs/a.md"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    (tree / "t").symlink_to("tests")
    (tree / "src/impl_link.py").symlink_to("../tests/test_calc.py")
    (tree / "src/dangling.py").symlink_to("../tests/new.py")
    (tree / "src/hard.py").hardlink_to(tree / TEST)
    (tree / "docs/out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "in").symlink_to(tree / "tests")
    (tmp_path / "elsewhere/hard.txt").hardlink_to(tree / TEST)
    return tree


@pytest.mark.parametrize(
    ("spelling", "cwd", "path"),
    [
        (TEST, ".", TEST),
        ("./tests//./test_calc.py", ".", TEST),
        ("test_calc.py", "tests", TEST),
        ("../tests/test_calc.py", "src", TEST),
        ("{root}/tests/test_calc.py", "/", TEST),
        ("{root}/../project/tests/", ".", "tests"),
        ("{root}/../in/test_calc.py", ".", TEST),
        ("t/test_calc.py", ".", TEST),
        ("t/new folder/x\n.py", ".", "tests/new folder/x\n.py"),
        ("tests/caf\udce9", ".", "tests/caf\udce9"),
        ("src/impl_link.py", ".", TEST),
        ("src/dangling.py", ".", "tests/new.py"),
        ("src/missing/../calc.py", ".", "src/calc.py"),
        ("~/x", ".", "~/x"),
        (".", ".", "."),
        ("docs/out/x", ".", None),
        ("../elsewhere", ".", None),
        ("/", ".", None),
        ("../project2/x", ".", None),
    ],
)
def test_every_spelling_has_one_path(root: Path, spelling: str, cwd: str, path: str | None) -> None:
    assert canonical(root, spelling.format(root=root), cwd=root / cwd).path == path


def test_the_root_may_itself_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "again").symlink_to(root)
    assert canonical(tmp_path / "again", TEST, cwd=tmp_path / "again").path == TEST
    assert canonical(tmp_path / "again", str(root / TEST), cwd=tmp_path).path == TEST


def test_a_link_stands_for_itself_too(root: Path) -> None:
    (root / "tests/data.py").symlink_to("../src/calc.py")
    assert canonical(root, "tests/data.py", cwd=root) == CanonicalPath(
        "src/calc.py", ("src/calc.py", "tests/data.py")
    )


def test_dots_after_a_link_are_read_both_ways(root: Path) -> None:
    (root / "docs/far").symlink_to("../tests/deep", target_is_directory=True)
    (root / "tests/deep").mkdir()
    found = canonical(root, "docs/far/../x.md", cwd=root)
    assert found.path == "tests/x.md"
    assert set(found.names) == {"tests/x.md", "docs/x.md"}


def test_a_loop_of_links_is_a_path_like_any(root: Path) -> None:
    (root / "src/loop.py").symlink_to("loop.py")
    assert canonical(root, "src/loop.py", cwd=root).path == "src/loop.py"


@pytest.mark.parametrize("spelling", ["", "a\0b"])
def test_what_is_no_path_is_refused(root: Path, spelling: str) -> None:
    with pytest.raises(UserError):
        canonical(root, spelling, cwd=root)


def test_a_name_too_long_to_exist_is_still_classified(root: Path) -> None:
    assert class_of(root, "tests/" + "x" * 5000, CLASSES, cwd=root)[0] is PathClass.TEST


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("src/calc.py", (PathClass.SOURCE, "src/calc.py")),
        ("src/hard.py", (PathClass.TEST, TEST)),
        ("../elsewhere/hard.txt", (PathClass.TEST, TEST)),
        ("src/impl_link.py", (PathClass.TEST, TEST)),
        ("src/dangling.py", (PathClass.TEST, "tests/new.py")),
        ("docs/a.md", (PathClass.OTHER, "docs/a.md")),
        ("docs/out/x.py", (PathClass.OTHER, None)),
        ("src", (PathClass.OTHER, "src")),
    ],
)
def test_a_file_is_as_protected_as_its_most_protected_name(
    root: Path, spelling: str, expected: tuple[PathClass, str | None]
) -> None:
    assert (
        class_of(root, spelling, CLASSES, cwd=root, protected=["tests/gone.py", TEST, "src/calc.py"])
        == expected
    )


def test_two_names_are_enough_for_a_hard_link(root: Path) -> None:
    (root / "tests/data.json").write_text("{}")
    (root / "docs/same.json").hardlink_to(root / "tests/data.json")
    found = class_of(root, "docs/same.json", CLASSES, cwd=root, protected=[TEST, "tests/data.json"])
    assert found == (PathClass.TEST, "tests/data.json")


def test_a_link_in_the_tests_to_source_is_protected_where_it_stands(root: Path) -> None:
    (root / "tests/data.py").symlink_to("../src/calc.py")
    assert class_of(root, "tests/data.py", CLASSES, cwd=root) == (PathClass.TEST, "tests/data.py")
    assert class_of(root, "src/calc.py", CLASSES, cwd=root) == (PathClass.SOURCE, "src/calc.py")


class FoldingDisk:
    """A file system that keeps the case of names and ignores it, as macOS and vfat do."""

    def __init__(self, *paths: str) -> None:
        self.entries: dict[str, str] = {}
        for path in paths:
            parts = path.split("/")
            for end in range(2, len(parts) + 1):
                name = "/".join(parts[:end])
                self.entries.setdefault(name.casefold(), name)

    def disk(self) -> Disk:
        return Disk(realpath=os.path.normpath, identity=self.identity, listing=self.listing)

    def identity(self, path: str) -> FileIdentity | None:
        key = path.casefold()
        if key == "/":
            return FileIdentity(1, 1, 1)
        return FileIdentity(1, 2 + list(self.entries).index(key), 1) if key in self.entries else None

    def listing(self, folder: str) -> list[str]:
        prefix = folder.casefold().rstrip("/") + "/"
        below = [name for key, name in self.entries.items() if key.startswith(prefix)]
        return [name[len(prefix) :] for name in below if "/" not in name[len(prefix) :]]


FOLDING = FoldingDisk(
    *("/w/Project/.git", "/w/Project/tests/test_calc.py", "/w/Project/src/calc.py"),
    *("/w/Project/empty", "/w/Project/tdd.yaml"),
)


@pytest.mark.parametrize(
    ("spelling", "path"),
    [
        ("TESTS/Test_Calc.PY", TEST),
        ("/W/PROJECT/Tests/test_calc.py", TEST),
        ("SRC/calc.py", "src/calc.py"),
        ("/w/Other/tests/test_calc.py", None),
        ("Tests/New.py", "tests/New.py"),
        ("SRC/new/Deep.py", "src/new/Deep.py"),
    ],
)
def test_a_folding_file_system_gives_the_real_name(spelling: str, path: str | None) -> None:
    found = canonical(Path("/w/Project"), spelling, cwd=Path("/w/Project"), disk=FOLDING.disk())
    assert found.path == path
    assert found.fold_case is (path is not None)


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("TDD.yaml", PathClass.SWITCH),
        ("ConfTest.py", PathClass.TEST),
        (".CLAUDE/Settings.json", PathClass.SWITCH),
        ("empty/CONFTEST.py", PathClass.TEST),
        ("SRC/new.py", PathClass.SOURCE),
        ("readme.md", PathClass.OTHER),
    ],
)
def test_a_new_name_on_a_folding_file_system_is_classified_folded(spelling: str, expected: PathClass) -> None:
    root = Path("/w/Project")
    assert class_of(root, spelling, CLASSES, cwd=root, disk=FOLDING.disk())[0] is expected


def test_a_plain_file_system_keeps_names_apart(root: Path) -> None:
    found = canonical(root, "Tests/test_calc.py", cwd=root)
    assert found == CanonicalPath("Tests/test_calc.py", ("Tests/test_calc.py",), fold_case=False)


def test_two_hard_links_that_differ_in_case_do_not_make_a_folding_file_system(root: Path) -> None:
    (root / "src/CALC.PY").hardlink_to(root / "src/calc.py")
    found = canonical(root, "src/calc.py", cwd=root)
    assert found.path == "src/calc.py"
    assert not canonical(root, "src/New.py", cwd=root).fold_case


@given(
    st.lists(
        st.sampled_from([".", "..", "", "tests", "t", "src", "test_calc.py", "new"]), min_size=1, max_size=7
    )
)
def test_a_spelling_never_leads_to_a_path_with_dots(parts: list[str]) -> None:
    here = Path(__file__).resolve().parents[1]
    found = canonical(here, "/".join(parts) or ".", cwd=here)
    for name in found.names:
        assert not {"", ".."} & set(name.split("/"))


def agent(world: World) -> Project:
    return open_project(world.root, Actor("agent", "session", "claude"))


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """Outside the worktree."""
    (tmp_path / "away").mkdir()
    return tmp_path / "away"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(
        tmp_path / "repo", **{"pkg/__init__.py": "", "pkg/a.py": "A = 1\n", "tests/data/x": "1"}
    )


def into_link(world: World, folder: str, away: Path) -> None:
    (world.root / folder).rename(away / "real")
    (world.root / folder).symlink_to(away / "real")


def linked_paths(world: World) -> list[str]:
    return [link.path for link in links_out(world.project, world.project.workspace.snapshot())]


def test_source_that_became_a_link_is_put_back_and_settles_as_broken(world: World, away: Path) -> None:
    world.green_by_record()
    assert not before_call(agent(world))
    world.write("calc.py", CALC + SUB)
    into_link(world, "pkg", away)
    settled = world.settle()
    assert settled.verdict.kind is Kind.BROKEN
    assert settled.verdict.reasons[0].startswith(
        f"pkg is a link that leads out of the worktree, to {away}/real"
    )
    tripped = after_call(agent(world))
    assert set(tripped.put_back) == {"pkg", "pkg/__init__.py", "pkg/a.py"}
    assert "next: write the files themselves at pkg" in tripped.text
    assert not (world.root / "pkg").is_symlink()
    assert world.read("pkg/a.py") == "A = 1\n"
    assert world.read("calc.py") == CALC + SUB
    assert (away / "real/a.py").exists()


def test_ignoring_the_link_hides_nothing(world: World, away: Path) -> None:
    world.green_by_record()
    assert not before_call(agent(world))
    world.write(".gitignore", "/pkg\n")
    into_link(world, "pkg", away)
    assert linked_paths(world) == ["pkg"]
    assert "pkg" in after_call(agent(world)).put_back


def test_nor_where_the_folder_is_younger_than_the_index_of_git(world: World, away: Path) -> None:
    world.green_by_record()
    world.write("later/a.py", "A = 1\n")
    world.project.workspace.snapshot()
    world.write(".gitignore", "/later\n")
    into_link(world, "later", away)
    assert linked_paths(world) == ["later"]


def test_a_folder_that_became_a_link_within_the_worktree_goes_back_too(world: World) -> None:
    world.green_by_record()
    assert not before_call(agent(world))
    (world.root / "pkg").rename(world.root / "notes")
    (world.root / "pkg").symlink_to("notes")
    assert "pkg/a.py" in after_call(agent(world)).put_back
    assert world.read("pkg/a.py") == "A = 1\n"


def test_in_red_a_new_link_to_code_outside_goes_back(world: World, away: Path) -> None:
    (away / "more.py").write_text("B = 1\n")
    assert not before_call(agent(world))
    (world.root / "extra").symlink_to(away)
    (world.root / "pkg/more.py").symlink_to(away / "more.py")
    assert set(after_call(agent(world)).put_back) == {"extra", "pkg/more.py"}


def test_golden_data_behind_a_link_lets_nothing_be_claimed(world: World, away: Path) -> None:
    into_link(world, "tests/data", away)
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    denied = world.claim(SUB_ID, "calc.py")
    assert isinstance(denied, Deny)
    assert denied.rule == "leads-out"
    assert "`generated:` in tdd.yaml" in denied.next


def test_a_person_may_let_a_link_lead_out(tmp_path: Path, away: Path) -> None:
    world = make_world(tmp_path / "repo", "    generated: [tests/data]\n", **{"tests/data/x": "1"})
    into_link(world, "tests/data", away)
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    assert isinstance(world.claim(SUB_ID, "calc.py"), Claimed)


def test_links_within_the_worktree_and_to_plain_data_are_free(world: World, away: Path) -> None:
    (away / "x.csv").write_text("1\n")
    (world.root / "data").symlink_to(away)
    (world.root / "tests/pkg").symlink_to("../pkg")
    (world.root / "alias.py").symlink_to(world.root / "calc.py")
    assert linked_paths(world) == []


def test_what_no_snapshot_holds_is_as_far_away_as_what_lies_outside(world: World) -> None:
    world.write(".git/extra/a.py", "A = 2\n")
    world.write("package.json", "{}")
    world.write("node_modules/b/b.py", "B = 2\n")
    (world.root / "pkg/one").symlink_to("../.git/extra")
    (world.root / "pkg/two").symlink_to("../node_modules/b")
    assert linked_paths(world) == ["pkg/one", "pkg/two"]


def test_a_folder_with_more_than_can_be_looked_at_is_judged_by_its_name(
    world: World, away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "LOOKED_AT", 1)
    for name in ("a", "b", "c"):
        (away / name).touch()
    (world.root / "docs").symlink_to(away)
    (world.root / "pkg/data").symlink_to(away)
    assert linked_paths(world) == ["pkg/data"]


def test_a_write_through_such_a_link_is_denied(world: World, away: Path) -> None:
    (world.root / "extra").symlink_to(away)
    decision = decide_writes(agent(world), {"extra/a.py": lambda _: b"A = 1\n"}, cwd=world.root)
    assert isinstance(decision, Deny)
    assert decision.rule == "leads-out"
    beside = decide_writes(agent(world), {str(away / "a.py"): lambda _: b"A = 1\n"}, cwd=world.root)
    assert isinstance(beside, Allow)
