"""For the whole suite."""

from __future__ import annotations

import compileall
import gc
import os
import pwd
import signal
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import verdigris
from support.draws import same_draws
from support.fork_memory import settle_memory
from support.gitrepo import forget_patterns, share_patterns
from support.memory_disk import move_temporary_files_into_memory, take_own_mounts
from support.recorded_processes import compared_processes, recorded_processes
from support.rewriting import rewrite_tests
from support.sameruns import same_runs, shared_reports
from support.warm_runs import end_warm_runs, warm_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.terminal import TerminalReporter


HERE = Path(__file__).parent
QUICK = ("core/", "languages/", "models/", "storage/log/", "views/")
"""Folders whose tests run no project; elsewhere a file says so by its own mark."""
COLD = ("execution/", "redteam/", "runners/", "sandbox/")
"""Folders whose tests are about how tests are run: there each room's run starts its own interpreter."""
AS_FOR_USERS = ("e2e/test_shapes", "e2e/test_upgrade")
"""Files where each verdict does so. What a driver makes of verdicts is the same, whoever made the run."""
LEAN = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
LOADED_BY_RUNS = (
    "_pytest",
    "pytest",
    "pluggy",
    "iniconfig",
    "packaging",
    "pygments",
    "click",
    "yaml",
    "rich",
)
"""Installed packages that processes of ours and of the projects under test load again and again."""


def _tell_where_rust_lives() -> None:
    """Tests move HOME, and it may be empty to begin with: the toolchains of rustup lie in the user's own."""
    toolchains = Path(pwd.getpwuid(os.getuid()).pw_dir, ".rustup")
    if toolchains.is_dir():
        os.environ.setdefault("RUSTUP_HOME", str(toolchains))


def _hear_interrupts() -> None:
    """A shell's `&` and `nohup` have us ignore them, and every process that a test means to interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


os.environ["VERDIGRIS_WARM"] = "0"
_hear_interrupts()
_tell_where_rust_lives()
# The suite's own modules are rewritten once, not once a worker and a run.
sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    """Half of a short run compiled our own modules: what a room's process compiles goes with the room.

    So does the bytecode of pytest where an environment was copied: each run would compile it, in most of its
    time.
    """
    gc.disable()  # until all is collected: nearly everything that is made till then stays
    if hasattr(config, "workerinput"):
        take_own_mounts()
    else:
        installed = Path(pytest.__file__).parents[1]
        for folder in (Path(verdigris.__file__).parent, *(installed / name for name in LOADED_BY_RUNS)):
            compileall.compile_dir(folder, quiet=2)
        if config.getoption("numprocesses", 0):
            rewrite_tests(config)
            move_temporary_files_into_memory()
        share_patterns()  # now: a test may move the temporary folder while it runs


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: each waits now and then, for a disk, a lock or a time limit."""
    return (os.cpu_count() or 1) + 2


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """To load every file took a fifth of `make quick`: those without a quick test are left alone."""
    if (
        config.getoption("markexpr") != "quick"
        or collection_path.suffix != ".py"
        or _is_quick(collection_path)
    ):
        return None
    return "mark.quick" not in collection_path.read_text(encoding="utf-8") or None


def _is_quick(path: Path) -> bool:
    return path.is_relative_to(HERE) and str(path.relative_to(HERE)).startswith(QUICK)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole folders are quick; the long tests begin first, so that no worker is left with one at the end."""
    for item in items:
        if _is_quick(item.path):
            item.add_marker("quick")
    items.sort(key=lambda item: "slow" not in item.keywords)
    _draw_constants_of_our_source_alone()


def _draw_constants_of_our_source_alone() -> None:
    """Hypothesis tries constants of all local modules; to find and read those of the tests took a second."""
    providers: Any = sys.modules.get("hypothesis.internal.conjecture.providers")
    if providers is not None:
        ours = str(Path(verdigris.__file__).parent)
        providers.is_local_module_file = lambda path: path.startswith(ours)


def pytest_collection_finish() -> None:
    """Nor need a worker and its many forks look as often as usual through what is made later for garbage."""
    settle_memory()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """One line for each reason: what was not tried on this machine, and why."""
    skipped = terminalreporter.getreports("skipped")
    reasons = Counter(_reason(report) for report in skipped)
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"not tried: {count} {'test' if count == 1 else 'tests'}: {reason}")


def _reason(report: pytest.TestReport) -> str:
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return " ".join(said.removeprefix("Skipped: ").split())


def pytest_unconfigure() -> None:
    forget_patterns()
    end_warm_runs()


@pytest.fixture(scope="module", autouse=True)
def forked_runs(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a run finds is the matter of most tests, not that its interpreter starts anew."""
    place = str(request.path.relative_to(HERE))
    with nullcontext() if place.startswith(COLD) else warm_runs(verdicts=not place.startswith(AS_FOR_USERS)):
        yield


@pytest.fixture
def as_for_users() -> Iterator[None]:
    """One test in which each verdict starts its own interpreter."""
    with warm_runs(verdicts=False):
        yield


@pytest.fixture(scope="session", autouse=True)
def lean_runs() -> None:
    """The plugins of this suite are no matter of the projects under test; to load them took most of a run.

    Set here and not above: a worker that found it when it starts would have none of its own.
    """
    os.environ[LEAN] = "1"


@pytest.fixture(autouse=True)
def draws() -> Iterator[None]:
    with same_draws():
        yield


@pytest.fixture
def remembered_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For what is not about running tests: a run that was made in this session is not made again."""
    with same_runs(shared_reports(tmp_path_factory)):
        yield


@pytest.fixture
def recorded_tools(request: pytest.FixtureRequest) -> Iterator[None]:
    """For what is not about running tests: how the tool ended is read from the test's file."""
    with recorded_processes(_recording(request)):
        yield


@pytest.fixture
def compared_tools(request: pytest.FixtureRequest) -> Iterator[None]:
    """One test of a kind in which the tools are started, and must end as its file says."""
    with compared_processes(_recording(request)):
        yield


def _recording(request: pytest.FixtureRequest) -> str:
    return f"{request.path.stem}.{request.node.name}"
