from __future__ import annotations

from pathlib import Path

import pytest

from support.gitrepo import make_repo
from verdigris.core.errors import UnknownTest, UserError
from verdigris.core.records import Actor
from verdigris.core.settings import Stack
from verdigris.execution.test_selection import by_stack, resolve, stack_of
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import Project, open_project

PYTHON, NODE = Stack(), Stack(language="node", runner="vitest")
WEB = Stack(root="web", language="node", runner="jest")
CRATE = Stack(root="web/crate", language="rust", runner="cargo")


@pytest.mark.parametrize(
    ("path", "stack"),
    [
        ("tests/test_a.py", PYTHON),
        ("tests/a.test.ts", NODE),
        ("web/a.test.ts", WEB),
        ("web/test_a.py", PYTHON),
        ("web/crate/src/lib.rs", CRATE),
        ("web/crate/a.test.js", WEB),
        ("webs/a.test.ts", NODE),
        ("docs/a.txt", PYTHON),
        ("web/a.txt", WEB),
    ],
)
def test_the_stack_of_a_file_is_the_innermost_of_its_language(path: str, stack: Stack) -> None:
    assert stack_of([PYTHON, NODE, WEB, CRATE], path) == stack


def test_ids_and_folders_go_to_the_stacks_that_run_them() -> None:
    names = ["t/a.py::x[b.ts::c]", "t/a.ts::x", "t", "web", "."]
    assert by_stack([PYTHON, NODE, WEB, CRATE], names) == {
        PYTHON: ("t/a.py::x[b.ts::c]", "t", "."),
        NODE: ("t/a.ts::x", "t", "."),
        CRATE: ("web/crate", "web/crate"),
        WEB: ("web", "web"),
    }


@pytest.mark.parametrize("name", ["lib/a.py::x", "lib"])
def test_what_no_stack_holds_is_said(name: str) -> None:
    with pytest.raises(UserError, match="belongs to no stack"):
        by_stack([WEB], [name])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    repo = make_repo(tmp_path_factory.mktemp("repo"))
    stacks = "[{language: python}, {language: node}, {language: rust}, {root: go, language: go}]"
    repo.write("tdd.yaml", f"stacks: {stacks}\n")
    repo.write("tests/test_a.py", "# @tdd-id: py\ndef test_a(): pass\n")
    repo.write("tests/a.test.ts", "// @tdd-id: each\nit.each([1])('n %i', () => {});\n")
    repo.write("src/calc.rs", "#[cfg(test)]\nmod tests {\n// @tdd-id: rs\n#[test]\nfn adds() {}\n}\n")
    repo.write("go/a_test.go", "package a\n// @tdd-id: go\nfunc TestA(t *testing.T) {}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(repo.home))
        initialise(repo.root, Actor())
        return open_project(repo.root, Actor())


@pytest.mark.parametrize(
    ("word", "native"),
    [
        ("py[1-a]", "tests/test_a.py::test_a[1-a]"),
        ("py[a::b/c]", "tests/test_a.py::test_a[a::b/c]"),
        ("each", "tests/a.test.ts"),
        ("each[n 1]", "tests/a.test.ts::n 1"),
        ("rs", "src/calc.rs::calc::tests::adds"),
        ("go/sub", "go/a_test.go::TestA/sub"),
        ("tests", "tests"),
        ("./go/...", "go"),
        ("src/calc.rs", "src/calc.rs"),
        ("go/a_test.go::TestA/b::c", "go/a_test.go::TestA/b::c"),
    ],
)
def test_words_are_slugs_ids_or_paths(project: Project, word: str, native: str) -> None:
    assert resolve(project, [word], cwd=project.root) == (native,)


@pytest.mark.parametrize(("word", "offer"), [("eech", "each"), ("tests/test_b.py::x", "tests/test_a.py")])
def test_a_mistyped_word_is_offered_a_better_one(project: Project, word: str, offer: str) -> None:
    with pytest.raises(UnknownTest) as caught:
        resolve(project, [word], cwd=project.root)
    assert offer in str(caught.value.hint)


def test_a_name_from_a_folder_below(project: Project, tmp_path: Path) -> None:
    assert resolve(project, ["a_test.go::TestA"], cwd=project.root / "go") == ("go/a_test.go::TestA",)
    (tmp_path / "x.py").touch()
    with pytest.raises(UserError, match="outside"):
        resolve(project, [str(tmp_path / "x.py")], cwd=project.root)
