from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from support.cli import TDD, Cli
from verdigris import __version__
from verdigris.cli.commands import COMMANDS, overview

pytestmark = pytest.mark.usefixtures("remembered_runs")

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = Path(__file__).parents[2] / "src"
HEAVY = ("rich", "yaml", "msgspec", "click", "subprocess", "dataclasses")


def _python(cli: Cli, code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cli.root,
        env=cli.environment() | env,
        capture_output=True,
        text=True,
        check=False,
    )


def _loading(cli: Cli, words: Sequence[str], names: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Those of `names` that the command loads are the end of standard error."""
    code = (
        f"import os, sys; sys.argv = ['tdd', *{words!r}]; pid, end = os.getpid(), os._exit\n"
        "def tell(code):\n"
        "    if os.getpid() == pid:\n"
        f"        sys.stderr.write(' '.join(m for m in {names!r} if m in sys.modules)); sys.stderr.flush()\n"
        "    end(code)\n"
        "os._exit = tell\n"
        "from verdigris.cli.main import run\n"
        "run()\n"
    )
    return _python(cli, code)


def test_help_lists_every_command_and_imports_none(bare_cli: Cli) -> None:
    done = _loading(bare_cli, ("--help",), HEAVY)
    assert (done.returncode, done.stdout, done.stderr) == (0, overview(), "")
    assert all(re.search(rf"^  {name} ", done.stdout, re.MULTILINE) for name in COMMANDS)


def test_the_same_help_comes_from_click(bare_cli: Cli) -> None:
    assert bare_cli.tdd("--help", "--help").out == overview()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_is_there_and_explains_itself(name: str, bare_cli: Cli) -> None:
    code = f"from verdigris.cli.group import load_command; c = load_command({name!r})\n"
    done = _python(bare_cli, code + "print(c.name); print(c.help)")
    assert done.stdout.startswith(f"{name}\n"), done.stderr
    assert len(done.stdout) > len(name) + len("\nNone\n")


def test_a_command_does_not_import_what_it_does_not_need(cli: Cli) -> None:
    done = _loading(cli, ("status",), ("rich", "yaml", "msgspec"))
    assert (done.returncode, done.stderr) == (0, "")


def test_tests_are_run_without_click(cli: Cli) -> None:
    done = _loading(cli, ("test", "-q", "tests/test_add.py"), ("rich", "yaml", "msgspec", "click"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("option", ["-q", "--json"])
def test_plain_words_mean_what_click_takes_them_for(option: str, bare_cli: Cli) -> None:
    calls = (("test", option, "tests/test_add.py"), ("test", option, "--", "tests/test_add.py"))
    plain, clicked = (re.sub(r"\d", "", bare_cli.ok(*words).out) for words in calls)
    assert plain == clicked


def test_version(bare_cli: Cli) -> None:
    assert bare_cli.tdd("--version").out == f"tdd {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [("no-such-command",), ("status", "--no-such-option"), ("off",), ("log", "repair"), ()],
)
def test_a_wrong_call_is_exit_code_2_with_nothing_on_stdout(words: tuple[str, ...], bare_cli: Cli) -> None:
    ran = bare_cli.tdd(*words)
    assert (ran.code, ran.out) == (2, "")
    assert "sage" in ran.err


@pytest.mark.parametrize(
    ("word", "meant"), [("tests", "`tdd test`"), ("setle", "`tdd settle`"), ("clam", "`tdd claim`")]
)
def test_a_mistyped_command_is_answered_with_the_nearest(word: str, meant: str, bare_cli: Cli) -> None:
    ran = bare_cli.tdd(word)
    assert ran.code == 2
    assert f"There is no command '{word}'. Did you mean {meant}" in ran.err


@pytest.mark.parametrize("words", [("status", "--json", "--no-such"), ("nonsense", "--json")])
def test_a_wrong_call_that_asked_for_json_gets_json(words: tuple[str, ...], bare_cli: Cli) -> None:
    ran = bare_cli.tdd(*words)
    assert (ran.code, ran.err) == (2, "")
    assert json.loads(ran.out)["error"]["message"]


def test_an_error_that_asked_for_json_gets_json(tmp_path: Path, bare_cli: Cli) -> None:
    ran = bare_cli.tdd("status", "--json", cwd=tmp_path)
    assert (ran.code, ran.err) == (2, "")
    assert json.loads(ran.out)["error"]["hint"]


def test_help_lists_the_pages_and_prints_one(bare_cli: Cli) -> None:
    listed = bare_cli.ok("help").out
    assert listed.startswith(overview())
    assert "  configuration " in listed
    assert bare_cli.ok("help", "configuration").out == (DOCS / "configuration.md").read_text("utf-8")


def test_help_of_a_command_is_what_the_command_says(bare_cli: Cli) -> None:
    assert bare_cli.ok("help", "claim").out == bare_cli.ok("claim", "--help").out


def test_a_page_that_is_not_there_is_answered_with_the_list(bare_cli: Cli) -> None:
    ran = bare_cli.tdd("help", "nonsense")
    assert ran.code == 2
    assert "configuration" in ran.err


def test_every_page_that_a_message_names_exists() -> None:
    texts = (path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    named = {page for text in texts for page in re.findall(r"`tdd help ([a-z-]+)`", text)}
    assert named
    assert named <= {path.stem for path in DOCS.glob("*.md")} | set(COMMANDS)


def test_an_error_is_a_message_and_a_hint_on_stderr(tmp_path: Path, bare_cli: Cli) -> None:
    ran = bare_cli.tdd("status", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    first, second = ran.err.splitlines()
    assert first.startswith("tdd: there is no git repository")
    assert second.startswith("hint: ")
    assert "git init" in second


def _failing(body: str) -> str:
    return (
        "import sys; sys.argv = ['tdd', 'status']\n"
        "import verdigris.cli.context as opening\n"
        f"def project(): {body}\n"
        "opening.project = project\n"
        "from verdigris.cli.main import run; run()\n"
    )


def test_an_unexpected_error_is_our_fault_and_says_how_to_see_more(bare_cli: Cli) -> None:
    done = _python(bare_cli, _failing("raise RuntimeError('oops')"))
    assert done.returncode == 70
    assert "this is a bug in Verdigris: RuntimeError: oops" in done.stderr
    assert "TDD_DEBUG=1" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in _python(bare_cli, _failing("raise RuntimeError('oops')"), TDD_DEBUG="1").stderr


def test_an_interrupt_is_exit_code_130(bare_cli: Cli) -> None:
    done = _python(bare_cli, _failing("raise KeyboardInterrupt"))
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


GRACE = 5.0
SET_NAME, ASLEEP = 15, f"tdd{os.getpid()}".encode()
"""How a test that leaves no trace in the tree can be found."""


def _asleep() -> bool:
    found = False
    for name in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            found = found or name.read_bytes().strip() == ASLEEP
    return found


@pytest.mark.slow
def test_an_interrupt_while_tests_run_ends_them_too(cli: Cli) -> None:
    cli.repo.write(
        "tests/test_slow.py",
        "import ctypes, time\n\n\ndef test_slow():\n"
        f"    ctypes.CDLL(None).prctl({SET_NAME}, {ASLEEP!r})\n    time.sleep(60)\n",
    )
    started = subprocess.Popen(
        [*TDD, "test", "tests/test_slow.py"],
        cwd=cli.root,
        env=cli.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not _asleep() and started.poll() is None:
        os.sched_yield()
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130, err
    ends = time.monotonic() + GRACE
    while _asleep() and time.monotonic() < ends:  # the kernel takes a moment to end all that are in a table
        time.sleep(0.01)
    assert not _asleep()
    assert cli.tdd("status").code == 0


def test_a_reader_that_goes_away_is_no_error(cli: Cli) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m verdigris log --json | true'],
        cwd=cli.root,
        env=cli.environment(),
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""


@pytest.mark.parametrize("word", ["status", "--help"])
def test_a_closed_pipe_is_quiet(word: str, cli: Cli) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*TDD, word],
            cwd=cli.root,
            env=cli.environment(),
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_windows_is_told_that_it_is_not_supported(bare_cli: Cli) -> None:
    code = "import sys; from verdigris.cli.main import run; sys.platform = 'win32'; run()"
    done = _python(bare_cli, code)
    assert done.returncode == 69
    assert "not supported" in done.stderr


def test_a_folder_that_is_gone_is_said(bare_cli: Cli, tmp_path: Path) -> None:
    code = (
        "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
        "sys.argv = ['tdd', 'status']\n"
        "from verdigris.cli.main import run; run()"
    )
    done = _python(bare_cli, code)
    assert done.returncode == 2, done.stderr
    assert "does not exist any more" in done.stderr


def test_make_install_brings_the_product_and_make_test_what_it_needs(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    words = ("make", "--dry-run", "--directory", str(root), f"VENV={tmp_path / 'venv'}")
    install, test = (
        subprocess.run([*words, target], capture_output=True, text=True, check=True).stdout
        for target in ("install", "test")
    )
    assert "-e .\n" in install
    assert "[dev]" not in install
    assert "-e '.[dev]'" in test


def test_an_editor_is_told_what_to_install_where_the_protocols_sdk_is_missing(bare_cli: Cli) -> None:
    code = (
        "import sys; sys.modules['acp'] = None; sys.argv = ['tdd', 'code', '--acp']\n"
        "from verdigris.cli.main import run; run()"
    )
    done = _python(bare_cli, code)
    assert (done.returncode, done.stdout) == (69, "")
    assert "pip install 'verdigris[code]'" in done.stderr


def test_an_option_before_its_command_is_answered_with_the_right_order(bare_cli: Cli) -> None:
    ran = bare_cli.tdd("--quiet", "test", "tests/test_add.py")
    assert (ran.code, ran.out) == (2, "")
    assert "--quiet stands behind the command: `tdd test tests/test_add.py --quiet`" in ran.err
    said = json.loads(bare_cli.tdd("--json", "status").out)["error"]["message"]
    assert said == "--json stands behind the command: `tdd status --json`"


@pytest.mark.parametrize(
    ("words", "offer"),
    [
        (("refactor", "bgin"), "Did you mean `tdd refactor begin`?"),
        (("refactor", "stop"), "There are `tdd refactor abort`, `tdd refactor begin`, `tdd refactor end`."),
        (("log", "verfy"), "Did you mean `tdd log verify`?"),
    ],
)
def test_a_mistyped_word_of_a_group_is_answered_alike(
    words: tuple[str, ...], offer: str, bare_cli: Cli
) -> None:
    ran = bare_cli.tdd(*words)
    assert (ran.code, f"There is no command '{words[1]}'. {offer}" in ran.err) == (2, True), ran
