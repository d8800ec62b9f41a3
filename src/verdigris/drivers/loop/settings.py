"""The loop's section of `tdd.yaml`."""

from __future__ import annotations

from pathlib import Path

from verdigris.core.roles import names_of
from verdigris.core.settings import ConcernRule, DriverSettings, key, section
from verdigris.storage.config import load_driver
from verdigris.storage.config.drivers import DriverSection

_FIXED = ("refactor_files", "refactor_lines", "coverage_guard", "expected_literals", "tests_per_step")


@section("loop", apart=_FIXED)
class LoopSettings(DriverSettings):
    memory: str = key(default="memory/autoloop", of="branch", least=1)
    """The branch of the programs' state files. This and the keys below: [loop.md](loop.md)."""
    remote: str = key(default="origin", of="name")
    """The remote to which the program's branch and the state files are pushed, if it exists. Empty: none."""
    base: str = key(default="", of="branch", shown="the remote's own, else HEAD's")
    """The branch that programs build on."""
    ci: str = key(default="", of="command, `gh`", shown="none")
    """The command that accepts each commit. `gh`: the remote's own checks."""
    ci_minutes: int = key(default=60, least=1)
    """How long to wait for it."""
    attempts: int = key(default=5, least=5)
    """Attempts to make a pinned test pass before it is blocked. The fourth rethinks the test."""
    picks: int = key(default=4, least=1)
    """Tests of one iteration that may pass at once before it ends."""
    prompt_tokens: int = key(default=24_000, least=3000)
    """The most that a prompt may hold of program and files."""
    share: tuple[str, ...] = key(default=(), of="list of paths")
    """Ignored paths that the private worktree needs too."""
    refactor_files: int = 8
    refactor_lines: int = 400
    coverage_guard: bool = True
    expected_literals: ConcernRule = "block"
    tests_per_step: int = 1


SECTION = DriverSection(
    "loop",
    LoopSettings,
    roles=names_of("loop"),
    teams=(names_of("loop", "tester", "coder", "refactorer"), names_of("loop", "optimizer")),
)


def load_loop(root: Path) -> LoopSettings:
    return load_driver(root, SECTION)
