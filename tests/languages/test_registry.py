from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdigris.core.languages import manifest_names
from verdigris.core.paths import PathClass
from verdigris.languages.registry import is_mixed, runner_keys

PYPROJECT = b"""
[project]
name = "x"
dependencies = ["a"]
[tool.ruff]
line-length = 100
"""


CARGO = "[package]\nname = 'x'\n[dependencies]\nserde = '1'\n[features]\na = []\n"
GO_MOD = "module m\n\ngo 1.22\ntoolchain go1.22.1\nrequire (\n\tgithub.com/a/b v1.0.0 // indirect\n)\n"
POM = "<project><version>1</version><properties><encoding>x</encoding></properties>"


@pytest.mark.parametrize("name", sorted(manifest_names()))
def test_no_file_is_as_good_as_one_without_runner_keys(name: str) -> None:
    assert runner_keys(name, b"") == b""


@pytest.mark.parametrize(
    ("name", "data"), [("pyproject.toml", PYPROJECT), ("setup.cfg", b"[metadata]\nname = x\n")]
)
def test_a_file_without_runner_keys_is_as_good_as_none(name: str, data: bytes) -> None:
    assert runner_keys(name, data) == b""


@pytest.mark.parametrize(
    "more",
    [
        '[tool.pytest.ini_options]\naddopts = "-k nothing"',
        "[tool.pytest.ini_options]",
        '[tool.pytest]\naddopts = ["-q"]',
        'tool.pytest.ini_options.addopts = "-q"',
        "[tool.coverage.run]\nbranch = true",
        '[project.entry-points.pytest11]\nevil = "evil"',
        '[project.entry-points."pytest11"]\nevil = "evil"',
        '[tool.poetry.plugins.pytest11]\nevil = "evil"',
    ],
)
def test_runner_keys_of_pyproject(more: str) -> None:
    assert runner_keys("pyproject.toml", more.encode()) != b""
    with_more = runner_keys(
        "pyproject.toml", PYPROJECT.replace(b"[project]", b"[unrelated]") + b"\n" + more.encode()
    )
    assert with_more == (b"" if more.startswith("tool.") else runner_keys("pyproject.toml", more.encode()))


def test_other_keys_spacing_and_order_do_not_count() -> None:
    one = b'[project]\nversion = "1"\n[tool.pytest.ini_options]\na = 1\nb = [1, 2]\n'
    two = b'# hello\n[tool.pytest.ini_options]\nb = [\n  1,\n  2,\n]\na = 1\n[project]\nversion = "2"\n'
    assert runner_keys("pyproject.toml", one) == runner_keys("pyproject.toml", two) != b""


@pytest.mark.parametrize("data", [b"[tool", b"\xff\xfe", b"a = 1\na = 2", b"\xef\xbb\xbf[tool.pytest]"])
def test_what_cannot_be_parsed_counts_whole(data: bytes) -> None:
    assert runner_keys("pyproject.toml", data) == data


def test_dates_and_odd_shapes_have_a_form_too() -> None:
    assert runner_keys("pyproject.toml", b"[tool.pytest]\nx = 2020-01-01\n") != b""
    assert runner_keys("pyproject.toml", b"tool = 3\nproject = [1]\n") == b""
    assert runner_keys("pyproject.toml", b"[tool]\npytest = 3\n") != b""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("setup.cfg", "[tool:pytest]\naddopts = --co\n"),
        ("setup.cfg", "[tool:pytest]\n"),
        ("setup.cfg", "[tool:pytest] # comment\naddopts=--co"),
        ("setup.cfg", "[coverage:run]\nbranch = true\n"),
        ("setup.cfg", "[options.entry_points]\npytest11 =\n    evil = evil\n"),
        ("tox.ini", "[pytest]\naddopts = --co\n"),
        ("tox.ini", "[coverage:report]\nfail_under = 3\n"),
        ("tox.ini", "a=1\x0c[pytest]\x0caddopts = --co"),
    ],
)
def test_runner_sections(name: str, text: str) -> None:
    assert runner_keys(name, text.encode()) != b""
    below = f"[metadata]\nname = x\n\n{text}\n[other]\nk = v\n"
    assert runner_keys(name, below.encode()) == runner_keys(name, text.encode())


def test_every_line_of_a_section_counts_but_comments_and_blanks() -> None:
    base = b"[tool:pytest]\naddopts =\n  -q\n  [odd]\n  -x\n"
    assert runner_keys("setup.cfg", base) == runner_keys(
        "setup.cfg", b"# hi\r\n\r\n" + base.replace(b"\n", b"\r\n# c\r\n")
    )
    for line in (b"-q", b"[odd]", b"-x"):
        assert runner_keys("setup.cfg", base.replace(line, b"-y")) != runner_keys("setup.cfg", base)


def test_other_entry_points_do_not_count() -> None:
    one = b"[options.entry_points]\nconsole_scripts =\n  a = a\npytest11 =\n  p = p\n"
    two = one.replace(b"a = a", b"b = b")
    assert runner_keys("setup.cfg", one) == runner_keys("setup.cfg", two)
    assert runner_keys("setup.cfg", one) != runner_keys("setup.cfg", one.replace(b"p = p", b"q = q"))


def test_undecodable_ini_counts_whole() -> None:
    assert runner_keys("setup.cfg", b"\xff[x]") == b"\xff[x]"


@given(st.binary(), st.sampled_from(sorted(manifest_names())))
def test_never_raises(data: bytes, name: str) -> None:
    assert isinstance(runner_keys(name, data), bytes)


PACKAGE = '{"name": "x", "version": "1", "scripts": {"build": "tsc"}, "dependencies": {"zod": "3"}'


@pytest.mark.parametrize(
    ("name", "base", "more"),
    [
        ("package.json", PACKAGE, ', "jest": {"testMatch": []}}'),
        ("package.json", PACKAGE, ', "vitest": {}}'),
        ("package.json", PACKAGE, ', "imports": {"#helpers": "./fake.js"}}'),
        ("package.json", '{"scripts": {"build": "tsc"', ', "test": "exit 0"}}'),
        ("package.json", '{"scripts": {"build": "tsc"', ', "test:unit": "exit 0"}}'),
        ("package.json", '{"scripts": {"build": "tsc"', ', "pretest": "./cheat"}}'),
        ("package.json", '{"devDependencies": {"a": "1"', ', "vitest": "file:./fake"}}'),
        ("package.json", '{"overrides": {"a": "1"', ', "expect": "npm:fake"}}'),
        ("tsconfig.json", '{"compilerOptions": {"strict": true, // why\n', '"paths": {"./a": ["./b"]},}}'),
        ("tsconfig.base.json", '{"include": ["src",], /* "extends" */ ', '"extends": "./other.json"}'),
        ("Cargo.toml", CARGO, "[[test]]\nname = 'it'\nharness = false\n"),
        ("Cargo.toml", CARGO, "[lib]\ntest = false\n"),
        ("Cargo.toml", CARGO, "[lib]\ndoctest = false\n"),
        ("Cargo.toml", CARGO, "[[bin]]\nname = 'x'\ntest = false\n"),
        ("Cargo.toml", CARGO, "[profile.test]\ndebug-assertions = false\n"),
        ("Cargo.toml", CARGO, "[profile.dev]\noverflow-checks = false\n"),
        ("Cargo.toml", CARGO, "[dev-dependencies]\npretty_assertions = { path = 'fake' }\n"),
        ("Cargo.toml", CARGO, "[target.'cfg(unix)'.dev-dependencies]\nx = '1'\n"),
        ("Cargo.toml", CARGO, "[patch.crates-io]\nx = { path = 'fake' }\n"),
        ("Cargo.toml", "[package]\nname = 'x'\n", "autotests = false\n"),
        ("Cargo.toml", "[package]\nname = 'x'\n", "build = 'other.rs'\n"),
        ("go.mod", GO_MOD, "replace github.com/a/b => ./fake\n"),
        ("go.mod", GO_MOD, "replace (\n\tgithub.com/a/b => ./fake // why\n)\n"),
        ("go.mod", GO_MOD, "godebug default=go1.21\n"),
        ("go.work", "go 1.22\n", "use ./fake\n"),
        ("pom.xml", POM, "<build><testSourceDirectory>x</testSourceDirectory></build></project>"),
        ("pom.xml", POM, "<properties><skipTests>true</skipTests></properties></project>"),
        (
            "pom.xml",
            POM,
            "<dependencies><dependency><scope>test</scope></dependency></dependencies></project>",
        ),
        ("composer.json", '{"require": {"a": "1"}', ', "require-dev": {"phpunit/phpunit": "1"}}'),
    ],
)
def test_runner_keys_of_other_languages(name: str, base: str, more: str) -> None:
    without = base + {"{": "}" * (base.count("{") - base.count("}")), "<": "</project>"}.get(base[0], "")
    assert runner_keys(name, without.encode()) == b""
    found = runner_keys(name, (base + more).encode())
    assert found not in {b"", (base + more).encode()}


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [
        (
            "package.json",
            '{"jest": {"a": 1, "b": 2}, "dependencies": {}}',
            '{"dependencies": {"zod": "3"},\n "jest": {"b": 2, "a": 1}, "type": "module"}',
        ),
        (
            "Cargo.toml",
            "[dev-dependencies]\na = '1'\n[[bin]]\nname = 'x'\n",
            "[dependencies]\nserde = '1'\n[features]\nfull = []\n[dev-dependencies]\na = \"1\"\n",
        ),
        (
            "go.mod",
            "module m\nreplace (\n a => b\n c v1 => d\n)\n",
            "module m\n\ngo 1.23\nrequire x v1\nreplace c v1 => d\nreplace   a => b // y\n",
        ),
        (
            "pom.xml",
            "<project><build><x/></build></project>",
            "<project xmlns='u'><!-- c -->\n<build>\n <x/>\n</build><version>2</version></project>",
        ),
    ],
)
def test_what_source_needs_does_not_count(name: str, one: str, two: str) -> None:
    assert runner_keys(name, one.encode()) == runner_keys(name, two.encode()) != b""


@pytest.mark.parametrize("name", sorted(manifest_names() - {"setup.cfg", "tox.ini", "go.mod", "go.work"}))
def test_broken_syntax_of_any_kind_counts_whole(name: str) -> None:
    assert runner_keys(name, b"{<[ =") == b"{<[ ="


def test_the_manifests_of_installed_packages_are_nobodys() -> None:
    assert is_mixed("web/package.json", PathClass.OTHER)
    assert not is_mixed("web/node_modules/vitest/package.json", PathClass.OTHER)
