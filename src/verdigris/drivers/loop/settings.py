"""The loop's section of `tdd.yaml`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from verdigris.core.roles import names_of
from verdigris.core.settings import ConcernRule, DriverSettings
from verdigris.core.value import value
from verdigris.storage.config import load_driver
from verdigris.storage.config.drivers import DriverSection, Positive, driver_values

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.config.file import Places


@value
class LoopSettings(DriverSettings):
    memory: str = "memory/autoloop"
    """The branch of the state files."""
    remote: str = "origin"
    """The remote that branches are pushed to, if it exists; empty: none."""
    base: str = ""
    """The branch that programs build on; empty: the remote's default branch, else the current one."""
    ci: str = ""
    """The command that accepts a commit; `gh`: the checks of the remote; empty: none."""
    ci_minutes: int = 60
    attempts: int = 5
    """Attempts to make a pinned test pass, those after a rethink included."""
    picks: int = 4
    """How many new tests may pass at once before the iteration ends."""
    prompt_tokens: int = 24_000
    share: tuple[str, ...] = ()
    """Ignored paths that are linked into the private worktree, besides the usual environments."""
    refactor_files: int = 8
    refactor_lines: int = 400
    coverage_guard: bool = True
    expected_literals: ConcernRule = "block"
    tests_per_step: int = 1


_DEFAULT = LoopSettings()


class LoopKeys(msgspec.Struct, forbid_unknown_fields=True):
    memory: Annotated[str, msgspec.Meta(min_length=1)] = _DEFAULT.memory
    remote: str = _DEFAULT.remote
    base: str = _DEFAULT.base
    ci: str = _DEFAULT.ci
    ci_minutes: Positive = _DEFAULT.ci_minutes
    attempts: Annotated[int, msgspec.Meta(ge=5)] = _DEFAULT.attempts
    picks: Positive = _DEFAULT.picks
    prompt_tokens: Annotated[int, msgspec.Meta(ge=3000)] = _DEFAULT.prompt_tokens
    share: tuple[str, ...] = _DEFAULT.share


def loop_settings(said: LoopKeys, shared: DriverSettings, _: Places) -> LoopSettings:
    return LoopSettings(**driver_values(said, shared))


SECTION = DriverSection(
    "loop",
    LoopKeys,
    loop_settings,
    roles=names_of("loop"),
    teams=(names_of("loop", "tester", "coder", "refactorer"), names_of("loop", "optimizer")),
)


def load_loop(root: Path) -> LoopSettings:
    return load_driver(root, SECTION)
