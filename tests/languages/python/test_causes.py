"""Why the tests of a Python project do not run, as far as an error tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.core.confinement.needs import ELSEWHERE
from verdigris.languages.findings import StackFacts
from verdigris.languages.python.causes import find_cause

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SRC = ("src/shop/__init__.py", "src/shop/tax.py")


def facts(
    home: Path, files: Iterable[str], *, root: str = ".", install: str = "pip install -e ."
) -> StackFacts:
    return StackFacts(
        home, root, frozenset(files), lambda package: f"pip install {package}" if package else install
    )


def no_module(name: str, given: StackFacts, runner: str = "pytest") -> tuple[str, str] | None:
    found = find_cause(runner, "ModuleNotFoundError", f"No module named '{name}'", given)
    return None if found is None else (found.what, found.cure)


def test_a_package_in_src(tmp_path: Path) -> None:
    assert no_module("shop", facts(tmp_path, SRC)) == (
        "shop in src/ cannot be imported",
        "write `pythonpath = src` below `[pytest]` in pytest.ini (or `pip install -e .`), then `tdd test`",
    )


def test_a_project_that_cannot_be_installed_has_the_line_alone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\n")
    told = no_module("shop", facts(tmp_path, SRC, install=""))
    line = 'write `pythonpath = ["src"]` below `[tool.pytest.ini_options]` in pyproject.toml, then `tdd test`'
    assert told == ("shop in src/ cannot be imported", line)


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        (
            "setup.cfg",
            "[tool:pytest]\naddopts = -q\n",
            "`pythonpath = src` below `[tool:pytest]` in setup.cfg",
        ),
        ("tox.ini", "[pytest]\npythonpath = lib\n", "`pythonpath = lib src` below `[pytest]` in tox.ini"),
        (
            "pyproject.toml",
            '[tool.pytest.ini_options]\npythonpath = ["lib"]\n',
            '`pythonpath = ["lib", "src"]` below `[tool.pytest.ini_options]` in pyproject.toml',
        ),
        ("pytest.toml", "[pytest]\n", '`pythonpath = ["src"]` below `[pytest]` in pytest.toml'),
    ],
)
def test_the_line_stands_where_pytest_looks(tmp_path: Path, file: str, text: str, line: str) -> None:
    (tmp_path / file).write_text(text)
    told = no_module("shop", facts(tmp_path, SRC, install=""))
    assert told is not None
    assert told[1] == f"write {line}, then `tdd test`"


def test_unittest_has_no_such_line(tmp_path: Path) -> None:
    told = no_module("shop", facts(tmp_path, SRC), "unittest")
    assert told == ("shop in src/ cannot be imported", "`pip install -e .`, then `tdd test`")
    bare = no_module("shop", facts(tmp_path, SRC, install=""), "unittest")
    assert bare is not None
    assert bare[1] == "a person writes `room: {env: [PYTHONPATH=src]}` in tdd.yaml, then `tdd test`"


def test_a_stack_below_the_root(tmp_path: Path) -> None:
    files = (f"api/{path}" for path in SRC)
    told = no_module("shop", facts(tmp_path, files, root="api", install=""))
    assert told is not None
    assert told[0] == "shop in api/src/ cannot be imported"
    assert "`pythonpath = src`" in told[1]


@pytest.mark.parametrize(
    "name",
    [
        "shop.cart",  # the package is found, and has no such module: a stub may be missing
        "tax",  # it lies in a package: the import is wrong
        "unknown",
    ],
)
def test_what_the_project_does_not_have_is_no_hindrance(tmp_path: Path, name: str) -> None:
    assert no_module(name, facts(tmp_path, SRC)) is None


def test_a_package_without_an_init(tmp_path: Path) -> None:
    told = no_module("shop", facts(tmp_path, ("src/shop/tax.py",)))
    assert told is not None
    assert told[0] == "shop in src/ cannot be imported"


@pytest.mark.parametrize(
    ("module", "file", "text"),
    [
        ("requests", "requirements.txt", "requests>=2\n"),
        ("yaml", "pyproject.toml", '[project]\ndependencies = ["PyYAML >= 6"]\n'),
        ("httpx", "pyproject.toml", '[project.optional-dependencies]\nweb = ["httpx[http2]"]\n'),
        ("httpx", "pyproject.toml", '[tool.poetry.group.dev.dependencies]\nhttpx = "^1"\n'),
        ("httpx", "setup.py", "setup(name='x', install_requires=['httpx>=1', 'y'])\n"),
        ("httpx", "tox.ini", "[testenv]\ndeps =\n    httpx\n"),
        (
            "typing_extensions",
            "setup.cfg",
            "[options]\ninstall_requires =\n    typing-extensions; python_version < '3.11'\n",
        ),
        ("attr", "requirements-dev.txt", "attrs\n"),
    ],
)
def test_a_declared_dependency(tmp_path: Path, module: str, file: str, text: str) -> None:
    (tmp_path / file).write_text(text)
    told = no_module(module, facts(tmp_path, SRC))
    assert told == (f"{module} is a dependency that is not installed", "`pip install -e .`, then `tdd test`")


def test_words_elsewhere_in_the_files_declare_nothing(tmp_path: Path) -> None:
    """The name of a new project stands in its manifest, and a stub of it may be missing."""
    (tmp_path / "requirements.txt").write_text("requests-mock\n")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "cart"\nkeywords = ["cart"]\n\n[tool.setuptools]\npackages = ["cart"]\n'
    )
    assert no_module("requests", facts(tmp_path, SRC)) is None
    assert no_module("cart", facts(tmp_path, SRC)) is None


def test_the_runner(tmp_path: Path) -> None:
    found = find_cause("pytest", "NoPytest", "/x/python: No module named 'pytest'", facts(tmp_path, SRC))
    assert found is not None
    assert (found.what, found.cure) == ("/x/python has no pytest", "`pip install pytest`, then `tdd test`")


def test_metadata_of_the_project(tmp_path: Path) -> None:
    said = "No package metadata was found for shop"
    found = find_cause("pytest", "PackageNotFoundError", said, facts(tmp_path, SRC))
    assert found is not None
    assert found.cure == "`pip install -e .`, then `tdd test`"


def test_an_installed_copy(tmp_path: Path) -> None:
    said = "/env/site-packages/shop/tax.py instead of src/shop/tax.py"
    found = find_cause("pytest", ELSEWHERE, said, facts(tmp_path, SRC, install=""))
    assert found is not None
    assert found.elsewhere
    assert "`pythonpath = src`" in found.cure
