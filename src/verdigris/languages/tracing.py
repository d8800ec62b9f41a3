"""`Tracing`: what a verdict needs from a language whose interpreter runs our reporter.

The reporter records which lines a run executes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from verdigris.core.value import value

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
        """Maps paths to the first lines of new statements that a test could run on this machine.

        What was renamed, moved or reflowed is not new.
        """
        ...

    def foreign_lines(
        self, before: Mapping[str, str], after: Mapping[str, str]
    ) -> Mapping[str, frozenset[int]]:
        """Maps paths to the first lines of new statements that run only on other machines."""
        ...

    def idle_lines(
        self, text: str, added: frozenset[int], executed: frozenset[int]
    ) -> Iterable[tuple[int, int]]:
        """First and last line of the added statements that did not run, neighbours joined."""
        ...

    def failing_at(self, text: str, line: int) -> str | None:
        """The text with a statement before this line that fails; None if none can stand there."""
        ...

    def without_statement(self, text: str, line: int) -> str | None:
        """The text without the statement that begins on this line; None if it cannot be taken out."""
        ...

    def function_lines(self, text: str) -> frozenset[int]:
        """Lines in the bodies of functions: all others run when the file is loaded."""
        ...

    def assertion_lines(self, test: TestText) -> tuple[tuple[str, int], ...]:
        """Path and line of the assertions in the test's own function."""
        ...

    def origin_of(self, text: str, name: str) -> Literal["own", "imported", "nothing"]:
        """What a module says a name of its own is; `nothing`: it is not bound there, or only to None."""
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

    # -- tests that a change affects -------------------------------------------------------------------------

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
