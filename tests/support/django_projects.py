"""Small Django projects, in an environment of their own with the real Django from the package registry."""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.gitrepo import GitRepo
from support.kept_tools import fetching_environment, kept_folder
from support.pages import project_files

_PACKAGES = ("django==5.2.*", "pytest-django==4.*")
_FOLDER = kept_folder("test-django", "VERDIGRIS_TEST_DJANGO")
_SECONDS = 120
_UNTIL_ANOTHER_TRY = 3600

FILES = project_files("django")
SETTINGS, MODELS, TESTS = (FILES[path] for path in ("mysite/settings.py", "shop/models.py", "shop/tests.py"))
RED = """
    def test_gross(self):
        Item.objects.create(name="b", price=100)
        self.assertEqual(Item.objects.get(name="b").gross(), 119)
"""
GREEN = """
    def gross(self):
        return self.price * 119 // 100
"""


def write_project(repo: GitRepo, **more: str) -> None:
    for path, text in {**FILES, **more}.items():
        repo.write(path, text)
    make_environment(repo.root)
    repo.commit()


def make_environment(root: Path) -> None:
    """A `.venv` that has Django, pytest-django and, from the interpreter of this suite, pytest."""
    packages = installed()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=root, check=True)
    (site,) = (root / ".venv" / "lib").glob("*/site-packages")
    for package in (*packages.iterdir(), *map(Path, _own_pytest())):
        if not (site / package.name).exists():
            (site / package.name).symlink_to(package)


def _own_pytest() -> list[str]:
    """The folders of pytest and of what it needs."""
    found = (
        find_spec(name) for name in ("_pytest", "pytest", "iniconfig", "packaging", "pluggy", "pygments")
    )
    return [os.path.dirname(spec.origin) for spec in found if spec and spec.origin]  # noqa: PTH120


def installed() -> Path:
    """The folder with the packages; skips if they cannot be installed here."""
    folder = _FOLDER / f"{sys.version_info[0]}.{sys.version_info[1]}"
    folder.mkdir(parents=True, exist_ok=True)
    done, failed = folder / ".done", folder / ".failed"
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if failed.exists() and time.time() - failed.stat().st_mtime < _UNTIL_ANOTHER_TRY:
            pytest.skip(failed.read_text("utf-8"))
        if not done.exists() and (why := _install(folder / "packages")):
            failed.write_text(why, "utf-8")
            pytest.skip(why)
        done.touch()
    return folder / "packages"


def _install(target: Path) -> str:
    """Installs the packages; returns why it could not."""
    shutil.rmtree(target, ignore_errors=True)
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(target)]
    # pip uses its own cache and configuration, though HOME is empty.
    env = {**fetching_environment(), "HOME": pwd.getpwuid(os.getuid()).pw_dir}
    try:
        made = subprocess.run(
            [*words, *_PACKAGES], env=env, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"pip cannot install Django within {_SECONDS} s"
    return "" if made.returncode == 0 else f"pip cannot install Django: {made.stderr[-300:]}"
