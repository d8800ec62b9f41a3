from __future__ import annotations

import pytest

from verdigris.core.paths import from_elsewhere, import_roots
from verdigris.core.report import RunEnd, TestReport


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


def report(loaded: tuple[str, ...] = (), outside: tuple[str, ...] = ()) -> TestReport:
    return TestReport("pytest", RunEnd.FINISHED, 0, 1, loaded=loaded, outside=outside)


def test_a_copy_from_elsewhere_is_named_with_a_way_out() -> None:
    (reason,) = from_elsewhere(report(outside=("/lib/calc.py instead of src/calc.py",)))
    assert reason.startswith("loaded /lib/calc.py instead of src/calc.py: ")
    assert "editable" in reason
    assert from_elsewhere(report()) == ()
