"""What a command left behind is ended, also what left its process group."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from verdigris.execution.descendants import Descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of them")


def test_a_grandchild_in_a_session_of_its_own_is_ended() -> None:
    before = subprocess.Popen(["sleep", "60"])
    descendants = Descendants()
    leaving = "setsid sleep 60 > /dev/null 2>&1 & echo $!"
    told = subprocess.run(["sh", "-c", leaving], capture_output=True, check=True)
    left = Path(f"/proc/{told.stdout.decode().strip()}")
    assert descendants.end()
    assert not left.exists()
    assert before.poll() is None, "what was there before is nobody's to end"
    before.kill()
    before.wait()
