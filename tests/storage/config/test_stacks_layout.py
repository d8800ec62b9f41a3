from __future__ import annotations

from pathlib import Path

import pytest

from support.gitrepo import make_repo
from support.growing import grow
from verdigris.core.paths import Detected, PathClass, classify
from verdigris.core.settings import Settings, Stack
from verdigris.languages.conventions import compile_classes
from verdigris.languages.registry import usual
from verdigris.storage.config.stacks import layout, layouts


def test_src_is_the_source_root(tmp_path: Path) -> None:
    grow(tmp_path, "src/pkg/a.py", "setup.py", "tests/__init__.py", "docs/__init__.py")
    assert layout(tmp_path, Stack()) == Detected(source=("src",))


def test_packages_beside_src_are_source_too(tmp_path: Path) -> None:
    grow(
        tmp_path, "src/pkg/a.py", "plugin/__init__.py", "tools/__init__.py", "tests/__init__.py", "data/x.py"
    )
    assert layout(tmp_path, Stack()) == Detected(source=("src", "plugin"))


def test_src_of_another_language_leaves_a_flat_layout(tmp_path: Path) -> None:
    grow(tmp_path, "src/lib.rs", "pkg/__init__.py")
    assert layout(tmp_path, Stack()) == Detected(flat=True, source=("src",))


@pytest.mark.parametrize("names", [(), ("calc.py",), ("pkg/__init__.py",), ("src",)])
def test_without_python_in_src_the_layout_is_flat(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert layout(grow(tmp_path, *names), Stack()).flat


def test_an_empty_src_folder_already_decides(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    assert layout(tmp_path, Stack()) == Detected(source=("src",))


def environment(root: Path, name: str) -> None:
    grow(
        root,
        f"{name}/pyvenv.cfg",
        f"{name}/bin/python",
        f"{name}/lib/python3.12/site-packages/test/test_x.py",
    )


def test_environments_are_found_by_all_that_makes_one(tmp_path: Path) -> None:
    environment(tmp_path, "env")
    grow(tmp_path, "pkg/__init__.py", "pretended/pyvenv.cfg")
    assert layout(tmp_path, Stack()) == Detected(flat=True, environments=("env",))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\ntestpaths = checks src 'more tests'\npython_files = check_*.py *.py\n"),
        (
            "pytest.toml",
            "[pytest]\ntestpaths = ['checks', 'src', 'more tests']\npython_files = ['check_*.py', '*.py']\n",
        ),
        (
            "tox.ini",
            "[tox]\n[pytest]\ntestpaths =\n  checks\n  src\n  'more tests'\npython_files = check_*.py *.py\n",
        ),
        ("setup.cfg", "[tool:pytest]\ntestpaths = checks src 'more tests'\npython_files = check_*.py\n"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\ntestpaths = \"checks src 'more tests'\"\npython_files='check_*.py'",
        ),
        (
            "pyproject.toml",
            "[tool.pytest]\ntestpaths = ['checks', 'src', 'more tests']\npython_files = ['check_*.py']\n",
        ),
    ],
)
def test_the_runners_own_configuration_names_tests(tmp_path: Path, name: str, text: str) -> None:
    grow(tmp_path, "src/pkg/a.py", "checks/check_a.py")
    (tmp_path / name).write_text(text)
    assert layout(tmp_path, Stack()).tests == ("checks", "more tests", "**/check_*.py")


def test_the_first_configuration_wins_as_in_pytest(tmp_path: Path) -> None:
    grow(tmp_path, tox__ini="[pytest]\ntestpaths = other_tests\n", pytest__ini="[pytest]\n")
    assert layout(tmp_path, Stack()).tests == ()


@pytest.mark.parametrize(
    "text", ["[pytest", "[pytest]\ntestpaths = 'unclosed", "[pytest]\ntestpaths = ../x /abs [a"]
)
def test_a_broken_configuration_names_nothing(tmp_path: Path, text: str) -> None:
    grow(tmp_path, pytest__ini=text)
    assert layout(tmp_path, Stack()).tests == ()


def test_a_package_named_as_testpath_stays_source(tmp_path: Path) -> None:
    grow(tmp_path, "pkg/__init__.py", "pkg/test_a.py", pytest__ini="[pytest]\ntestpaths = pkg .\n")
    assert layout(tmp_path, Stack()).tests == ()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/pkg/test_ids.py", PathClass.SOURCE),
        ("plugin/deep/unit_test.py", PathClass.SOURCE),
        ("src/pkg/tests/test_a.py", PathClass.TEST),
        ("src/pkg/conftest.py", PathClass.TEST),
        ("src/checks/test_a.py", PathClass.TEST),
        ("tests/test_a.py", PathClass.TEST),
        ("test_top.py", PathClass.TEST),
    ],
)
def test_a_module_of_a_package_is_no_test_by_its_name_where_the_runner_does_not_look(
    tmp_path: Path, path: str, expected: PathClass
) -> None:
    text = "[pytest]\ntestpaths = ./tests/ src/checks\n"
    grow(tmp_path, "src/pkg/a.py", "src/checks/test_a.py", "plugin/__init__.py", pytest__ini=text)
    assert _class_of(path, tmp_path, Settings()) is expected


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("[pytest]\n", Settings()),
        ("[pytest]\ntestpaths = tests src\n", Settings()),
        ("[pytest]\ntestpaths = tests src/pkg/test_ids.py\n", Settings()),
        ("[pytest]\ntestpaths = tests src/pkg\n", Settings()),
        ("[pytest]\ntestpaths = .\n", Settings()),
        ("[pytest]\ntestpaths = */checks\n", Settings()),
        ("[pytest]\ntestpaths = tests\n", Settings(stacks=(Stack(suite=("tests", "src")),))),
        ("[pytest]\ntestpaths = tests\n", Settings(stacks=(Stack(test=("src/pkg/test_*.py",)),))),
    ],
)
def test_it_is_one_where_the_runner_may_look(tmp_path: Path, text: str, settings: Settings) -> None:
    grow(tmp_path, "src/pkg/__init__.py", pytest__ini=text)
    assert _class_of("src/pkg/test_ids.py", tmp_path, settings) is PathClass.TEST


def _class_of(path: str, root: Path, settings: Settings) -> PathClass:
    return classify(path, compile_classes(settings, layouts(root, settings), usual))


def test_a_folder_called_test_counts_where_it_holds_tests(tmp_path: Path) -> None:
    grow(tmp_path, "src/a/test/test_x.py", "src/a/test/helper.py", "src/b/test/client.py")
    settings = Settings()
    classes = compile_classes(settings, layouts(tmp_path, settings), usual)
    assert classify("src/a/test/helper.py", classes) is PathClass.TEST
    assert classify("src/b/test/client.py", classes) is PathClass.SOURCE


def test_layouts_of_every_stack(tmp_path: Path) -> None:
    grow(tmp_path, "a/src/x.py", "b/x.py")
    settings = Settings(stacks=(Stack(root="a"), Stack(root="b")))
    assert layouts(tmp_path, settings) == {
        ("a", "python"): Detected(source=("src",)),
        ("b", "python"): Detected(flat=True),
    }


def test_names_of_any_bytes(tmp_path: Path) -> None:
    grow(tmp_path, "caf\udce9 '\n/test/test_x.py")
    found = layout(tmp_path, Stack())
    assert found.tests == ("caf\udce9 '\n/test",)


def test_a_name_that_looks_like_a_glob_is_taken_literally(tmp_path: Path) -> None:
    environment(tmp_path, "env[1]")
    grow(tmp_path, "a[b]*/test/test_x.py")
    settings = Settings()
    classes = compile_classes(settings, layouts(tmp_path, settings), usual)
    assert classify("a[b]*/test/helper.py", classes) is PathClass.TEST
    assert classify("env[1]/x.py", classes) is PathClass.OTHER


def test_src_of_other_languages_leaves_modules_beside_it(tmp_path: Path) -> None:
    grow(tmp_path, "src/index.ts", "app.py")
    assert layout(tmp_path, Stack()).flat


VITEST = """
export default defineConfig({
  test: { setupFiles: ['./src/prepare.ts', "gone.ts"], globalSetup: `lib/up.ts` },
})
"""
JEST = """{"jest": {
  "setupFilesAfterEnv": ["<rootDir>/src/prepare.ts", "jest-extended"], "globalSetup": "./lib/up.ts"
}}"""


@pytest.mark.parametrize("package", ["", "packages/a/"])
@pytest.mark.parametrize(("name", "text"), [("vitest.config.mts", VITEST), ("package.json", JEST)])
def test_files_that_a_node_tool_is_told_to_load_are_tests(
    tmp_path: Path, name: str, text: str, package: str
) -> None:
    files = [f"{package}{file}" for file in ("src/prepare.ts", "lib/up.ts", "src/a.ts")]
    grow(tmp_path, *files)
    (tmp_path / package / name).write_text(text)
    settings = Settings(stacks=(Stack(language="node", runner="vitest"),))
    classes = compile_classes(settings, layouts(tmp_path, settings), usual)
    assert [classify(path, classes) for path in files] == [
        PathClass.TEST,
        PathClass.TEST,
        PathClass.SOURCE,
    ]


def test_where_a_crate_says_that_its_tests_are(tmp_path: Path) -> None:
    grow(tmp_path, "crates/a/it/main.rs", "Cargo.toml")
    (tmp_path / "crates/a/Cargo.toml").write_text("[[test]]\nname = 'it'\npath = 'it/main.rs'\n")
    assert layout(tmp_path, Stack(language="rust", runner="cargo")).tests == ("crates/a/it",)
    (tmp_path / "crates/a/Cargo.toml").write_text("[[test")
    assert layout(tmp_path, Stack(language="rust", runner="cargo")).tests == ()


def test_source_that_git_ignores_by_name_is_what_a_build_writes(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.write("src/pkg/__init__.py", "")
    repo.write("src/pkg/kept.py", "")
    repo.commit()
    ignored = "_version.py\n/src/pkg/built.py\nkept.py\nlib/\n*.py\n!other.py\n# note.py\n"
    repo.write(".gitignore", ignored)
    found = layouts(repo.root, Settings(stacks=(Stack(),)))
    assert found[(".", "python")].generated == ("**/_version.py", "src/pkg/built.py")
    classes = compile_classes(Settings(stacks=(Stack(),)), found, usual)
    named = {"src/pkg/_version.py", "src/pkg/built.py"}
    for path in (*named, "src/pkg/kept.py", "src/lib/x.py", "src/other.py", "src/built.py"):
        assert (classify(path, classes) is PathClass.OTHER) == (path in named), path


INCLUDE = """
export default defineConfig({
  optimizeDeps: { include: ['src/*.lazy.ts'] },
  test: {
    coverage: { include: ["src/*.check.ts", `src/*.entry.ts`], all: true },
    include: ["src/**/*.{prove,check}.{ts,tsx}", "src/**/*.ts", "src/one.ts", '!x'],
  },
})
"""
MATCH = """{"jest": {"testMatch": ["<rootDir>/src/**/*.prove.ts", "src/**/*.check.tsx", "src/**/*.ts"]}}"""


@pytest.mark.parametrize(("name", "text"), [("vitest.config.ts", INCLUDE), ("package.json", MATCH)])
def test_files_that_a_node_tool_takes_for_tests_are_tests(tmp_path: Path, name: str, text: str) -> None:
    tests = ["src/a.prove.ts", "src/deep/b.check.tsx"]
    source = ["src/a.ts", "src/one.ts", "src/a.lazy.ts", "src/a.entry.ts"]
    grow(tmp_path, *tests, *source)
    (tmp_path / name).write_text(text)
    settings = Settings(stacks=(Stack(language="node", runner="vitest"),))
    classes = compile_classes(settings, layouts(tmp_path, settings), usual)
    assert {classify(path, classes) for path in tests} == {PathClass.TEST}
    assert {classify(path, classes) for path in source} == {PathClass.SOURCE}
