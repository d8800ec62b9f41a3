"""A tool that reports nothing more is stopped, and one that still loads has more time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from verdigris.runners.reporter import node_watch

START = '{"n":0,"kind":"start","tool":"vitest"}'


def watched(report: Path, said: str, program: str, limit: float = 0.6) -> tuple[int, float]:
    """Its exit code, and the seconds that it took. What it watches is no node, so nobody asks for a place."""
    writing = f"import pathlib, time; p = pathlib.Path({str(report)!r}); p.write_text({said!r}); {program}"
    argv = [sys.executable, "-I", "-S", node_watch.__file__, str(limit), sys.executable, "-c", writing]
    begun = time.monotonic()
    done = subprocess.run(argv, env={node_watch.REPORT: str(report)}, timeout=60, check=False)
    return done.returncode, time.monotonic() - begun


@pytest.mark.parametrize("code", [0, 3, -15])
def test_it_ends_as_the_tool_ends(tmp_path: Path, code: int) -> None:
    end = f"raise SystemExit({code})" if code >= 0 else f"import os; os.kill(os.getpid(), {-code})"
    assert watched(tmp_path / "r", START, end)[0] == code
    assert not (tmp_path / "r.stop").exists()


@pytest.mark.parametrize("last", ['{"kind":"collected"}', '{"kind":"started"}', '{"tool":"node"}'])
def test_silence_after_a_test_began_is_the_end(tmp_path: Path, last: str) -> None:
    code, seconds = watched(tmp_path / "r", f"{START}\n{last}", "time.sleep(50)")
    assert code == 1
    assert seconds < 10
    told = json.loads((tmp_path / "r.stop").read_text())
    assert told == {"seconds": 0.6, "frames": [], "names": None}


def test_what_goes_on_reporting_or_still_loads_is_left_alone(tmp_path: Path) -> None:
    steps = "[(p.open('a').write('x'), time.sleep(0.1)) for _ in range(25)]"
    assert watched(tmp_path / "a", f'{START}\n{{"kind":"started"}}', steps, limit=2)[0] == 0
    assert watched(tmp_path / "b", START, "time.sleep(1.5)")[0] == 0
