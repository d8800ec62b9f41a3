"""What a language tells of tests before anybody relies on them: values of the validator's questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.probes import Edit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.languages.literals import Chance


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
class Answer:
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
    answers: tuple[Answer, ...] = ()

    def edit(self, answer: Answer) -> Edit:
        return Edit(self.start, self.end, self.form.replace("%s", answer.text, 1))


def draw_word(dice: Chance) -> str:
    """Letters that nobody expects."""
    return "".join(dice.choice("bcdfghjklmnpqrstvwxz") for _ in range(5))
