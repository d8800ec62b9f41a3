"""Modules from one file are those that Python would load, and an edit of their source is seen."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import sys
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from verdigris.storage import bytecode
from verdigris.storage.bytecode import CodeLoader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

PACKAGE = "one_file"
NAMES = (f"{PACKAGE}.plain", f"{PACKAGE}.sub", f"{PACKAGE}.sub.deep")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    made = tmp_path / PACKAGE
    (made / "sub").mkdir(parents=True)
    for name in ("__init__.py", "sub/__init__.py", "sub/deep.py"):
        (made / name).write_text("")
    (made / "plain.py").write_text("ANSWER = 1\n\n\ndef fail():\n    raise ValueError(ANSWER)\n")
    return made


@contextmanager
def command(root: Path) -> Iterator[dict[str, ModuleType]]:
    """What a process of its own would load, with the package at `root`."""
    path = list(sys.path)
    sys.path.insert(0, str(root.parent))
    importlib.invalidate_caches()
    importlib.import_module(PACKAGE)
    finder = bytecode.begin("try", str(root), PACKAGE)
    assert finder is not None
    try:
        yield {name: importlib.import_module(name) for name in NAMES}
    finally:
        finder.close()
        sys.path[:] = path
        for name in (PACKAGE, *NAMES):
            sys.modules.pop(name, None)
        assert finder not in sys.meta_path


def taken(modules: dict[str, ModuleType]) -> set[str]:
    """The names of those that came from the one file."""
    return {name for name, one in modules.items() if isinstance(one.__loader__, CodeLoader)}


def test_what_one_command_loaded_comes_from_one_file_in_the_next(root: Path) -> None:
    facts = ("__file__", "__cached__", "__name__", "__package__", "__path__")
    with command(root) as first:
        plain = {name: [getattr(one, fact, None) for fact in facts] for name, one in first.items()}
        assert taken(first) == set()
    with command(root) as second:
        assert taken(second) == set(NAMES)
        assert {name: [getattr(one, fact, None) for fact in facts] for name, one in second.items()} == plain


def test_a_traceback_shows_the_source(root: Path) -> None:
    with command(root):
        pass
    with command(root) as modules:
        with pytest.raises(ValueError, match="1") as failure:
            modules[NAMES[0]].fail()
        last = traceback.extract_tb(failure.tb)[-1]
    assert (last.filename, last.line) == (str(root / "plain.py"), "raise ValueError(ANSWER)")


def test_an_edit_is_seen_at_once_and_the_rest_still_comes_from_the_file(root: Path) -> None:
    with command(root):
        pass
    source = root / "plain.py"
    source.write_text(source.read_text().replace("1", "2"))
    os.utime(source, ns=(1, 1))
    for expected in ({NAMES[1], NAMES[2]}, set(NAMES)):
        with command(root) as modules:
            assert modules[NAMES[0]].ANSWER == 2
            assert taken(modules) == expected


def test_a_package_that_was_moved_does_not_load_what_lies_where_it_was(root: Path, tmp_path: Path) -> None:
    with command(root):
        pass
    there = tmp_path / "there" / PACKAGE
    shutil.copytree(root, there)
    with command(there) as modules:
        assert taken(modules) == set()
        assert modules[NAMES[0]].__file__ == str(there / "plain.py")


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_file_that_is_cut_is_made_anew(root: Path, keep: int) -> None:
    with command(root):
        pass
    [file] = (root / "__pycache__").glob("*.modules")
    file.write_bytes(file.read_bytes()[:keep])
    for expected in (set(), set(NAMES)):
        with command(root) as modules:
            assert taken(modules) == expected


def test_nothing_is_written_where_python_writes_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with command(root):
        pass
    assert not (root / "__pycache__").exists()
    monkeypatch.setattr(sys, "pycache_prefix", str(root.parent / "elsewhere"))
    assert bytecode.begin("try", str(root), PACKAGE) is None


EXPRESSIONS = (
    (r"a(?P<name>b+)|(c)\1?", 0),
    (r"(?i)straße|\bwört\w*", 0),
    (r"^x.*?y$", re.MULTILINE | re.DOTALL),
    (rb"[^\x00-\x7f]{2,}", 0),
    ("[éa-z]+", re.ASCII | re.IGNORECASE),
)
TEXTS = ("abbb", "cc", "STRASSE straße WÖRTER", "x\n\ny\nxy", "Éclair K", "")


def matches(found: re.Pattern[Any]) -> list[Any]:
    texts = [text.encode() if isinstance(found.pattern, bytes) else text for text in TEXTS]
    return [[(m.span(), m.groups(), m.groupdict()) for m in found.finditer(text)] for text in texts]


@contextmanager
def expressions(root: Path) -> Iterator[bytecode.CodeFile]:
    re.purge()
    finder = bytecode.begin("try", str(root), PACKAGE)
    assert finder is not None
    try:
        yield finder
    finally:
        finder.close()
        re.purge()


@pytest.mark.parametrize(("pattern", "flags"), EXPRESSIONS)
def test_an_expression_of_an_earlier_command_is_what_re_makes_of_it(
    root: Path, pattern: str, flags: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = re.compile(pattern, flags)
    (root / "__pycache__").mkdir()
    with expressions(root):
        assert re.compile(pattern, flags) == plain
    monkeypatch.setattr("re._parser.parse", None)
    with expressions(root):
        known = re.compile(pattern, flags)
    assert (known == plain, known.groupindex, known.groups) == (True, plain.groupindex, plain.groups)
    assert matches(known) == matches(plain)


def test_what_is_no_expression_is_an_error_each_time(root: Path) -> None:
    (root / "__pycache__").mkdir()
    for _ in range(2):
        with expressions(root), pytest.raises(re.error, match="unterminated"):
            re.compile("(unterminated")


def test_only_so_many_expressions_are_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytecode, "MOST_EXPRESSIONS", 3)
    (root / "__pycache__").mkdir()
    for patterns in (("a", "b", "c"), ("b", "d"), ("b", "d")):
        with expressions(root) as finder:
            for pattern in patterns:
                re.compile(pattern)
    assert finder._expressions.missed == []
    assert {pattern for pattern, _ in finder._expressions.describe()} == {"b", "d"}


def test_re_is_as_it_was_when_the_command_has_ended(root: Path) -> None:
    from re import _compiler  # type: ignore[attr-defined]

    before = _compiler.compile
    with expressions(root):
        assert _compiler.compile != before
    assert _compiler.compile == before
