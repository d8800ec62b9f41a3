"""What a language offers to new users: the scaffold of a project, and the script of the demo."""

from __future__ import annotations

import keyword
import re
import unicodedata
from typing import TYPE_CHECKING, TypeAlias

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from verdigris.core.settings import Stack


@value
class ScaffoldForm:
    manifest: str
    """The file that is written first, because it marks a folder as a project."""
    files: Mapping[str, str]
    ignore: tuple[str, ...]
    """Lines of `.gitignore`. A folder that may be a link in the machine's worktree has no final slash."""


@value
class StarterTools:
    stack: Stack
    before: tuple[str, ...] = ()
    """What a person has to do before the first test run, as commands or sentences."""


@value
class FoundPython:
    """What a scaffold needs to know about the user's interpreter."""

    path: Path
    how: str
    packages: tuple[str, ...] | None
    """The folders with its packages; None if it does not report them."""


FindPython: TypeAlias = "Callable[[], FoundPython | None]"


def read_texts(path: Path) -> dict[str, str]:
    """The texts of a file with sections; each begins below a line `=== NAME`."""
    _, *parts = re.split(r"^=== (.*)\n", path.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


FALLBACK = "kata"
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"^\s{0,3}#+[ \t]+(.+?)[ \t#]*$|^([^\n]+)\n(?:={3,}|-{3,})[ \t]*$", re.MULTILINE)
_LEAST = 2
_MOST = 40


def says_nothing(text: str) -> bool:
    """Whether a text is empty or holds nothing but comments, like the placeholder of `tdd init`."""
    return not _COMMENT.sub("", text).strip()


def title_of(text: str) -> str:
    """The first heading; empty if there is none."""
    found = _HEADING.search(_COMMENT.sub("", text))
    return (found[1] or found[2]).strip() if found else ""


def project_name(*wishes: str, taken: frozenset[str]) -> str:
    """Makes a name that every language accepts (small letters, digits, hyphens) from the first usable wish.

    `taken`: names that the language reserves.
    """
    for wish in wishes:
        plain = unicodedata.normalize("NFKD", wish).encode("ascii", "ignore").decode().lower()
        words = re.findall(r"[a-z0-9]+", re.sub(r"\bkata\b", " ", plain))
        name = "-".join(words)[:_MOST].strip("-")
        if len(name) < _LEAST:
            continue
        module = module_name(name)
        if not name[0].isalpha() or module in taken or keyword.iskeyword(module):
            name = f"{FALLBACK}-{name}"
        return name
    return FALLBACK


def module_name(name: str) -> str:
    return name.replace("-", "_")


@value
class PlainTool:
    """The test tool, run without Verdigris."""

    name: str
    shown: str
    """The command as a person types it."""
    argv: tuple[str, ...]


@value
class Cheat:
    """A second feature, and code that passes its test without implementing it."""

    tests: str
    """The tests with one for multiplication."""
    asked: str
    """The id of that test."""
    hollow: str
    """Source that passes this test without multiplying."""
    honest: str
    plain: PlainTool


@value
class RequiredTool:
    """A tool that the demo needs."""

    name: str
    version: str
    """The argument that makes it print its version."""
    missing: str
    """What a person can do if it is not installed."""
    broken: str
    """What a person can do if it does not start."""


@value
class Script:
    """The texts of the demo. Each is a whole file, since tests and source may share one file."""

    files: Mapping[str, str]
    """The repository at the start."""
    source: str
    """The path of the source file that the agent edits."""
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
    """Source with a stub of subtraction; None if the test can fail without a stub."""
    weaker: str
    """Tests with a weaker assertion about subtraction."""
    careless: str
    """Source that has subtraction but breaks addition."""
    good: str
    cheat: Cheat | None = None
    """The second part of the demo, after the first turn is accepted; None if there is none."""
    needs: RequiredTool | None = None


@value
class Scaffolder:
    """How a new project of a language begins."""

    taken: frozenset[str]
    """Names that a project may not have."""
    form: Callable[[str, str], ScaffoldForm]
    """What is written for a name and a title."""
    equipment: Callable[[Path, FindPython], StarterTools]


@value
class Starter:
    script: Callable[[], Script]
    """What `tdd demo` plays."""
    scaffolder: Scaffolder | None = None
    """What `tdd init` scaffolds; None if there is no scaffold."""
