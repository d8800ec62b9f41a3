from __future__ import annotations

import marshal
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verdigris.storage import stat_cache


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "tests").mkdir(parents=True)
    (root / "tests/a.py").write_text("a")
    (root / "link").symlink_to("tests/a.py")
    return root


PATHS = (b"tests", b"tests/a.py", b"link", b".claude/settings.json")


def taken(root: Path) -> list[stat_cache.Row]:
    return [stat_cache.stamp(os.fsencode(root), path) for path in PATHS]


def test_what_is_written_is_read(root: Path, tmp_path: Path) -> None:
    rows = taken(root)
    stat_cache.write(tmp_path, 7, os.fsencode(root), rows)
    assert stat_cache.read(tmp_path, root) == (7, os.fsencode(root), rows)
    assert stat_cache.read(tmp_path, root.parent) is None, "of a repository that was moved here"
    assert marshal.loads((tmp_path / "stamps").read_bytes()) == (1, 7, os.fsencode(root), rows)
    assert stat_cache.differs(os.fsencode(root), rows) == []


def replaced(root: Path) -> None:
    (root / "new").write_text("a")
    (root / "new").replace(root / "tests/a.py")


def swapped(root: Path) -> None:
    (root / "tests/a.py").unlink()
    (root / "tests/a.py").symlink_to("/dev/null")


def same_size_and_time(root: Path) -> None:
    before = (root / "tests/a.py").stat()
    (root / "tests/a.py").write_text("b")
    os.utime(root / "tests/a.py", ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (same_size_and_time, [b"tests/a.py"]),
        (replaced, [b"tests", b"tests/a.py"]),
        (swapped, [b"tests", b"tests/a.py"]),
        (lambda root: (root / "tests/a.py").chmod(0o755), [b"tests/a.py"]),
        (lambda root: (root / "tests/new.py").write_text(""), [b"tests"]),
        (lambda root: (root / "link").unlink(), [b"link"]),
        (lambda root: (root / ".claude").mkdir(), []),
        (
            lambda root: (root / ".claude").mkdir() or (root / ".claude/settings.json").touch(),
            [b".claude/settings.json"],
        ),
        (lambda root: (root / "tests").rename(root / "t"), [b"tests", b"tests/a.py"]),
    ],
)
def test_every_change_shows(root: Path, change: Callable[[Path], object], expected: list[bytes]) -> None:
    rows = taken(root)
    newest = max(ctime for _, ctime, *_ in rows)
    while (root.parent / "tick").write_text("") or (root.parent / "tick").stat().st_ctime_ns <= newest:
        pass
    change(root)
    assert stat_cache.differs(os.fsencode(root), rows) == expected


@pytest.mark.parametrize("junk", [b"", b"junk", marshal.dumps(7), marshal.dumps((2, 0, b"", []))])
def test_junk_and_absence_are_no_stamps(tmp_path: Path, junk: bytes) -> None:
    assert stat_cache.read(tmp_path) is None
    (tmp_path / "stamps").write_bytes(junk)
    assert stat_cache.read(tmp_path) is None
    stat_cache.forget(tmp_path)
    stat_cache.forget(tmp_path)
    assert not (tmp_path / "stamps").exists()


def test_absolute_paths_lie_where_they_say(root: Path) -> None:
    rows = [stat_cache.stamp(b"/", os.fsencode(root / "tests/a.py"))]
    assert rows[0][1] != 0
    assert stat_cache.differs(b"/", rows) == []


def test_without_its_root_everything_differs(root: Path) -> None:
    rows = taken(root)
    root.rename(root.with_name("moved"))
    assert stat_cache.differs(os.fsencode(root), rows) == list(PATHS)


def test_reading_them_imports_nothing_else() -> None:
    code = "import sys; import verdigris.storage.stat_cache; print(*sys.modules)"
    argv = [sys.executable, "-I", "-c", code]
    loaded = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    assert not {"typing", "pathlib", "dataclasses", "re", "json"}.intersection(set(loaded) - _at_start())


def _at_start() -> set[str]:
    argv = [sys.executable, "-I", "-c", "import sys; print(*sys.modules)"]
    return set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())
