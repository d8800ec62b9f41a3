from __future__ import annotations

from pathlib import Path

import pytest

from support.growing import grow, plant
from verdigris.core.errors import UserError
from verdigris.core.settings import JUnit, Stack
from verdigris.setup.detection import detect


def seen(root: Path, lang: str | None = None) -> list[str]:
    return [f"{s.root} {s.runner}" for s in detect(root, lang).stacks]


@pytest.mark.parametrize(
    "marker",
    [
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "calc.py",
        "requirements.txt",
        "tests/test_a.py",
        "src/p/a.py",
    ],
)
def test_a_python_project(tmp_path: Path, marker: str) -> None:
    found = detect(grow(tmp_path, marker))
    assert (found.stacks, found.notes) == ((Stack(),), ())


def test_nothing_to_find(tmp_path: Path) -> None:
    assert detect(grow(tmp_path, "README.md", ".venv/lib/x.py", "docs/conf.py")).stacks == ()


def test_stacks_below_the_root(tmp_path: Path) -> None:
    grow(tmp_path, "README.md", "services/b/pyproject.toml", "services/a/setup.py", "node_modules/x/setup.py")
    assert seen(tmp_path) == ["services/a pytest", "services/b pytest"]


def test_an_inner_project_belongs_to_the_outer_stack(tmp_path: Path) -> None:
    assert seen(grow(tmp_path, "pyproject.toml", "packages/a/pyproject.toml")) == [". pytest"]


UNITTEST = "import unittest\nclass T(unittest.TestCase): ...\n"


@pytest.mark.parametrize(
    ("more", "runner"),
    [
        ({}, "unittest"),
        ({"requirements-dev.txt": "pytest==8\n"}, "pytest"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "pytest"),
        ({"tests/test_b.py": "def test_b(): assert 1\n"}, "pytest"),
        ({"tests/test_b.py": "import unittest, pytest\n"}, "pytest"),
        ({"tests/cart_test.py": UNITTEST}, "pytest"),
        ({"conftest.py": "import pytest\n"}, "pytest"),
    ],
)
def test_unittest_only_where_nothing_speaks_of_pytest(
    tmp_path: Path, more: dict[str, str], runner: str
) -> None:
    plant(tmp_path, {"calc.py": "", "tests/test_a.py": UNITTEST, **more})
    assert seen(tmp_path) == [f". {runner}"]


VITEST, JEST = '{"devDependencies": {"vitest": "3"}}', '{"devDependencies": {"jest": "30"}}'
NODE = '{"scripts": {"test": "node --import tsx --test"}}'


@pytest.mark.parametrize(
    ("files", "runner"),
    [
        ({"package.json": VITEST}, "vitest"),
        ({"package.json": JEST}, "jest"),
        ({"package.json": NODE}, "node-test"),
        ({"package.json": '{"dependencies": {"jest": "1", "vitest": "1"}}'}, "vitest"),
        (
            {"package.json": '{"scripts": {"test": "jest --ci"}, "devDependencies": {"vitest": "1"}}'},
            "jest",
        ),
        ({"package.json": '{"scripts": {"test:unit": "npx vitest run"}}'}, "vitest"),
        ({"package.json": "{}", "test/a.js": "const test = require('node:test')\n"}, "node-test"),
        ({"package.json": "{}", "src/a.test.mjs": 'import { it } from "node:test"\n'}, "node-test"),
    ],
)
def test_what_a_package_is_tested_with(tmp_path: Path, files: dict[str, str], runner: str) -> None:
    [stack] = detect(plant(tmp_path, {"index.js": "", **files})).stacks
    assert (stack.root, stack.language, stack.runner) == (".", "node", runner)


@pytest.mark.parametrize(
    ("files", "note"),
    [
        ({"package.json": '{"devDependencies": {"mocha": "1"}}', "a.js": ""}, "mocha"),
        ({"package.json": '{"scripts": {"test": "echo no test specified"}}', "a.ts": ""}, "node --test"),
        ({"package.json": "not json", "a.js": ""}, "names no test tool"),
        ({"package.json": "{}"}, "names no test tool"),
        ({"app/build.gradle.kts": ""}, "app/build.gradle.kts is of Gradle"),
        ({"mix.exs": ""}, "runner: junit"),
    ],
)
def test_what_cannot_be_told_is_said(tmp_path: Path, files: dict[str, str], note: str) -> None:
    found = detect(plant(tmp_path, files))
    assert found.stacks == ()
    assert note in found.notes[0]


def test_a_package_without_code_is_nothing(tmp_path: Path) -> None:
    plant(tmp_path, {"package.json": '{"devDependencies": {"husky": "1"}}', "calc.py": ""})
    found = detect(tmp_path)
    assert (found.stacks, found.notes) == ((Stack(),), ())


WORKSPACES = '"workspaces": ["packages/*"]'


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {
                "package.json": f'{{{WORKSPACES}, "scripts": {{"test": "vitest run"}}}}',
                "packages/a/package.json": VITEST,
                "packages/b/package.json": "{}",
                "packages/c/package.json": JEST,
            },
            [". vitest", "packages/c jest"],
        ),
        (
            {
                "package.json": f'{{{WORKSPACES}, "scripts": {{"test": "npm test -ws"}}, {VITEST[1:]}',
                "packages/a/package.json": '{"scripts": {"test": "vitest run"}}',
                "packages/b/package.json": "{}",
                "packages/b/b.test.ts": "",
                "packages/types/package.json": "{}",
            },
            ["packages/a vitest", "packages/b vitest"],
        ),
        (
            {
                "package.json": '{"scripts": {"test": "pnpm -r test"}}',
                "pnpm-workspace.yaml": "packages: [apps/*]\n",
                "apps/web/package.json": VITEST,
                "apps/api/package.json": JEST,
            },
            ["apps/api jest", "apps/web vitest"],
        ),
        (
            {"package.json": '{"devDependencies": {"prettier": "3"}}', "web/package.json": VITEST},
            ["web vitest"],
        ),
    ],
)
def test_node_workspaces(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    assert seen(plant(tmp_path, files)) == expected


def test_a_cargo_workspace_is_one_stack(tmp_path: Path) -> None:
    grow(tmp_path, "Cargo.toml", "crates/a/Cargo.toml", "crates/b/Cargo.toml", "target/x/Cargo.toml")
    assert seen(tmp_path) == [". cargo"]
    assert seen(grow(tmp_path / "apart", "a/Cargo.toml", "b/Cargo.toml")) == ["a cargo", "b cargo"]


def test_go_modules_are_each_their_own(tmp_path: Path) -> None:
    grow(tmp_path, "go.work", "api/go.mod", "lib/go.mod", "lib/sub/go.mod", "lib/sub/a_test.go")
    grow(tmp_path, "lib/tools2/go.mod", "lib/testdata/go.mod")
    assert seen(tmp_path) == ["api go", "lib go", "lib/sub go"]


def test_many_languages_side_by_side(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": "[project]\n",
        "service/app.py": "",
        "package.json": VITEST,
        "src/index.ts": "",
        "crates/fast/Cargo.toml": "",
        "tests/fixtures/package.json": JEST,
        "examples/go/go.mod": "",
    }
    assert seen(plant(tmp_path, files)) == [". pytest", ". vitest", "crates/fast cargo"]
    assert seen(tmp_path, "rust") == ["crates/fast cargo"]
    assert seen(tmp_path, "TypeScript") == [". vitest"]
    assert seen(tmp_path, "python") == [". pytest"]


def test_settings_for_a_linter_make_no_python_stack(tmp_path: Path) -> None:
    plant(tmp_path, {"pyproject.toml": "[tool.codespell]\n", "Cargo.toml": "", "scripts/x.sh": ""})
    assert seen(tmp_path) == [". cargo"]


def test_tools_that_write_junit_xml(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "java/pom.xml": "<project/>",
            "php/phpunit.xml.dist": "",
            "php/composer.json": '{"require-dev": {"phpunit/phpunit": "11"}}',
            "ruby/.rspec": "",
            "kt/pom.xml": "<project/>",
            "kt/mvnw": "",
            "kt/src/test/kotlin/ATest.kt": "",
        },
    )
    found = detect(tmp_path)
    assert ["rspec_junit_formatter" in note for note in found.notes] == [True]
    java, kotlin, php, ruby = found.stacks
    assert (java.language, java.runner, java.junit) == ("java", "junit", JUnit(preset="surefire"))
    assert (ruby.language, ruby.junit) == ("ruby", JUnit(preset="rspec"))
    assert php.junit is not None
    assert (php.junit.preset, php.junit.command[0]) == ("phpunit", "vendor/bin/phpunit")
    assert kotlin.junit is not None
    assert (kotlin.junit.path, kotlin.junit.command[0]) == ("src/test/kotlin/{class}.kt", "./mvnw")


@pytest.mark.parametrize(
    ("lang", "runner"), [("node", "node-test"), ("rust", "cargo"), ("go", "go"), ("py", "pytest")]
)
def test_a_language_may_be_named_where_nothing_is_there_yet(tmp_path: Path, lang: str, runner: str) -> None:
    assert seen(tmp_path, lang) == [f". {runner}"]


@pytest.mark.parametrize(("lang", "said"), [("cobol", "not a language"), ("java", "no test tool of java")])
def test_a_language_that_cannot_be_had(tmp_path: Path, lang: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        detect(tmp_path, lang)


MANAGE = 'import os\n\nos.environ.setdefault("DJANGO_SETTINGS_MODULE", "mysite.settings")\n'


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"manage.py": MANAGE}, (".", "django")),
        ({"manage.py": MANAGE, "requirements.txt": "django\npytest-django\n"}, (".", "pytest")),
        ({"backend/manage.py": MANAGE, "requirements.txt": "django\n"}, ("backend", "django")),
        ({"manage.py": "print('no Django')\n"}, (".", "pytest")),
    ],
)
def test_django_is_recognised_by_its_manage_py(
    tmp_path: Path, files: dict[str, str], expected: tuple[str, str]
) -> None:
    place = "backend/" if "backend/manage.py" in files else ""
    for path, text in {**files, f"{place}shop/__init__.py": "", f"{place}shop/tests.py": ""}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (stack,) = detect(tmp_path).stacks
    assert (stack.root, stack.runner) == expected
