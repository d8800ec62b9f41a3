"""What a language offers to begin with: a scaffold, and the demo's script."""

from __future__ import annotations

import keyword
import re
import unicodedata
from typing import TYPE_CHECKING, Protocol, TypeAlias

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from verdigris.core.settings import Stack


@value
class ScaffoldForm:
    manifest: str
    """Of the files the one that is written first: by it a project is known."""
    files: Mapping[str, str]
    ignore: tuple[str, ...]
    """Lines of `.gitignore`; without a slash at the end where the machine's worktree may have a link."""


@value
class StarterTools:
    stack: Stack
    before: tuple[str, ...] = ()
    """What a person does before the first test run, as commands or sentences."""


@value
class FoundPython:
    """The user's interpreter, as a scaffold needs to know it."""

    path: Path
    how: str
    packages: tuple[str, ...] | None
    """Where its packages lie; None where it does not say."""


FindPython: TypeAlias = "Callable[[], FoundPython | None]"


FALLBACK = "kata"
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"^\s{0,3}#+[ \t]+(.+?)[ \t#]*$|^([^\n]+)\n(?:={3,}|-{3,})[ \t]*$", re.MULTILINE)
_LEAST = 2
_MOST = 40


def says_nothing(text: str) -> bool:
    """Empty, or nothing but comments, as the placeholder of `tdd init` is."""
    return not _COMMENT.sub("", text).strip()


def title_of(text: str) -> str:
    """The first heading; nothing where there is none."""
    found = _HEADING.search(_COMMENT.sub("", text))
    return (found[1] or found[2]).strip() if found else ""


def project_name(*wishes: str, taken: frozenset[str]) -> str:
    """Makes a name from the first usable wish: small letters, digits, hyphens; good in every language.

    `taken` are names that a language keeps for itself.
    """
    for wish in wishes:
        plain = unicodedata.normalize("NFKD", wish).encode("ascii", "ignore").decode().lower()
        words = re.findall(r"[a-z0-9]+", re.sub(r"\bkata\b", " ", plain))
        name = "-".join(words)[:_MOST].strip("-")
        if len(name) < _LEAST:
            continue
        if not name[0].isalpha() or _is_kept(name, taken):
            name = f"{FALLBACK}-{name}"
        return name
    return FALLBACK


def module_name(name: str) -> str:
    return name.replace("-", "_")


def _is_kept(name: str, taken: frozenset[str]) -> bool:
    return module_name(name) in taken or keyword.iskeyword(name)


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
class RequiredTool:
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
    needs: RequiredTool | None = None


class Scaffolder(Protocol):
    """How a new project of a language begins."""

    TAKEN: frozenset[str]
    """Names that a project must not have."""

    def form(self, name: str, title: str, /) -> ScaffoldForm: ...

    def equipment(self, root: Path, find_python: FindPython, /) -> StarterTools: ...


@value
class Starter:
    script: Callable[[], Script]
    """What `tdd demo` plays."""
    scaffolder: Scaffolder | None = None
    """What `tdd init` scaffolds; None where there is no scaffold."""
