"""`Tracing`: what a verdict needs from a language whose interpreter runs our reporter.

The reporter records which lines a run executes, and it can run tests with other texts in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from verdigris.core.value import field, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.core.reuse.facts import ModuleDelta, ModuleWords
    from verdigris.languages.findings import TestText
    from verdigris.languages.literals import Chance


class Tracing(Protocol):
    # -- lines -----------------------------------------------------------------------------------------------

    def added_lines(
        self, before: Mapping[str, str], after: Mapping[str, str]
    ) -> Mapping[str, frozenset[int]]:
        """Maps paths to the first lines of new statements; what was renamed, moved or reflowed is not new."""
        ...

    def idle_lines(
        self, text: str, added: frozenset[int], executed: frozenset[int]
    ) -> Iterable[tuple[int, int]]:
        """First and last line of the added statements that did not run, neighbours joined."""
        ...

    def failing_at(self, text: str, line: int) -> str | None:
        """The text with a statement before this line that fails; None if none can stand there."""
        ...

    def function_lines(self, text: str) -> frozenset[int]:
        """Lines in the bodies of functions: all others run when the file is loaded."""
        ...

    def assertion_lines(self, test: TestText) -> tuple[tuple[str, int], ...]:
        """Path and line of the assertions in the test's own function."""
        ...

    # -- which results hold after a change -------------------------------------------------------------------

    def compare_modules(self, before: str, after: str) -> ModuleDelta | None:
        """How two texts of a module differ for its users; None if that cannot be determined."""
        ...

    def module_words(self, text: str) -> ModuleWords | None:
        """The words in each function; None if that cannot be determined."""
        ...

    def name_lines(self, text: str, lines: Iterable[int]) -> dict[int, str] | None:
        """The function that each line belongs to, empty for none; None if that cannot be determined."""
        ...

    # -- changed assertions ----------------------------------------------------------------------------------

    def affected_tests(
        self,
        passed: Iterable[str],
        tests: Mapping[str, str],
        before: Mapping[str, str],
        after: Mapping[str, str],
        random: Chance,
    ) -> tuple[str, ...]:
        """Test functions that a change of source may affect, the likeliest first.

        `passed`: native ids. `tests`: texts of test files. `before`, `after`: changed source, all by path.
        """
        ...

    def plan_probes(
        self, texts: Mapping[str, str], asked: Iterable[str], random: Chance, most: int, few: int
    ) -> ProbePlan:
        """Plans variants of the test files with changed assertions; see `ProbePlan`.

        `texts`: every test file that a run loads, by path. `asked`: native ids; cases do not matter.
        `most`: the limit of variants; `few`: the limit for variants that change an assertion once more.
        """
        ...

    def plan_reaching(
        self, texts: Mapping[str, str], asked: Iterable[str], suspects: Iterable[TracedProbe]
    ) -> ProbePlan:
        """Plans a failure after each suspect assertion, to see if it is reached and its failure noticed."""
        ...

    # -- source that tests assert with -----------------------------------------------------------------------

    def find_shared(
        self, tests: Mapping[str, str], sources: Mapping[str, str], claimed: Iterable[str] | None
    ) -> tuple[SharedOracle, ...]:
        """Finds source that tests assert with, or from which they take expected values.

        `claimed`: native ids of the tests to read; None for all tests.
        """
        ...

    def judge_shared(
        self, before: Mapping[str, str], after: Mapping[str, str], shared: Iterable[SharedOracle]
    ) -> SharedLosses:
        """Judges which of these assertions and expected values a change of source weakens; texts by path."""
        ...

    def idle_assertions(
        self, sources: Mapping[str, str], shared: Iterable[SharedOracle], ran: Mapping[str, frozenset[int]]
    ) -> tuple[str, ...]:
        """Lists functions that tests assert with and whose assertions did not run. `ran`: lines by path."""
        ...


@value
class TracedProbe:
    """One assertion, changed so that honest code fails it."""

    path: str
    line: int
    what: str
    functions: tuple[str, ...]
    """Tests, as `path::TestA::test_x`, that contain or call the assertion: each must fail."""
    lines: tuple[int, int]
    """First and last line in the changed text; a failure on other lines says nothing about this probe."""
    guarded: frozenset[str] = frozenset()
    """The tests that may rightly pass: they may not reach the assertion, or they catch its failure."""
    group: int = 0
    """Honest code may pass some probes of a group other than 0 by chance, but never all of them."""


@value
class Variant:
    texts: Mapping[str, str]
    """Every file that some variant changes, by path. Each test has at most one changed assertion."""
    probes: tuple[TracedProbe, ...]


@value
class ProbePlan:
    truth: Mapping[str, str] = field(default_factory=dict)
    """The true texts of the files that some variant changes."""
    variants: tuple[Variant, ...] = ()
    unreached: tuple[str, ...] = ()
    """Tests without an assertion that can be changed, each with the reason."""
    totals: Mapping[str, int] = field(default_factory=dict)
    """The number of changes of each test, with those that no variant has room for."""


@value
class RunSet:
    """The runs of a plan in the order in which they are carried out."""

    members: tuple[Variant, ...]
    truth: int
    """The position of the run with the true texts."""
    totals: Mapping[str, int] = field(default_factory=dict)


def shuffle_runs(made: ProbePlan, random: Chance) -> RunSet:
    """Puts all runs in random order, so that the code under test cannot tell which has the true texts."""
    members = [Variant(made.truth, ()), *made.variants]
    order = random.sample(range(len(members)), len(members))
    return RunSet(tuple(members[number] for number in order), order.index(0), made.totals)


@value
class SharedOracle:
    """Source that a test asserts with, or from which it takes an expected value."""

    path: str
    name: str
    """The qualified name, e.g. `Checked::check`."""
    line: int
    kind: Literal["assertion", "expectation"]
    test: str
    """The id of one of the tests that use it."""

    def __str__(self) -> str:
        use = "asserts with it" if self.kind == "assertion" else "takes what it expects from it"
        name = self.name.replace("::", ".")
        return (
            f"{self.path}:{self.line}: {name} is source, and {self.test} {use};"
            f" a person freezes it with `oracle: {{include: [{self.path}]}}` in tdd.yaml"
        )


@value
class SharedLosses:
    blocking: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
