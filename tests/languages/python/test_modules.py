from __future__ import annotations

import pytest

from verdigris.languages.python.modules import dotted_name, import_roots


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
