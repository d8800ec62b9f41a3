from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPORTER = Path(__file__).parents[2] / "src/verdigris/runners/reporter"
PROGRAM = """
import json, os, sys
sys.path[:0] = [{reporter!r}, {installed!r}, {project!r}]
import pytest, _pytest.assertion.rewrite
from verdigris_reporter import preload
preload.INSTALLED = ({installed!r} + "/",)
before = dict(os.environ), list(sys.path), list(sys.meta_path)
try:
    said = preload.preload({names!r})
except Exception as error:
    said = type(error).__name__
assert before == (dict(os.environ), list(sys.path), list(sys.meta_path))
print(said, sorted(set(preload.installed()) - {{"pytest"}}))
"""


def preloaded(tmp_path: Path, *names: str, **modules: str) -> str:
    for folder in ("installed", "project"):
        (tmp_path / folder).mkdir()
    for name, text in modules.items():
        (tmp_path / "installed" / f"{name}.py").write_text(text)
    (tmp_path / "project/ours.py").write_text("")
    program = PROGRAM.format(
        reporter=str(REPORTER),
        installed=str(tmp_path / "installed"),
        project=str(tmp_path / "project"),
        names=list(names),
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_modules_of_the_environment_are_loaded_in_order(tmp_path: Path) -> None:
    told = preloaded(tmp_path, "one", "two", one="import two\n", two="")
    assert told == "1 ['one', 'two']"


THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("starts", THREAD, "RuntimeError"),
        ("fails", "1 / 0\n", "ZeroDivisionError"),
        ("ours", "", "ModuleNotFoundError"),
        ("asks", "import os\nassert os.environ['OMP_NUM_THREADS'] == '1'\n", "1"),
    ],
)
def test_what_goes_otherwise_than_in_the_plain_run_is_told(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    modules = {} if name == "ours" else {name: text}
    assert preloaded(tmp_path, name, **modules).split()[0] == said
