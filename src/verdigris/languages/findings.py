"""The values that every language reports: findings in source and in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import field, value
from verdigris.languages.probes import ByteEdit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Protocol

    from verdigris.languages.literals import Chance

    ReadMany = Callable[[Sequence[str]], Mapping[str, bytes | None]]

    class TestRegions(Protocol):
        """Which part of a text of source is tests; see `languages.rust.test_regions`."""

        def has_tests(self, data: bytes) -> bool: ...
        def oracle_part(self, data: bytes) -> bytes: ...
        def source_part(self, data: bytes) -> bytes: ...
        def only_tests(self, data: bytes) -> bytes: ...
        def without_tests(self, data: bytes) -> bytes: ...
        def with_tests_of(self, frozen: bytes, data: bytes) -> bytes | None: ...
        def modules_for_tests(self, data: bytes) -> frozenset[str]: ...
        def is_test_line(self, data: bytes, line: int) -> bool: ...
        def above(self, path: str) -> tuple[str, ...]: ...
        def module_of(self, path: str) -> str: ...

    class Importable(Protocol):
        """The files that an import may lead to."""

        @property
        def paths(self) -> Collection[str]: ...

        @property
        def roots(self) -> Sequence[str]:
            """Folders that names are looked up in."""

        @property
        def stems(self) -> Mapping[str, Sequence[str]]:
            """Groups paths by what stands before the first dot of the name."""


@value
class StubFinding:
    line: int
    why: str


@value
class Imported:
    """One module that a statement leads to."""

    line: int
    module: str
    """Dotted; relative ones begin with their dots."""
    name: str = ""
    """What is taken from it."""


@value
class Concern:
    kind: str
    path: str
    line: int
    what: str
    blocks: bool
    """No honest change has it: the verdict cannot be `accepted`."""
    literal: str = ""
    constant: bool = False
    option: bool = False
    """Of expected literals both: see `Hit`."""


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
    """Code that could give the number by which it is measured itself."""

    line: int
    what: str


@value
class Mutant:
    path: str
    line: int
    what: str
    """What it says of the tests if all of them pass with it."""
    data: bytes
    """The file with the change in it."""
    weak: bool = False
    """It may well be no change of behaviour: a person is told, and the refactor is not refused."""
    fails: bool = False
    """It fails wherever it is run: no test notices it that does not run the place at all."""


@value
class Mutated:
    """`untried`: what would have to be changed and cannot be."""

    mutants: tuple[Mutant, ...] = ()
    untried: tuple[str, ...] = ()


@value
class IdMark:
    """A comment `@tdd-id: slug` and the test below it."""

    slug: str
    line: int
    """Of the comment."""
    test: object
    """As its language calls it: a name, or a declaration of the language's own."""


@value
class TestComment:
    """A line of a comment, and the test that it stands above."""

    __test__ = False

    line: int
    text: str
    """With its signs, e.g. `// @tdd-id: slug`."""
    test: object | None
    """As in `IdMark`; None where it stands above none, is too far from it, or stands behind code."""


@value
class TestFacts:
    """What the text of a test tells of it."""

    __test__ = False

    assertions: int
    """Those of the functions that it calls included."""
    cases: int = 0
    """Rows of its table; none where it has no table."""
    skip: str = ""
    """What skips it, on the test itself, its class or its file."""


@value
class WrittenTest:
    name: str
    """As a test id has it, without its file."""
    first: int
    last: int
    """Lines, with decorators."""


@value
class Parcel:
    """Held-out files that are in the tree at the same time."""

    asked: tuple[str, ...]
    """The files that the runner runs."""
    files: tuple[str, ...]
    withheld: tuple[str, ...] = ()
    """The files that are emptied once they are loaded, so that the code under test cannot read them."""


@value
class SourceChange:
    """Source before and after, with what a judgement of it needs to know."""

    before: Mapping[str, bytes | None]
    after: Mapping[str, bytes | None]
    tests: Mapping[str, bytes]
    """All test files of the language."""
    manifests: Mapping[str, str] = field(default_factory=dict)
    """By name, at the root, before the change."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Files that are no code and changed with it."""


@value
class TestFault:
    """A place in a test that cannot show what it seems to show."""

    __test__ = False

    path: str
    line: int
    what: str


@value
class TestText:
    """One test in the text of its file."""

    __test__ = False

    path: str
    name: str
    """As its file writes it, without cases."""
    texts: Mapping[str, str]
    """All test files of its language, since a test may call what stands in others."""


@value
class StubAnswer:
    """A constant that a stub may return in place of its own."""

    text: str
    """As its language writes it."""
    kind: str
    empty: bool = False
    """It is the nothing of its kind, which an assertion of truth refuses."""
    literal: str = ""
    """The expected literal of a test that it is, or that it differs from."""
    altered: bool = False
    """It differs from that literal."""


@value
class StubBody:
    """The body of a new stub, and what can be put in its place."""

    path: str
    name: str
    line: int
    start: int
    """In bytes."""
    end: int
    form: str
    """The new body, with `%s` where the answer stands."""
    answers: tuple[StubAnswer, ...] = ()

    def edit(self, answer: StubAnswer) -> ByteEdit:
        return ByteEdit(self.start, self.end, self.form.replace("%s", answer.text, 1))


def draw_word(dice: Chance) -> str:
    """Draws a word that no test expects."""
    return "".join(dice.choice("bcdfghjklmnpqrstvwxz") for _ in range(5))
