"""The settings of `tdd.yaml`. Each field of a `section` is a key of the file, and this is its only place.

The parser (`storage/config/`), the file that `tdd init` writes and the table of `docs/configuration.md` are
made from these fields: name, type and default are the field's, the sentence for people is its docstring.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, dataclass_transform

from verdigris.core.languages import DEFAULT_LANGUAGE, runners_of
from verdigris.core.surroundings import Part
from verdigris.core.value import field, replace, value

if TYPE_CHECKING:
    T = TypeVar("T")


@value
class Key:
    default: Any
    """Ellipsis: the key has to be given."""
    name: str = ""
    """In the file, with its section: `room.timeout`; empty: that of the field."""
    of: str = ""
    """The type in words, by which the parser finds its reader; empty: the annotation decides."""
    shown: str = ""
    """The default in words, if its value says too little."""
    least: float | None = None
    """The least number, or length."""


if TYPE_CHECKING:

    def key(
        *, default: T, name: str = "", of: str = "", shown: str = "", least: float | None = None
    ) -> T: ...

else:
    key = Key


@dataclass_transform(frozen_default=True, field_specifiers=(field, key))
def section(name: str = "", *, apart: tuple[str, ...] = ()) -> Callable[[type[T]], type[T]]:
    """A class of values whose fields are the keys of a section of the file, other than those `apart`."""

    def declare(cls: type[T]) -> type[T]:
        given = {at: one for at, one in vars(cls).items() if type(one) is Key}
        cls.__section__ = (name, apart, given)  # type: ignore[attr-defined]
        for at, one in given.items():
            setattr(cls, at, one.default)
        return value(cls)

    return declare


def keys_of(kind: type) -> dict[str, Key]:
    """The keys by field; those of the classes above it first."""
    keys: dict[str, Key] = {}
    for base in reversed(kind.__mro__):
        name, apart, given = vars(base).get("__section__", ("", None, {}))
        for at in () if apart is None else base.__annotations__:
            if at not in apart:
                one = given.get(at) or Key(vars(base).get(at, ...))
                keys[at] = replace(one, name=one.name or (f"{name}.{at}" if name else at))
    return keys


RedRule = Literal["behaviour", "assertion"]
ClaimRule = Literal["implied", "strict"]
ConcernRule = Literal["record", "block"]
UncoveredRule = Literal["record", "block"]
OwedRule = Literal["record", "settle"]
Network = Literal["none", "loopback", "host"]
JUnitErrors = Literal["call", "setup"]
Squash = Literal["step", "cycle"]
"""Whether red, green and refactor become one commit."""

_WORDS = "list, or one line of words"
_GLOBS = "list of globs"
_NONE: tuple[str, ...] = ()


@section()
class JUnit:
    """A tool that writes JUnit XML: what its preset (`runners/junit/`) does not say, or says otherwise."""

    preset: str = key(default="", of="`surefire`, `phpunit`, `rspec`", shown="none")
    """For `runner: junit`: a known tool. The keys below replace single parts of it."""
    command: tuple[str, ...] = key(default=_NONE, of=_WORDS, shown="of the preset")
    """The command for chosen tests. `{ids}`, `{paths}`, `{names}` are the tests, `{report}` an empty folder
    for the reports.
    """
    everything: tuple[str, ...] = key(default=_NONE, of=_WORDS, shown="`command` without the tests")
    """The command for all tests."""
    item: str | None = key(default=None, shown="`{id}`")
    """One test of `{ids}`, written with `{id}`, `{path}`, `{classname}`, `{class}`, `{name}`."""
    join: str | None = key(default=None, shown="`,`")
    """Between the tests, where they are part of a longer argument."""
    escape: bool | None = key(default=None, shown="`false`")
    """Whether the parts of `item` are escaped as in a regular expression."""
    reports: tuple[str, ...] = key(default=_NONE, of=_GLOBS)
    """Where the tool writes its reports, if it cannot write them to `{report}`."""
    pattern: str | None = key(default=None, of="regular expression", shown="the class without inner ones")
    """Matched against the class name of a case that names no file."""
    path: str | None = None
    """The file of such a case, with `{class}` or another group of `pattern`."""
    source: str | None = None
    """Where another class of the project lies, with `{package}` and `{file}`: it separates errors in source
    from errors in tests.
    """
    build_error: str | None = key(default=None, of="regular expression")
    """Finds compile errors in the output, by its groups `path`, `line`, `message`."""
    errors: JUnitErrors | None = key(default=None, shown="`call`")
    """Whether `<error>` means an exception in the test or before and after it."""


@section()
class Stack:
    root: str = key(default=".", of="folder")
    """Where the stack lives; its runner starts there, and its other paths are relative to it."""
    language: str = key(default=DEFAULT_LANGUAGE, of="see below")
    """The language of its source. Two stacks may share a root if their languages differ."""
    runner: str = key(default=runners_of(DEFAULT_LANGUAGE)[0], of="see below", shown="by language")
    """The test tool."""
    python: str | None = key(default=None, shown="found")
    """The interpreter; else a project environment that runs, `VIRTUAL_ENV`, or `PATH`."""
    test: tuple[str, ...] = key(default=_NONE, of=_GLOBS)
    """Tests, helpers and data besides the usual ones."""
    source: tuple[str, ...] = key(default=_NONE, of="list of folders or globs", shown="found")
    """Where source is. Replaces what would be found."""
    generated: tuple[str, ...] = key(default=_NONE, of=_GLOBS)
    """Files that are not protected: always writable."""
    suite: tuple[str, ...] = key(default=_NONE, of="list of text", shown="all")
    """Ids, paths, or `-m MARK`, that acceptance runs."""
    test_command: tuple[str, ...] = key(default=_NONE, of=_WORDS)
    """More arguments for every run of the runner."""
    test_command_for: tuple[tuple[str, tuple[str, ...]], ...] = key(
        default=(), of="mapping of test id or glob → command", shown="`{}`"
    )
    """A command that wins over the runner for some tests. See below."""
    junit: JUnit | None = None
    check: str | None = key(default=None, of="command")
    """Linter that a settlement must pass."""
    verify: str | None = key(default=None, of="command")
    """A command that `tdd refactor end` runs in addition to the suite."""
    format: str | None = key(default=None, of="command")
    """Formatter; it is given the source files that the turn changed."""


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


@section(apart=("bounds",))
class Settings:
    stacks: tuple[Stack, ...] = key(
        default=(Stack(),), of="list, at least one", least=1, shown="one stack at `.`"
    )
    """The parts of the project that have their own tests."""
    red: RedRule = "behaviour"
    """What counts as red: also wrong behaviour of the source, or only failed assertions."""
    claims: ClaimRule = "implied"
    """A source edit outside the targets joins the open claims, or is refused."""
    strikes: int = key(default=2, least=1)
    """Failed settlements of one red before the edits are set aside."""
    spec: tuple[str, ...] = key(default=_NONE, of=_GLOBS)
    """Specification files."""
    oracle_include: tuple[str, ...] = key(default=_NONE, name="oracle.include", of=_GLOBS)
    """Files in the source tree that belong to the tests: data that they read, functions that they assert
    with, tables of expected values. Frozen with the tests.
    """
    oracle_exclude: tuple[str, ...] = key(default=_NONE, name="oracle.exclude", of=_GLOBS)
    """Files that tests read and that stay writable, such as documents that are tested: a claim does not
    freeze them.
    """
    timeout: int = key(default=600, name="room.timeout", of="seconds", least=1)
    """How long one test run may take."""
    test_timeout: int = key(default=60, name="room.test_timeout", of="seconds", least=1)
    """How long one test may take: then it is stopped, and fails where it is ([what each tool
    does](runners.md#which-failures-verdigris-distinguishes)). Stopped inside source, it is a valid red (a
    loop that never ends). Each further test of the same run that does not end gets half as long, 5
    seconds at least. A test with an alarm of its own, as pytest-timeout sets, keeps that.
    """
    room_env: tuple[str, ...] = key(
        default=_NONE, name="room.env", of="list of `NAME` or `NAME=VALUE`, or a mapping"
    )
    """Variables that a run gets in addition to the usual ones: passed on if they are set, or with this
    value. See below.
    """
    room_network: Network = key(default="loopback", name="room.network")
    """What a run can reach: nothing; servers that the tests start themselves; or the machine's network, for
    a database on localhost.
    """
    room_git: bool = key(default=False, name="room.git")
    """Whether a run finds the repository's git folder. By default it is empty there: old commits hold tests
    and their answers. With `true` every verdict says so.
    """
    room_same: tuple[Part, ...] = key(default=(), name="room.same")
    """Surroundings on which tests may depend: some runs of a verdict have others, unless they are named here.
    See below.
    """
    room_plugins: tuple[str, ...] | None = key(
        default=None, name="room.plugins", of="list of names", shown="all that are installed"
    )
    """Plugins that the runner loads, by the names that `pytest -p` takes, instead of all that the
    interpreter has; `[]` is none.
    """
    sandbox_write: tuple[str, ...] = key(
        default=_NONE, name="sandbox.write", of="list of paths, absolute or from `~/`"
    )
    """Paths that an agent's shell may write besides the worktree, temporary folders and caches: see [the
    sandbox](sandbox.md). A missing folder is made. It may not hold the worktree, the home or `.git/tdd`.
    """
    concerns: ConcernRule = "record"
    """Whether a concern about the source diff refuses a settlement (verdict `hollow`). Some always do: no
    honest change imports test modules, or checks whether tests run.
    """
    liveness: bool = key(default=True, name="liveness.enabled")
    """Whether a verdict runs the claimed tests, and some that the change affects, with changed assertions,
    to see them fail.
    """
    liveness_seconds: int = key(default=60, name="liveness.seconds", of="seconds", least=1)
    """The time limit of those runs. Assertions that do not fit are listed as a concern; if no run of a
    claimed test ended, the verdict is `broken`, unless the test was as slow when it was red.
    """
    uncovered: UncoveredRule = "block"
    """Whether new code that no test runs refuses the settlement (verdict `hollow`, the reason names file and
    line), or is recorded as a concern. A person accepts it once with `tdd settle --owe`.
    """
    owed: OwedRule = "settle"
    """What becomes of a decision in accepted code that no test notices: an agent's session does not end
    before a test notices it or it is gone, or it is only recorded. People are told, and never kept.
    """
    warm: bool = True
    """Whether a test tool stays loaded between runs of `tdd test`, in the sandbox, until it has been idle
    for ten minutes. Verdicts always use fresh processes.
    """
    agents: tuple[str, ...] = key(default=_NONE, of="list of names of agents")
    """The coding agents whose hooks `tdd init` sets up."""
    bounds: Bounds | None = None
    """No key of tdd.yaml: the loop sets them while it runs a program."""


HUMAN = "human"
REPLAY = "replay:"
"""Before the name of a recorded conversation."""


@section()
class Prices:
    """The price of a million tokens, in any currency."""

    input: float
    output: float
    cached: float | None = None


@section()
class ModelSettings:
    """A model's server and parameters; empty or None: the provider's default."""

    base_url: str = key(default="", of="address", shown="the provider's")
    """An OpenAI-compatible server."""
    api_key_env: str = key(default="", of="name of a variable", shown="the provider's")
    """The environment variable that holds the key. A key itself is refused."""
    temperature: float | None = key(default=None, of="number from 0 to 2", shown="the server's")
    """How freely the model chooses its words."""
    timeout: float | None = key(default=None, of="seconds above 0", shown="`120`")
    """How long the server may be silent."""
    max_tokens: int | None = key(default=None, least=1, shown="the server's")
    """Of one answer."""
    prices: Prices | None = key(default=None, of="mapping of `input`, `output`, `cached`")
    """The price of a million tokens, in any currency: for limits of money and the reports of all drivers. A
    role may have its own; `cached` defaults to `input`.
    """


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


@section(apart=("roles",))
class DriverSettings:
    """The settings that all drivers share; each driver has a subclass with its own."""

    roles: Mapping[str, Player] = field(default_factory=dict)
    llm: ModelSettings = AS_USUAL
    author_name: str = key(default="TDD Machine", name="commit.author_name", least=1)
    """The author of the machine's commits."""
    author_email: str = key(default="tdd-machine@localhost", name="commit.author_email", least=1)
    """The same."""
    squash: Squash = key(default="step", name="commit.squash")
    """`cycle`: red, green and refactor become one commit that is green."""
    tokens: int = key(default=0, name="budget.tokens", least=0, shown="`0`: no limit")
    """The most that one `tdd run` may use."""

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


@section("machine")
class MachineSettings(DriverSettings):
    kata: str = key(default="kata.md", name="machine.kata_description", of="path")
    """What is to be built, from the worktree's root. This and the keys below: [machine.md](machine.md)."""
    steps: int = key(default=20, least=1)
    """How many steps `tdd run` makes."""
    attempts: int = key(default=5, name="machine.max_attempts_per_agent", least=1)
    """Attempts of one role at one step."""
    sandbox: bool | None = key(default=True, shown="`true`; `false` if a person plays a role")
    """Whether the machine works in a private worktree."""
    refactor_files: int = key(default=8, least=1)
    """The most files that one refactor may touch."""
    refactor_lines: int = key(default=400, least=1)
    """The most lines that one refactor may add and take away."""
    coverage_guard: bool = True
    """Refuse a refactor that leaves more of the source unexecuted."""
    uncovered: UncoveredRule = "block"
    """New source lines that no test runs refuse an implementor's step, or are noted."""
    expected_literals: ConcernRule = "block"
    """The same for source that looks up the values that tests expect."""
    tests_per_step: int = key(default=1, least=1)
    """New test functions of one tester's step; the cases of a parametrised one count as one."""
    test_seconds: int = key(default=60, least=1)
    """The time that a step's tests may add to the suite; a test that hangs is stopped then."""
    share: tuple[str, ...] = key(default=_NONE, of="list of paths")
    """Ignored paths that the private worktree needs besides environments."""
    prompt_tokens: int = key(default=24000, least=3000)
    """The most that a prompt may hold of kata, files and history."""
