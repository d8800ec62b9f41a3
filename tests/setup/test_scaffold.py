from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from verdigris.core.errors import NotARepository, UserError
from verdigris.languages.registry import beyond_stubs
from verdigris.setup.scaffold import Scaffold, plan_scaffold, scaffold_languages
from verdigris.storage.config import decode

pytestmark = pytest.mark.quick


def planned(folder: Path, lang: str | None = None, kata: Path | str | None = None) -> Scaffold:
    found = plan_scaffold(folder, lang, None if kata is None else str(kata))
    assert found is not None
    return found


def git_init(folder: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)


def test_nothing_is_written_by_a_plan(folder: Path, kata: Path) -> None:
    assert planned(folder, "rust", kata).changes
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("lang", "files"),
    [
        ("python", ["pyproject.toml", "src/string_calculator/__init__.py", "tests/test_smoke.py"]),
        ("rs", ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "src/lib.rs", "tests/smoke.rs"]),
        ("ts", ["package.json", "tsconfig.json", "vitest.config.ts", "src/index.ts", "test/smoke.test.ts"]),
    ],
)
def test_each_language_has_its_files(folder: Path, kata: Path, lang: str, files: list[str]) -> None:
    found = planned(folder, lang, kata)
    assert list(found.files) == [*files, ".gitignore", "kata.md"]
    assert found.config is not None
    assert decode(found.config.encode()).settings == found.settings


@pytest.mark.parametrize(
    ("lang", "path", "stub"),
    [
        (
            "python",
            "src/string_calculator/__init__.py",
            'def add(numbers):\n    raise NotImplementedError("STUB:TDD")\n',
        ),
        ("rs", "src/lib.rs", 'pub fn add(_numbers: &str) -> i32 {\n    todo!("STUB:TDD")\n}\n'),
        (
            "ts",
            "src/index.ts",
            'export function add(numbers: string): number {\n  throw new Error("STUB:TDD");\n}\n',
        ),
    ],
)
def test_the_first_stub_may_take_the_place_of_all_that_the_scaffold_wrote(
    folder: Path, kata: Path, lang: str, path: str, stub: str
) -> None:
    """Who writes the file anew is not refused for what stood there, which says nothing yet."""
    before = planned(folder, lang, kata).files[path]
    assert beyond_stubs(path, before.encode(), stub.encode()) is None


def test_an_empty_folder_whose_language_is_said_gets_a_placeholder(folder: Path) -> None:
    found = planned(folder, "python")
    assert (found.makes_repository, found.has_kata) == (True, False)
    assert "src/my_project/__init__.py" in found.files
    git_init(folder)
    assert not planned(folder, "python").makes_repository


def test_without_a_kata_nothing_else_is_scaffolded(folder: Path) -> None:
    assert plan_scaffold(folder, None, None) is None
    assert plan_scaffold(folder, "go", None) is None
    (folder / "notes.txt").touch()
    assert plan_scaffold(folder, "python", None) is None


def test_the_usual_way_in_a_folder_with_a_kata_alone(folder: Path) -> None:
    (folder / "kata.md").write_text("# FizzBuzz\n")
    found = planned(folder, kata="kata.md")
    assert "kata.md" not in found.files
    assert "src/fizzbuzz/__init__.py" in found.files
    assert "no language is named or found" in found.notes[0]
    assert found.config is not None
    assert "kata_description" not in found.config, "it is the default"


def test_a_kata_of_another_name_is_named_in_the_configuration(folder: Path) -> None:
    (folder / "task: 1.md").write_text("# FizzBuzz\n")
    found = planned(folder, kata="task: 1.md")
    assert '  kata_description: "task: 1.md"' in (found.config or "")


def test_a_project_that_is_there_gets_the_kata_alone(folder: Path, kata: Path) -> None:
    git_init(folder)
    (folder / "Cargo.toml").write_text('[package]\nname = "mine"\n')
    found = planned(folder, kata=kata)
    assert list(found.files) == ["kata.md"]
    assert [stack.language for stack in found.settings.stacks] == ["rust"]
    assert not found.project


def test_what_is_there_stays(folder: Path, kata: Path) -> None:
    (folder / ".gitignore").write_text("mine\n")
    found = planned(folder, "python", kata)
    assert found.kept == (".gitignore",)
    assert ".gitignore" not in found.files


def test_a_scaffold_that_was_interrupted_is_known_again(folder: Path, kata: Path) -> None:
    for lang in scaffold_languages():
        place = folder / lang
        place.mkdir()
        whole = planned(place, lang, kata)
        manifest, *rest = whole.files
        (place / manifest).write_text(whole.files[manifest])
        again = planned(place, lang, kata)
        assert (list(again.files), again.there, again.config) == (rest, (manifest,), whole.config)
        assert planned(place, None, kata).files == again.files


def test_one_without_a_kata_too(folder: Path) -> None:
    whole = planned(folder, "rust")
    (folder / "Cargo.toml").write_text(whole.files["Cargo.toml"])
    assert list(planned(folder, "rust").files) == list(whole.files)[1:]
    (folder / "tdd.yaml").write_text(whole.config or "")
    assert plan_scaffold(folder, "rust", None) is None


def test_a_configuration_that_is_there_stays_and_another_kata_is_told(folder: Path) -> None:
    (folder / "mine.md").write_text("# A\n")
    (folder / "tdd.yaml").write_text("strikes: 3\n")
    found = planned(folder, "python", "mine.md")
    assert (found.config, found.settings.strikes) == (None, 3)
    assert "kata_description: mine.md" in found.notes[-1]


def test_a_language_without_a_scaffold_is_a_clear_error(folder: Path, kata: Path) -> None:
    with pytest.raises(UserError, match="no scaffold for go"):
        planned(folder, "go", kata)


def test_a_package_without_a_test_tool_is_not_taken_for_an_empty_folder(folder: Path, kata: Path) -> None:
    (folder / "package.json").write_text("{}")
    for lang in (None, "node"):
        with pytest.raises(UserError, match="names no test tool"):
            planned(folder, lang, kata)


def test_only_at_a_repositorys_root(folder: Path, kata: Path) -> None:
    git_init(folder)
    (folder / "sub").mkdir()
    with pytest.raises(UserError, match="lies in the repository"):
        planned(folder / "sub", "python", kata)
    with pytest.raises(NotARepository):
        planned(folder / ".git", "python", kata)
