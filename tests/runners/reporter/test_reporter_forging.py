"""Source under test that reaches for the reporter: what it forges is never a pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.pyproject import PyProject
from verdigris.core.report import Status, TestReport
from verdigris.core.verdict import Before, TrialFacts, judge

TEST = "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n"
ID = "test_calc.py::test_add"
PASSED = (
    f"dict(kind='test', id={ID!r}, phase='call', outcome='passed', ms=1), "
    f"dict(kind='test', id={ID!r}, phase='teardown', outcome='passed', ms=1)"
)
LINES = f"[json.dumps(m).encode() + b'\\n' for m in ({PASSED}, dict(kind='end', code=0))]"
WRONG = "\ndef add(a, b):\n    return 0\n"

FORGERIES = {
    "leaves at once": "import os\ndef add(a, b):\n    os._exit(0)\n",
    "leaves when it is imported": "import os\nos._exit(0)\n",
    "closes every descriptor and leaves": (
        "import os\ndef add(a, b):\n    os.closerange(3, 256)\n    os._exit(0)\n"
    ),
    "closes every descriptor and goes on": f"import os\nos.closerange(3, 256)\n{WRONG}",
    "writes to every socket": (
        "import json, os, stat\n"
        f"lines = {LINES}\n"
        "for name in os.listdir('/proc/self/fd'):\n"
        "    try:\n"
        "        if stat.S_ISSOCK(os.fstat(int(name)).st_mode):\n"
        "            for line in lines: os.write(int(name), line)\n"
        "    except OSError: pass\n"
        "os._exit(0)\n"
    ),
    "writes to every socket and goes on": (
        "import json, os, stat\n"
        f"lines = {LINES}\n"
        "for name in os.listdir('/proc/self/fd'):\n"
        "    try:\n"
        "        if stat.S_ISSOCK(os.fstat(int(name)).st_mode):\n"
        "            for line in lines: os.write(int(name), line)\n"
        f"    except OSError: pass\n{WRONG}"
    ),
    "writes in the midst of a line": (
        "import os, stat\ndef add(a, b):\n"
        "    for fd in range(3, 64):\n"
        "        try:\n"
        "            if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, b'x ')\n"
        "        except OSError: pass\n    return 0\n"
    ),
    "forks, and the child goes on as if it were the parent": (
        "import os\ndef add(a, b):\n    if os.fork() == 0: return 5\n    os.wait()\n    return 0\n"
    ),
    "forks, and the parent leaves": (
        "import os\ndef add(a, b):\n    if os.fork(): os._exit(0)\n    return 5\n"
    ),
    "reports through the reporter itself, then fails": (
        "import sys\ndef add(a, b):\n"
        "    send = sys.modules['verdigris_reporter.channel'].CHANNEL.send\n"
        f"    for m in ({PASSED}): send(m.pop('kind'), **m)\n    return 0\n"
    ),
    "reports through the reporter itself at the end": (
        "import sys, atexit\nsend = sys.modules['verdigris_reporter.channel'].CHANNEL.send\n"
        "def later():\n"
        f"    send('started', id={ID!r})\n"
        f"    for m in ({PASSED}): send(m.pop('kind'), **m)\n"
        f"atexit.register(later)\n{WRONG}"
    ),
    "skips": "import pytest\ndef add(a, b):\n    pytest.skip('no')\n",
    "xfails": "import pytest\ndef add(a, b):\n    pytest.xfail('no')\n",
    "ends the session": "import pytest\ndef add(a, b):\n    pytest.exit('done', returncode=0)\n",
    "raises what pytest takes for the end": "def add(a, b):\n    raise KeyboardInterrupt\n",
    "exits": "def add(a, b):\n    raise SystemExit(0)\n",
    "kills the process": "import os, signal\ndef add(a, b):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    "deselects by a plugin of its own": (
        "import gc, pytest\n"
        "class Plugin:\n"
        "    def pytest_collection_modifyitems(self, items): items[:] = []\n"
        "for found in gc.get_objects():\n"
        "    if isinstance(found, pytest.Config): found.pluginmanager.register(Plugin())\n"
        f"{WRONG}"
    ),
    "empties the session": (
        "import gc, pytest\n"
        "class Plugin:\n"
        "    def pytest_runtestloop(self): return True\n"
        "for found in gc.get_objects():\n"
        "    if isinstance(found, pytest.Config): found.pluginmanager.register(Plugin())\n"
        f"{WRONG}"
    ),
    "prints what a pass looks like": f"print('{ID} PASSED', flush=True)\n{WRONG}",
}
"""Each stands where `calc.py` should be."""


def verdict_of(report: TestReport) -> str:
    return judge(TrialFacts({ID: ID}, Before({}), report)).kind


@pytest.mark.parametrize("how", FORGERIES)
def test_a_forgery_is_not_accepted(tmp_path: Path, how: str) -> None:
    project = PyProject(tmp_path)
    (tmp_path / "calc.py").write_text(FORGERIES[how])
    project.write("test_calc.py", TEST)
    report = project.test(sources=[""])
    assert [r for r in report.results if r.status is Status.PASS] == [] or verdict_of(report) == "broken"
    assert verdict_of(report) in {"broken", "still-red"}


def test_the_honest_one_is_accepted(tmp_path: Path) -> None:
    """So that the others are refused for what they do."""
    project = PyProject(tmp_path)
    project.write("calc.py", "def add(a, b):\n    return a + b\n")
    project.write("test_calc.py", TEST)
    assert verdict_of(project.test(sources=[""])) == "accepted"


def test_a_test_that_is_collected_twice_may_be_reported_twice(tmp_path: Path) -> None:
    project = PyProject(tmp_path)
    project.write("calc.py", "def add(a, b):\n    return a + b\n")
    project.write("test_calc.py", TEST)
    report = project.test(extra=["--keep-duplicates", "test_calc.py", "test_calc.py"])
    assert {r.status for r in report.results} == {Status.PASS}
