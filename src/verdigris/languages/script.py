"""What the play is made of in one language: a calculator that can add, and what the agent writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping


@value
class PlainTool:
    """The test tool as anybody runs it."""

    name: str
    shown: str
    """As a person types it."""
    argv: tuple[str, ...]


@value
class Cheat:
    """A second wish, and code that only pleases the tests."""

    tests: str
    """Tests that ask for multiplication."""
    asked: str
    """The id of that test."""
    hollow: str
    """Source that passes without multiplying."""
    honest: str
    plain: PlainTool


@value
class Program:
    """A tool without which the play cannot be given."""

    name: str
    version: str
    """What makes it say its version."""
    missing: str
    """What a person does where it is not there."""
    broken: str
    """What a person does where it does not start."""


@value
class Script:
    """Texts are whole files: tests and source may be the same one."""

    files: Mapping[str, str]
    """The repository at the start."""
    source: str
    """The file that the agent is after."""
    tests: str
    nothing_new: str
    """The id of a test that passes already."""
    asked: str
    """The id of the test for subtraction."""
    eager: str
    """Source with subtraction, before there is a test."""
    easy: str
    """Tests that prove nothing new."""
    real: str
    """Tests that ask for subtraction."""
    stub: str | None
    """Source that declares it and does nothing; None where a test can fail without."""
    weaker: str
    """Tests that ask for less."""
    careless: str
    """Source with subtraction in which addition is broken."""
    good: str
    cheat: Cheat | None = None
    """What follows the acceptance, where the play has a second act."""
    needs: Program | None = None
