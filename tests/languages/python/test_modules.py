from __future__ import annotations

import ast

import pytest

from verdigris.languages.python.modules import dotted_name, files_of_module, import_roots, imported_names


@pytest.mark.parametrize(
    ("paths", "roots"),
    [
        ((), ()),
        (("calc.py",), ("",)),
        (("pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/x.py"), ("",)),
        (("src/pkg/__init__.py", "src/pkg/x.py"), ("", "src")),
        (("src/space/pkg/__init__.py",), ("", "src", "src/space")),
        (("src/space/alone.py",), ("", "src", "src/space")),
        (("api/src/pkg/__init__.py", "lib/one.py", "lib/data.json"), ("", "api", "api/src", "lib")),
    ],
)
def test_import_roots(paths: tuple[str, ...], roots: tuple[str, ...]) -> None:
    assert import_roots(paths) == roots


def test_a_package_is_named_by_its_folder() -> None:
    assert dotted_name("src/pkg/__init__.py") == "src.pkg"
    assert dotted_name("src/pkg/x.py") == "src.pkg.x"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import a.b", {"a": "a"}),
        ("import a.b as c, d", {"c": "a.b", "d": "d"}),
        ("from a.b import c, d as e", {"c": "a.b.c", "e": "a.b.d"}),
        ("from . import a", {"a": ".a"}),
        ("from ..a import b", {"b": "..a.b"}),
        ("from a import *", {"a.*": "a.*"}),
    ],
)
def test_what_the_names_of_an_import_stand_for(text: str, names: dict[str, str]) -> None:
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.Import | ast.ImportFrom)
    assert imported_names(node) == names


@pytest.mark.parametrize(
    ("module", "importer", "found"),
    [
        ("helpers", "tests/a/test_x.py", ["tests/a/helpers.py"]),
        ("helpers", "tests/test_x.py", ["tests/a/helpers.py", "tests/b/helpers.py"]),
        ("b.helpers", "tests/a/test_x.py", ["tests/b/helpers.py"]),
        (".helpers", "tests/b/test_x.py", ["tests/b/helpers.py"]),
        ("..b.helpers", "tests/a/test_x.py", ["tests/b/helpers.py"]),
        (".", "tests/pkg/test_x.py", ["tests/pkg/__init__.py"]),
        ("pkg", "tests/test_x.py", ["tests/pkg/__init__.py"]),
        ("", "tests/test_x.py", []),
        ("helpers", "tests/a/helpers.py", ["tests/b/helpers.py"]),
    ],
)
def test_the_files_that_a_module_may_mean(module: str, importer: str, found: list[str]) -> None:
    paths = ["tests/a/helpers.py", "tests/b/helpers.py", "tests/pkg/__init__.py", "other.py"]
    assert files_of_module(module, importer, paths) == found
