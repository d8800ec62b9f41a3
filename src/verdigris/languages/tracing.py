"""`Tracing`: what a verdict asks of a language in whose interpreter our reporter runs.

Such a reporter tells which lines a run executes, and runs tests with other texts in memory.
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
        """`texts`: every test file that a run loads, by path. `asked`: native ids; cases do not matter.
        `most`: how many variants there may be; `few`: so many, where an assertion is changed more than once.
        """
        ...

    def plan_reaching(
        self, texts: Mapping[str, str], asked: Iterable[str], suspects: Iterable[TracedProbe]
    ) -> ProbePlan:
        """Plans a failure behind each of these assertions: is it reached, and its failure noticed?"""
        ...

    # -- source that tests assert with -----------------------------------------------------------------------

    def find_shared(
        self, tests: Mapping[str, str], sources: Mapping[str, str], claimed: Iterable[str] | None
    ) -> tuple[SharedOracle, ...]:
        """What the claimed tests (native ids), or all, take from source as assertion or expectation."""
        ...

    def judge_shared(
        self, before: Mapping[str, str], after: Mapping[str, str], shared: Iterable[SharedOracle]
    ) -> SharedLosses:
        """What was lost of assertions and expected values between two states of source, by path."""
        ...

    def idle_assertions(
        self, sources: Mapping[str, str], shared: Iterable[SharedOracle], ran: Mapping[str, frozenset[int]]
    ) -> tuple[str, ...]:
        """Functions that tests assert with, of which no assertion ran. `ran`: executed lines by path."""
        ...


@value
class TracedProbe:
    """One assertion, changed so that honest code fails it."""

    path: str
    line: int
    what: str
    functions: tuple[str, ...]
    """Tests, as `path::TestA::test_x`, that hold or call it: each must fail."""
    lines: tuple[int, int]
    """Where it stands in the changed text: a failure elsewhere says nothing about it."""
    guarded: frozenset[str] = frozenset()
    """Those that may rightly pass without it, where it is not reached or its failure is caught."""
    group: int = 0
    """Probes of one group other than 0 may be passed by chance, and never all of them."""


@value
class Variant:
    texts: Mapping[str, str]
    """Every file that any variant changes, by path; in each test at most one assertion is another."""
    probes: tuple[TracedProbe, ...]


@value
class ProbePlan:
    truth: Mapping[str, str] = field(default_factory=dict)
    """The true texts of the files that any variant changes."""
    variants: tuple[Variant, ...] = ()
    unreached: tuple[str, ...] = ()
    """Tests in which there is nothing to change, and why."""
    totals: Mapping[str, int] = field(default_factory=dict)
    """How many changes there are by test, those that no variant has room for too."""


@value
class RunSet:
    """The runs of a plan in the order in which they are made."""

    members: tuple[Variant, ...]
    truth: int
    """The place of the run with the true text."""
    totals: Mapping[str, int] = field(default_factory=dict)


def shuffle_runs(made: ProbePlan, random: Chance) -> RunSet:
    """All runs are alike and in random order, so that none can tell whether it has the true text."""
    members = [Variant(made.truth, ()), *made.variants]
    order = random.sample(range(len(members)), len(members))
    return RunSet(tuple(members[number] for number in order), order.index(0), made.totals)


@value
class SharedOracle:
    """Source that a test asserts with, or takes what it expects from."""

    path: str
    name: str
    """Qualified, as `Checked::check`."""
    line: int
    kind: Literal["assertion", "expectation"]
    test: str
    """One of the tests that use it."""

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
