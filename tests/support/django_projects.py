"""Small Django projects, in an environment of their own with the real Django from the package registry."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from support.gitrepo import GitRepo
from support.kept_tools import install_once, kept_folder, locked
from support.pages import project_files

_PACKAGES = ("django==5.2.*", "pytest-django==4.*")
_FOLDER = kept_folder("test-django", "VERDIGRIS_TEST_DJANGO")
_SECONDS = 120

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
    with locked(_FOLDER / f"{sys.version_info[0]}.{sys.version_info[1]}") as folder:
        words = ["-m", "pip", "install", "--quiet", "--no-compile", "--target", "packages"]
        install_once("Django", folder, [sys.executable, *words, *_PACKAGES], seconds=_SECONDS)
        return folder / "packages"
