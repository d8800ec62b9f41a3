"""The settings of `tdd.yaml` with their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from verdigris.core.languages import DEFAULT_LANGUAGE, runners_of
from verdigris.core.value import field, value

if TYPE_CHECKING:
    from collections.abc import Mapping


RedRule = Literal["behaviour", "assertion"]
ClaimRule = Literal["implied", "strict"]
ConcernRule = Literal["record", "block"]
UncoveredRule = Literal["record", "block"]
Network = Literal["none", "loopback", "host"]
JUnitErrors = Literal["call", "setup"]


@value
class JUnit:
    """A tool that writes JUnit XML: what its preset (`runners/junit/`) does not say, or says otherwise."""

    preset: str = ""
    """The name of a preset, or none."""
    command: tuple[str, ...] = ()
    everything: tuple[str, ...] = ()
    item: str | None = None
    join: str | None = None
    escape: bool | None = None
    reports: tuple[str, ...] = ()
    pattern: str | None = None
    path: str | None = None
    source: str | None = None
    build_error: str | None = None
    errors: JUnitErrors | None = None


@value
class Stack:
    root: str = "."
    """Folder of the stack, relative to the worktree's root."""
    language: str = DEFAULT_LANGUAGE
    runner: str = runners_of(DEFAULT_LANGUAGE)[0]
    python: str | None = None
    """The user's interpreter; found when not given."""
    test: tuple[str, ...] = ()
    """Globs of test files, helpers and data, relative to `root`; added to what is detected."""
    source: tuple[str, ...] = ()
    """Source roots or globs, relative to `root`; detected when empty."""
    generated: tuple[str, ...] = ()
    """Globs of files that are not protected."""
    suite: tuple[str, ...] = ()
    """The ids, paths or `-m MARK` that acceptance runs; all when empty."""
    test_command: tuple[str, ...] = ()
    """Extra arguments given to the runner on every run."""
    test_command_for: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Test id or glob (from `root`) → the words of a command that wins over the runner.

    `{args}` stands for the runner's own arguments (its reporter and the selection), `{report}` for a folder
    into which the command writes JUnit XML; one of the two is needed: an exit code alone proves nothing.
    """
    junit: JUnit | None = None
    """For `runner: junit`."""
    check: str | None = None
    """Linter, run at settlement from `root`."""
    verify: str | None = None
    """A command that `refactor end` runs in addition to the suite."""
    format: str | None = None
    """Formatter, given the turn's changed source files."""


@value
class Bounds:
    """Where a program of the loop may write, whatever the phase allows: regular expressions of paths."""

    program: str = ""
    measuring: str = ""
    """Closed, since it measures the program: the evaluator, its data, the program itself."""
    closed: str = ""
    """Closed, since the program says so."""
    targets: str = ""
    """Open in addition to tests; if empty, everything else is."""
    tests: bool = True
    """Whether tests may be written that are no targets."""
    held_out: tuple[str, ...] = ()
    """Paths and globs of inputs that are hidden from every run except the one that measures with them."""


@value
class Settings:
    stacks: tuple[Stack, ...] = (Stack(),)
    red: RedRule = "behaviour"
    claims: ClaimRule = "implied"
    strikes: int = 2
    spec: tuple[str, ...] = ()
    """Globs of specification files."""
    oracle_include: tuple[str, ...] = ()
    """Data inside the source tree that the tests read: frozen with them."""
    oracle_exclude: tuple[str, ...] = ()
    """Files that tests read and that stay writable: documents that are tested themselves."""
    timeout: int = 600
    """Seconds one test run may take (`room.timeout`)."""
    test_timeout: int = 60
    """Seconds that one test of it may take (`room.test_timeout`)."""
    room_env: tuple[str, ...] = ()
    """`NAME`, passed on if it is set, or `NAME=VALUE` (`room.env`)."""
    room_network: Network = "loopback"
    """No network, a private one, or the machine's (`room.network`)."""
    room_git: bool = False
    """Whether a run finds the repository's git folder (`room.git`)."""
    room_plugins: tuple[str, ...] | None = None
    """The plugins that the runner loads; None: all that are installed (`room.plugins`)."""
    sandbox_write: tuple[str, ...] = ()
    """Paths that an agent's shell may write besides worktree, temporary folders, caches (`sandbox.write`)."""
    concerns: ConcernRule = "record"
    """Whether a concern about the source refuses a settlement; some always do."""
    liveness: bool = True
    """Whether a settlement checks that the claimed tests' assertions are live (`liveness.enabled`)."""
    liveness_seconds: int = 60
    """The time limit of that check (`liveness.seconds`)."""
    uncovered: UncoveredRule = "record"
    """Whether a changed line that no claimed test executes refuses a settlement."""
    warm: bool = True
    """Whether test tools stay loaded between runs of `tdd test`; verdicts are made by fresh processes."""
    agents: tuple[str, ...] = ()
    """The coding agents whose hooks `tdd init` sets up."""
    bounds: Bounds | None = None
    """No key of tdd.yaml: the loop sets them while it runs a program."""


Squash = Literal["step", "cycle"]
"""Whether red, green and refactor become one commit."""

HUMAN = "human"
REPLAY = "replay:"
"""Before the name of a recorded conversation."""


@value
class Prices:
    """The price of a million tokens, in any currency."""

    input: float
    output: float
    cached: float | None = None
    """None: as `input`."""


@value
class ModelSettings:
    """A model's server and parameters; empty or None: the provider's default."""

    base_url: str = ""
    api_key_env: str = ""
    """The name of the variable; its value stands only in the environment."""
    temperature: float | None = None
    timeout: float | None = None
    """Seconds that the server may be silent."""
    max_tokens: int | None = None
    prices: Prices | None = None
    """None: unknown."""


AS_USUAL = ModelSettings()


@value
class Player:
    """The one who plays a role: a model, a person or a recording."""

    model: str = ""
    """`provider:name`, a name that `llm.base_url` serves, `human`, or `replay:FILE`."""
    served: ModelSettings = AS_USUAL

    @property
    def human(self) -> bool:
        return self.model == HUMAN

    @property
    def replayed(self) -> str | None:
        """The file of the recording that answers for it; None if it is no recording."""
        return self.model.removeprefix(REPLAY) if self.model.startswith(REPLAY) else None


@value
class DriverSettings:
    """The settings that all drivers share; each driver has a subclass with its own."""

    roles: Mapping[str, Player] = field(default_factory=dict)
    llm: ModelSettings = AS_USUAL
    author_name: str = "TDD Machine"
    author_email: str = "tdd-machine@localhost"
    squash: Squash = "step"
    """`cycle`: red, green and refactor become one commit (`commit.squash`)."""
    tokens: int = 0
    """The most that one run may use; 0: no limit (`budget.tokens`)."""

    def player(self, role: str) -> Player:
        return self.roles.get(role, Player())

    @property
    def prices(self) -> Mapping[str, Prices]:
        """Lists prices by role, of those whose model has one."""
        by_role = {role: player.served.prices or self.llm.prices for role, player in self.roles.items()}
        return {role: prices for role, prices in by_role.items() if prices is not None}

    @property
    def unpriced_roles(self) -> tuple[str, ...]:
        """Roles whose model has no price in `tdd.yaml`."""
        played = (role for role, player in self.roles.items() if player.model and not player.human)
        return tuple(role for role in played if role not in self.prices)


@value
class MachineSettings(DriverSettings):
    kata: str = "kata.md"
    """From the worktree's root (`machine.kata_description`)."""
    steps: int = 20
    attempts: int = 5
    """Of one role at one step (`machine.max_attempts_per_agent`)."""
    sandbox: bool = True
    """Work in a private worktree; not where a person plays a role."""
    refactor_files: int = 8
    """The most files that one refactor may touch."""
    refactor_lines: int = 400
    """The most lines that it may add and take away, together."""
    coverage_guard: bool = True
    """Refuse a refactor that leaves more of the source unexecuted than it found."""
    share: tuple[str, ...] = ()
    """Ignored paths that the private worktree needs too, besides the usual environments."""
    prompt_tokens: int = 24_000
    """The most that a prompt may hold of kata, files and history."""
    uncovered: UncoveredRule = "block"
    """Whether new source lines that no test runs refuse an implementor's step."""
    expected_literals: ConcernRule = "block"
    """Whether source that looks up what the tests expect refuses it."""
    tests_per_step: int = 1
    """New test functions of one tester's step; the cases of a parametrised one count as one."""
    test_seconds: int = 60
    """The time that one step may add to the suite; a test that hangs is stopped then."""
