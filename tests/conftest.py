"""Hooks and fixtures of the suite: which tests are quick, which runs are forked, which are recorded."""

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
from support.kept_tools import leave_out_certificates
from support.memory_disk import move_temporary_files_into_memory, take_own_mounts
from support.recorded_processes import FOLDER, RECORD, compared_processes, recorded_processes
from support.rewriting import rewrite_tests
from support.sameruns import same_runs, shared_reports
from support.warm_runs import end_warm_runs, warm_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.terminal import TerminalReporter


HERE = Path(__file__).parent
QUICK = ("core/", "languages/", "models/", "storage/log/", "views/")
"""Folders whose tests run no project. Elsewhere a test file marks its quick tests itself."""
COLD = ("execution/", "redteam/", "runners/", "sandbox/")
"""Folders whose tests are about how tests are run: there each run in a room starts its own interpreter."""
AS_FOR_USERS = ("e2e/test_shapes", "e2e/test_upgrade")
"""Test files in which each verdict starts its own interpreter, as it does for users."""
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
"""Installed packages that our processes, and those of the projects under test, load again and again."""


def _tell_where_rust_lives() -> None:
    """Tests change HOME, so rustup would not find its toolchains: they lie in the user's real home."""
    toolchains = Path(pwd.getpwuid(os.getuid()).pw_dir, ".rustup")
    if toolchains.is_dir():
        os.environ.setdefault("RUSTUP_HOME", str(toolchains))


def _hear_interrupts() -> None:
    """Stop ignoring interrupts: a shell's `&` and `nohup` make us, and every process that we start, ignore
    them.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


os.environ["VERDIGRIS_WARM"] = "0"
_hear_interrupts()
_tell_where_rust_lives()
leave_out_certificates()
# The suite's own modules are rewritten once, not once a worker and a run.
sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    """Compile our modules and pytest's once.

    A process in a room throws its bytecode away with the room, so without this each run compiles them again:
    that took half of a short run.
    """
    gc.disable()  # nearly every object that is made before the end of collection stays
    if hasattr(config, "workerinput"):
        take_own_mounts()
    else:
        installed = Path(pytest.__file__).parents[1]
        for folder in (Path(verdigris.__file__).parent, *(installed / name for name in LOADED_BY_RUNS)):
            compileall.compile_dir(folder, quiet=2)
        if config.getoption("numprocesses", 0):
            rewrite_tests(config)
            move_temporary_files_into_memory()
        share_patterns()  # here, because a test may change the temporary folder while it runs


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: workers wait now and then, for a disk, a lock or a time limit."""
    return (os.cpu_count() or 1) + 2


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip files without a quick test in `make quick`: to load every file took a fifth of its time."""
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
    """Mark whole folders as quick, and start slow tests first, so that no worker ends with one."""
    for item in items:
        if _is_quick(item.path):
            item.add_marker("quick")
    items.sort(key=lambda item: "slow" not in item.keywords)
    _draw_constants_of_our_source_alone()


def _draw_constants_of_our_source_alone() -> None:
    """Let Hypothesis read constants from our source only: to read those of the tests took a second."""
    providers: Any = sys.modules.get("hypothesis.internal.conjecture.providers")
    if providers is not None:
        ours = str(Path(verdigris.__file__).parent)
        providers.is_local_module_file = lambda path: path.startswith(ours)


def pytest_collection_finish() -> None:
    """Collect garbage less often than usual: each worker forks thousands of times."""
    settle_memory()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print one line for each reason why tests were skipped on this machine."""
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
    """Outside COLD, run tests in forks: most tests are about the result of a run, not about its start."""
    place = str(request.path.relative_to(HERE))
    with nullcontext() if place.startswith(COLD) else warm_runs(verdicts=not place.startswith(AS_FOR_USERS)):
        yield


@pytest.fixture
def as_for_users() -> Iterator[None]:
    """For one test: each verdict starts its own interpreter."""
    with warm_runs(verdicts=False):
        yield


@pytest.fixture(scope="session", autouse=True)
def lean_runs() -> None:
    """Keep the plugins of this suite out of the projects under test: to load them took most of a run.

    It is set here and not at import: a worker that finds the variable when it starts would have no plugins.
    """
    os.environ[LEAN] = "1"


@pytest.fixture(autouse=True)
def draws() -> Iterator[None]:
    with same_draws():
        yield


@pytest.fixture
def remembered_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For tests that are not about running tests: each distinct run is made once in a session."""
    with same_runs(shared_reports(tmp_path_factory)):
        yield


@pytest.fixture
def recorded_tools(request: pytest.FixtureRequest) -> Iterator[None]:
    """For tests that are not about running tests: the tool's results are read from a recording."""
    with recorded_processes(_recording(request)):
        yield


@pytest.fixture
def compared_tools(request: pytest.FixtureRequest) -> Iterator[None]:
    """For one test of each kind: the tools are started, and must end as the recording says."""
    with (recorded_processes if os.environ.get(RECORD) else compared_processes)(_recording(request)):
        yield


def _recording(request: pytest.FixtureRequest) -> Path:
    return FOLDER / f"{request.path.stem}.{request.node.name}.json"
