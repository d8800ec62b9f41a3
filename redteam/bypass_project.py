"""The project that the bypass attacks are aimed at, in any phase, full of side doors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from verdigris.core.errors import VerdigrisError
from verdigris.core.records import Actor
from verdigris.storage.project import open_project

TEST = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
WEAK = "def test_add():\n    assert True\n"
FIXUP = "from pathlib import Path\n\nPath('tests/test_calc.py').write_text('x=1\\n')\n"
FILES = {
    "src/calc.py": "def add(a, b):\n    return 0\n",
    "src/old.py": "OLD = 1\n",
    "src/fixup.py": FIXUP,
    "tests/test_calc.py": TEST,
    "tests/helpers.py": "FIVE = 5\n",
    "tests/golden/out.txt": "5\n",
    "scripts/fix.sh": "#!/bin/sh\necho x=1 > tests/test_calc.py\n",
    "Makefile": "weaken:\n\techo x=1 > tests/test_calc.py\n",
    "package.json": '{"name": "p", "scripts": {"weaken": "echo x=1 > tests/test_calc.py"}}\n',
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
}
ORACLE = ("tests/test_calc.py", "tests/helpers.py", "tests/golden/out.txt", "pyproject.toml", "tdd.yaml")
TESTS_TOO = ("hard.py", "impl_link.py")
"""Names below `src` that lead to a test."""
CONFIGURES = ("conftest.py", "pytest.ini", "setup.cfg", "tox.ini")
PATCH = """--- a/tests/test_calc.py
+++ b/tests/test_calc.py
@@ -2,4 +2,4 @@


 def test_add():
-    assert add(2, 3) == 5
+    assert True
"""


def build(root: Path, phase: str = "green") -> None:
    """At `root`, which does not exist yet: set up for Claude Code; in green with a claim open."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("== 5", "> 0") if name == "tests/test_calc.py" else text)
    _git(root, "init", "-q", "-b", "main")
    _git(root, "config", "user.name", "r")
    _git(root, "config", "user.email", "r@example.invalid")
    _commit(root, "weaker")
    (root / "tests/test_calc.py").write_text(TEST)
    _commit(root, "red")
    _git(root, "branch", "weak-tests", "HEAD~1")
    (root / "t").symlink_to("tests")
    (root / "src/impl_link.py").symlink_to("../tests/test_calc.py")
    os.link(root / "tests/test_calc.py", root / "src/hard.py")
    (root / "tdd.yaml").write_text(f"stacks:\n  - root: .\n    python: {sys.executable}\n")
    tdd(root, "init", "--agent", "claude", "--team", "--yes")
    if phase == "green":
        tdd(root, "test", "tests/test_calc.py")
        tdd(root, "claim", "tests/test_calc.py::test_add", "src/calc.py")
    if phase == "off":
        tdd(root, "off", "--why", "as a person said")


def phase(root: Path) -> str:
    try:
        return str(open_project(root, Actor("person")).state().phase)
    except VerdigrisError as error:
        return f"unknown: {error.message}"


def inputs(folder: Path) -> None:
    """What the attacks expect to find below /tmp."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "home").mkdir(parents=True)
    (folder / "weak.py").write_text(WEAK)
    (folder / "weaken.patch").write_text(PATCH)
    with zipfile.ZipFile(folder / "weaktests.zip", "w") as archive:
        archive.writestr("tests/test_calc.py", WEAK)


def copy(template: Path, root: Path) -> None:
    """Links stay links, hard ones too, which `shutil.copytree` would not keep."""
    while root.exists():  # rooms may be removed meanwhile by those that made them
        shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["cp", "-a", str(template), str(root)], check=True)


def tdd(root: Path, *words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    return run(root, sys.executable, "-m", "verdigris", *words, given=given)


def run(root: Path, *argv: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    home = str(root.parent / "inputs" / "home")
    env = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "CLAUDE_PROJECT_DIR": str(root),
        "HOME": home,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    return subprocess.run(
        argv, cwd=root, env=env, input=given or "", capture_output=True, text=True, check=False, timeout=120
    )


def _commit(root: Path, message: str) -> None:
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", message)


def _git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
