"""The values that every language reports: findings in source and in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from verdigris.core.value import value
from verdigris.languages.probes import ByteEdit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path
    from typing import Protocol

    from verdigris.languages.literals import Chance

    ReadMany = Callable[[Sequence[str]], Mapping[str, bytes | None]]

    class TestRegions(Protocol):
        """Separates tests from the source in the same file; see `languages.rust.test_regions`."""

        def has_tests(self, data: bytes) -> bool: ...
        def oracle_part(self, data: bytes) -> bytes: ...
        def source_part(self, data: bytes) -> bytes: ...
        def only_tests(self, data: bytes) -> bytes: ...
        def without_tests(self, data: bytes) -> bytes: ...
        def with_tests_of(self, frozen: bytes, data: bytes) -> bytes | None: ...
        def modules_for_tests(self, data: bytes) -> frozenset[str]: ...
        def is_test_line(self, data: bytes, line: int) -> bool: ...
        def declaring_files(self, path: str) -> tuple[str, ...]: ...
        def module_of(self, path: str) -> str: ...

    class Importable(Protocol):
        """The files that an import may lead to."""

        @property
        def paths(self) -> Collection[str]: ...

        @property
        def roots(self) -> Sequence[str]:
            """Folders in which names of modules are looked up."""

        @property
        def stems(self) -> Mapping[str, Sequence[str]]:
            """Groups paths by the part of the file's name before its first dot."""


@value
class StubFinding:
    line: int
    why: str


@value
class Imported:
    """One module that a statement imports."""

    line: int
    module: str
    """The dotted name; that of a relative import begins with its dots."""
    name: str = ""
    """The name that is imported from the module; empty for the module itself."""


@value
class Concern:
    kind: str
    path: str
    line: int
    what: str
    blocks: bool
    """True if no honest change has it, so that the verdict cannot be `accepted`."""
    literals: tuple[str, ...] = ()
    constant: bool = False
    option: bool = False
    """Of expected literals: they are returned alone; they only choose how other inputs are handled."""


@value
class Weakening:
    kind: str
    """`removed`, `uncollected`, `skipped`, `deselected`, `hook`, `dropped`, `guarded`, `weaker`, `cases`,
    `changed`, `data` or `unreadable`."""
    path: str
    line: int
    before: str
    after: str


@value
class MeasuredFault:
    """Code that could print or set the number by which it is measured."""

    line: int
    what: str


MutantKind = Literal["decision", "bound", "answer", "literal", "default", "body", "arrange", "removal"]
"""What a mutant changes: a condition, its boundary, a literal that is returned, another one, a parameter; or
it replaces a whole body by one that knows nothing, changes what a test sets up, or takes out what is gone.
"""


@value
class Mutant:
    path: str
    line: int
    what: str
    """What a person is told if all tests pass with this mutant."""
    data: bytes
    """The content of the file with the change."""
    weak: bool = False
    """True if it may not change the behaviour: a person is told of it, but the refactor is not refused."""
    fails: bool = False
    """True if the code fails wherever it runs: tests that pass with it do not run this place."""
    subject: str = ""
    """The code that was changed, on one line."""
    kind: MutantKind = "decision"
    test: str = ""
    """The native id of the only test that is asked; empty: each that runs the place."""


@value
class Mutated:
    """The mutants of a change. `untried`: places that should be mutated and cannot be."""

    mutants: tuple[Mutant, ...] = ()
    untried: tuple[str, ...] = ()


@value
class Swap:
    """What another thing replaced: a call, a handler; or a base or a decorator that is new."""

    path: str
    line: int
    """In the new file."""
    was: str
    now: str
    unsafe: bool = False
    """True if the old one protects what no result shows, or the new one does more."""

    def __str__(self) -> str:
        what = f"`{self.was}` became `{self.now}`" if self.was else f"`{self.now}` is new"
        return (
            f"{self.path}:{self.line}: {what}, and no test tells them apart;"
            " leave it as it was, or abort the refactor and write a test that needs the change"
        )


@value
class Removals:
    """What a change took out of definitions that it kept."""

    mutants: tuple[Mutant, ...] = ()
    """Of the old files, each without one thing that is gone."""
    swaps: tuple[Swap, ...] = ()
    calls: frozenset[str] = frozenset()
    """Names that a definition uses now and did not use before, where something is gone."""


@value
class IdMark:
    """A comment `@tdd-id: slug` and the test below it."""

    slug: str
    line: int
    """The line of the comment."""
    test: object
    """The test, in the form that its language chose: a name, or a declaration."""


@value
class TestComment:
    """A line of a comment, and the test that it stands above."""

    __test__ = False

    line: int
    text: str
    """The text with the signs of the comment, e.g. `// @tdd-id: slug`."""
    test: object | None
    """As in `IdMark`; None if no test is near enough below, or if code stands on the same line."""


@value
class TestFacts:
    """What can be read from the text of a test."""

    __test__ = False

    assertions: int
    """The number of assertions, with those of the functions that the test calls."""
    cases: int = 0
    """The number of rows in its table; 0 if it has no table."""
    skip: str = ""
    """The mark that skips it, on the test, its class or its file; empty if there is none."""


@value
class WrittenTest:
    name: str
    """The test id without its file."""
    first: int
    last: int
    """`first` and `last` are line numbers; decorators belong to the test."""


@value
class HeldGroup:
    """Held-out files that are put into the tree together."""

    asked: tuple[str, ...]
    """The files that the runner runs."""
    files: tuple[str, ...]
    withheld: tuple[str, ...] = ()
    """The files that are emptied once they are loaded, so that the code under test cannot read them."""


@value
class SourceChange:
    """Source before and after a change, with the files that are needed to judge it."""

    before: Mapping[str, bytes | None]
    after: Mapping[str, bytes | None]
    tests: Mapping[str, bytes]
    """All test files of the language."""


@value
class TestFault:
    """A place in a test that cannot show what it seems to show."""

    __test__ = False

    path: str
    line: int
    what: str


@value
class TestText:
    """Names one test in the text of its file."""

    __test__ = False

    path: str
    name: str
    """The name as it is written in the file, without cases."""
    texts: Mapping[str, str]
    """All test files of the language by path, since a test may call functions of other files."""


@value
class StubAnswer:
    """A constant that a stub may return instead of its own."""

    text: str
    """The constant as the language writes it."""
    kind: str
    empty: bool = False
    """True for the empty value of its kind, such as 0 or "": an assertion that it is truthy fails."""
    literal: str = ""
    """The literal, expected by a test, that the constant equals or was altered from; else empty."""
    altered: bool = False
    """True if the constant was altered from that literal."""


@value
class StubBody:
    """The body of a new stub, and the constants that it could return instead."""

    path: str
    name: str
    line: int
    start: int
    """`start` and `end` are offsets in bytes."""
    end: int
    form: str
    """The new body, with `%s` in the place of the constant."""
    answers: tuple[StubAnswer, ...] = ()

    def edit(self, answer: StubAnswer) -> ByteEdit:
        return ByteEdit(self.start, self.end, self.form.replace("%s", answer.text, 1))


def draw_word(dice: Chance) -> str:
    """Draws a word that no test expects."""
    return "".join(dice.choice("bcdfghjklmnpqrstvwxz") for _ in range(5))


@value
class StackFacts:
    """What tells why a test of a stack does not load."""

    home: Path
    """The folder of the stack."""
    root: str
    """The same, relative to the worktree."""
    files: Collection[str]
    """The source files of the worktree."""
    install: Callable[[str], str]
    """Gives the command that installs a package; for an empty name, what the project needs."""
