"""The commits of drivers: their messages with trailers, and a judged tree that is about to be committed."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from verdigris.core.events import Committing
from verdigris.core.settings import DriverSettings
from verdigris.core.state import Red
from verdigris.core.value import field, value
from verdigris.models.roles import Role
from verdigris.storage.durable_files import TDD_FOLDER
from verdigris.storage.git import git
from verdigris.storage.project import Project
from verdigris.storage.repository import head
from verdigris.turns.git import CommitIdentity

WIDTH, SUBJECT = 76, 72
MOST_CONCERNS = 5


@value
class Proposal:
    """A role's words about its edits; recorded before the edits are written."""

    type: str = ""
    subject: str = ""
    rationale: str = ""
    intents: Mapping[str, str] = field(default_factory=dict)
    """Path → the purpose of the change."""
    reds: Mapping[str, str] = field(default_factory=dict)
    """Of the coder: test id → its failure."""
    because: str = ""
    """Of a tester whose test was sent back: the coder's reason."""
    points: tuple[int, ...] = ()
    """Of the tester: the points of the kata that the test covers."""
    improvement: str = ""
    lesson: str = ""


@value
class Verified:
    """The kernel's findings about a step."""

    verdict: str
    suite: str = ""
    """How many tests passed, in words."""
    tests: tuple[str, ...] = ()
    reds: Mapping[str, str] = field(default_factory=dict)
    oracle: str = ""
    concerns: tuple[str, ...] = ()


def message(role: Role, step: int, proposal: Proposal, verified: Verified) -> str:
    """The rationale, then the purpose of each file's change if the role gave one, then trailers."""
    said = {"", flat(proposal.subject), flat(proposal.rationale)}
    intents = [f"{path}: {flat(what)}" for path, what in proposal.intents.items() if flat(what) not in said]
    parts = (
        _fill_paragraph(_paragraphs(proposal.rationale)),
        _fill_paragraph([f"Revised because {flat(proposal.because)}"] if proposal.because else []),
        _bullets(intents) if len(intents) > 1 else "",
    )
    headline = f"{proposal.type}: {style_subject(proposal.subject)}"
    return compose(headline, parts, _trailers(role, step, proposal, verified))


def compose(headline: str, parts: Iterable[str], trailers: Iterable[tuple[str, str]]) -> str:
    """A message of any driver; a long headline is cut, and empty parts are left out."""
    short = headline if len(headline) <= SUBJECT else f"{headline[: SUBJECT - 1].rstrip()}…"
    last = "\n".join(f"{name}: {flat(text)}" for name, text in trailers)
    return "\n\n".join(filter(None, (short, *parts, last))) + "\n"


def style_subject(subject: str) -> str:
    """A subject as in conventional commits: without a sentence's capital and full stop."""
    line = flat(subject)
    line = line[:-1] if line.endswith(".") and not line.endswith("..") else line
    first = line.partition(" ")[0]
    plain = first[1:].islower() or first == "A"
    return line[:1].lower() + line[1:] if plain and first[:1].isupper() else line


def _trailers(role: Role, step: int, proposal: Proposal, verified: Verified) -> Iterator[tuple[str, str]]:
    yield "TDD-Role", role.name
    yield "TDD-Step", str(step)
    yield from (("TDD-Test", test) for test in verified.tests)
    yield from (("TDD-Red", f"{failure} ({test})") for test, failure in verified.reds.items())
    yield from (("TDD-Point", str(point)) for point in proposal.points)
    yield "TDD-Verdict", verified.verdict
    if verified.suite:
        yield "TDD-Suite", verified.suite
    yield from (("TDD-Concern", concern) for concern in verified.concerns[:MOST_CONCERNS])
    if verified.oracle:
        yield "TDD-Oracle", verified.oracle


def summarise_red(red: Red) -> tuple[str, str]:
    """Its id, with kind and place of its failure; not the message, which may hold addresses and times."""
    kind = red.failure.partition(":")[0] or red.status
    place = f" at {red.place}" if red.place and not red.place.startswith("/") else ""
    return red.test_id, f"{kind}{place}"


def _paragraphs(text: str) -> Iterator[str]:
    """Joins each paragraph, and each item of a list, to one line."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+[.)])\s)", text.strip()):
        if line := flat(re.sub(r"^\s*(?:[-*]|\d+[.)])\s+", "", block)):
            yield line


def _fill_paragraph(lines: Iterable[str]) -> str:
    """Fills one line as a paragraph, and several as a list."""
    paragraphs = list(lines)
    return _fill(paragraphs[0]) if len(paragraphs) == 1 else _bullets(paragraphs)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(_fill(flat(line), "- ", "  ") for line in lines)


def _fill(text: str, first: str = "", others: str = "") -> str:
    wrapper = textwrap.TextWrapper(WIDTH, first, others, break_long_words=False, break_on_hyphens=False)
    return wrapper.fill(text)


def flat(text: str) -> str:
    """On one line, with printable characters only: ids may hold any bytes."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in line)


# -- the tree ---------------------------------------------------------------------------------


def announce(
    project: Project, message: str, paths: Iterable[str], *, step: int, role: str, driver: str
) -> Committing:
    """The event with which the present tree is committed on HEAD."""
    return Committing(
        step=step,
        role=role,
        parent=head(project.repo).commit or "",
        tree=project.workspace.snapshot(),
        message=project.workspace.blob(message.encode(errors="replace")),
        paths=tuple(paths),
        driver=driver,
    )


def author_of(settings: DriverSettings) -> CommitIdentity:
    return CommitIdentity(settings.author_name, settings.author_email)


def changed_paths(project: Project, old: str, new: str) -> list[str]:
    """Paths that differ between two trees, without our own folder."""
    changes = project.workspace.changes(old, new) if old != new else ()
    return [change.path for change in changes if not change.path.startswith(f"{TDD_FOLDER}/")]


def list_uncommitted(root: Path) -> Iterator[tuple[str, str]]:
    """Paths that differ from HEAD, each after git's two letters for how; `??`: git does not know it."""
    said = git(root, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames").out
    yield from ((entry[:2], entry[3:]) for entry in said.split("\0") if entry)
