from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from verdigris.core.errors import ToolMissing
from verdigris.execution import process
from verdigris.execution.process import Command, Descendants, run

CHANNEL = "TEST_CHANNEL"


def python(code: str, cwd: Path, **more: object) -> Command:
    argv = (sys.executable, "-I", "-S", "-c", textwrap.dedent(code))
    return Command(argv, cwd, dict(os.environ), **more)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    """A zombie that nobody reaped yet runs no more code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except FileNotFoundError:
        return False


def eventually_dead(pid: int) -> bool:
    for _ in range(500):
        if not alive(pid):
            return True
        time.sleep(0.01)
    return False


def test_exit_code_and_output_in_order(tmp_path: Path) -> None:
    code = "import os; os.write(1, b'one '); os.write(2, b'two '); os.write(1, b'three'); os._exit(3)"
    finished = run(python(code, tmp_path), timeout=30)
    assert (finished.exit_code, finished.signal, finished.timed_out) == (3, None, False)
    assert finished.output == b"one two three"
    assert finished.duration_ms >= 0


def test_cwd_env_and_an_empty_stdin(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd(), os.environ['WHO'], repr(sys.stdin.read()))"
    argv = (sys.executable, "-I", "-c", code)
    finished = run(Command(argv, tmp_path, {"WHO": "me"}), timeout=30)
    assert finished.output.decode().split() == [str(tmp_path.resolve()), "me", "''"]


def test_death_by_signal(tmp_path: Path) -> None:
    finished = run(python("import os; os.kill(os.getpid(), 9)", tmp_path), timeout=30)
    assert (finished.exit_code, finished.signal) == (None, signal.SIGKILL)


def test_missing_executable(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="no-such-tool-here"):
        run(Command(("no-such-tool-here",), tmp_path, {}), timeout=5)


def test_file_that_cannot_be_executed(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("no program")
    with pytest.raises(ToolMissing, match="Permission denied"):
        run(Command((str(tool),), tmp_path, {}), timeout=5)
    tool.chmod(0o755)
    with pytest.raises(ToolMissing, match="Exec format error"):
        run(Command((str(tool),), tmp_path, {}), timeout=5)


def test_missing_folder_is_not_called_a_missing_tool(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="folder"):
        run(Command((sys.executable, "-c", ""), tmp_path / "gone", {}), timeout=5)


def test_flood_is_capped_to_head_and_tail(tmp_path: Path) -> None:
    code = """
        import os
        os.write(1, b"HEAD")
        for _ in range(400): os.write(1, b"x" * 65536)
        os.write(1, b"TAIL")
    """
    finished = run(python(code, tmp_path), timeout=60)
    assert finished.output.startswith(b"HEADxxx")
    assert finished.output.endswith(b"xxxTAIL")
    assert len(finished.output) < 3 * process.KEPT
    assert b"bytes left out" in finished.output


def test_output_just_over_the_head_is_whole(tmp_path: Path) -> None:
    finished = run(python(f"import os; os.write(1, b'x' * {process.KEPT + 10})", tmp_path), timeout=30)
    assert finished.output == b"x" * (process.KEPT + 10)


def test_timeout_kills_the_group_even_when_it_ignores_sigterm(tmp_path: Path) -> None:
    code = """
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = os.fork()
        if child: os.write(1, b"%d" % child)
        time.sleep(60)
    """
    finished = run(python(code, tmp_path), timeout=1)
    assert finished.timed_out
    assert finished.signal == signal.SIGKILL
    assert eventually_dead(int(finished.output))


def test_timeout_lets_a_polite_process_end_by_itself(tmp_path: Path) -> None:
    code = """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *a: sys.exit(7))
        time.sleep(60)
    """
    finished = run(python(code, tmp_path), timeout=1)
    assert (finished.timed_out, finished.exit_code) == (True, 7)


def test_grandchild_that_keeps_the_pipe_neither_hangs_us_nor_stays(tmp_path: Path) -> None:
    code = """
        import os, time
        child = os.fork()
        if child == 0: time.sleep(60)
        os.write(1, b"%d" % child)
    """
    finished = run(python(code, tmp_path), timeout=60)
    assert (finished.exit_code, finished.timed_out) == (0, False)
    assert eventually_dead(int(finished.output))


def test_channel_is_its_own_stream_and_gets_the_hello(tmp_path: Path) -> None:
    code = f"""
        import os
        fd = int(os.environ["{CHANNEL}"])
        hello = b""
        while True:
            more = os.read(fd, 65536)
            if not more: break
            hello += more
        os.write(fd, b"%d\\nlast" % len(hello))
        print("to stdout")
    """
    finished = run(python(code, tmp_path, channel_env=CHANNEL, hello=b"h" * 3_000_000), timeout=60)
    assert finished.channel == b"3000000\nlast"
    assert finished.output == b"to stdout\n"


def test_channel_is_streamed_by_lines(tmp_path: Path) -> None:
    code = f"""
        import os
        fd = int(os.environ["{CHANNEL}"])
        for part in (b"on", b"e\\ntwo\\nthr", b"ee"): os.write(fd, part)
    """
    lines: list[bytes] = []
    finished = run(python(code, tmp_path, channel_env=CHANNEL), timeout=30, on_line=lines.append)
    assert lines == [b"one", b"two", b"three"]
    assert finished.channel == b""


def test_endless_line_on_the_channel_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LONGEST_LINE", 1000)
    code = f"import os; os.write(int(os.environ['{CHANNEL}']), b'x' * 5000 + b'\\nshort\\n')"
    lines: list[bytes] = []
    run(python(code, tmp_path, channel_env=CHANNEL), timeout=30, on_line=lines.append)
    assert lines[-1] == b"short"
    assert max(map(len, lines)) <= 1000


def test_no_channel_unless_asked(tmp_path: Path) -> None:
    code = f"import os; print('{CHANNEL}' in os.environ, sorted(os.listdir('/proc/self/fd'))[:4])"
    assert run(python(code, tmp_path), timeout=30).output == b"False ['0', '1', '2', '3']\n"


def test_interrupt_kills_the_child_and_goes_on(tmp_path: Path) -> None:
    pids: list[int] = []

    def interrupt(line: bytes) -> None:
        pids.append(int(line))
        raise KeyboardInterrupt

    code = f"""
        import os, time
        os.write(int(os.environ["{CHANNEL}"]), b"%d\\n" % os.getpid())
        time.sleep(60)
    """
    with pytest.raises(KeyboardInterrupt):
        run(python(code, tmp_path, channel_env=CHANNEL), timeout=60, on_line=interrupt)
    assert not alive(pids[0])


@pytest.mark.skipif(sys.platform != "linux", reason="the parent-death signal is Linux's")
def test_child_dies_with_us(tmp_path: Path) -> None:
    code = f"""
        import sys
        from pathlib import Path
        from verdigris.execution.process import Command, run
        child = "import os, time; os.write(int(os.environ['C']), b'%d\\\\n' % os.getpid()); time.sleep(60)"
        show = lambda line: print(line.decode(), flush=True)
        command = Command((sys.executable, "-c", child), Path({str(tmp_path)!r}), {{}}, channel_env="C")
        run(command, timeout=60, on_line=show)
    """
    us = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE)
    with us:
        assert us.stdout is not None
        child = int(us.stdout.readline())
        assert alive(child)
        us.kill()
    assert eventually_dead(child)


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
