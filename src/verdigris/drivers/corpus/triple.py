"""A triple of a corpus: a test that was red for the right reason, the edit, and the green of a verdict.

The JSON form is a contract with tools outside: fields are added, never renamed or taken away.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import UserError
from verdigris.core.records import from_json, to_json
from verdigris.core.test_ids import split_id
from verdigris.core.value import defaults, value

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA = "verdigris.triple/1"
SPLITS = ("train", "validation", "test")
_SHARES = ((80, "train"), (90, "validation"), (100, "test"))
"""Up to how many of a hundred tasks each takes."""
_ID_DIGITS = 12


@value
class RedProof:
    """A test that was red before the edit and passes after it."""

    id: str
    kind: str
    """Of a log the exception's class, of an audit the kind of red; empty where nobody knows."""
    place: str = ""
    """`path:line` of the failure inside the project."""
    message: str = ""
    native_id: str = ""
    """How the test tool names it, where an annotation gives it another id."""

    @property
    def native(self) -> str:
        return self.native_id or self.id


@value
class Author:
    """Who made the edit; a field that nobody recorded is empty."""

    role: str
    """`agent`, `person`, or a role of a driver."""
    client: str = ""
    context: str = ""
    """Which session or agent it was."""
    model: str = ""
    name: str = ""
    """The author of a commit, as git has it."""


@value
class CommitPatches:
    """The change against a commit, for readers that know commits only: from its tree to the green one."""

    tests: str
    source: str


@value
class Triple:
    id: str
    task: str
    """Triples of one task never stand in two splits."""
    repository: str
    """`owner/name`."""
    origin: str
    """`log:EVENT` or `audit:COMMIT`."""
    statement: str
    """What was to be done, without how."""
    base_commit: str
    """The commit before it; empty where there was none."""
    base_tree: str
    """The tree before test and edit."""
    red_tree: str
    """With the test, and stubs where it needed them."""
    green_tree: str
    reds: tuple[RedProof, ...]
    passing: tuple[str, ...]
    """Native ids of tests that passed before and pass after; none where the suite was not run."""
    test_patch: str
    """From the base to the red tree."""
    patch: str
    """The edit: from the red to the green tree."""
    against_commit: CommitPatches | None
    verdict: str
    liveness: str
    """`live`, `partly` (some assertions were not reached), `not-tried`."""
    weakening: tuple[str, ...]
    """What tests ask for otherwise than before."""
    concerns: tuple[str, ...]
    environment: str
    """The key of what the tests ran on."""
    language: str
    runner: str
    author: Author
    created: str = ""
    """When it was proven, as ISO 8601 in UTC."""
    remote: str = ""
    """Where the repository can be cloned from, without credentials."""
    scrubbed: bool = False
    """A secret was taken out of its texts: they may not apply or pass any more; the trees still do."""

    @property
    def split(self) -> str:
        return split_of(self.task)


@value
class LeftOut:
    """Something that is not in the corpus, and why."""

    what: str
    why: str


def split_of(task: str) -> str:
    """The split of a task, from its name alone: what is added to a corpus later moves nothing."""
    drawn = int(hashlib.sha256(f"verdigris corpus\0{task}".encode()).hexdigest()[:8], 16) % 100
    return next(name for below, name in _SHARES if drawn < below)


def slug_of(repository: str) -> str:
    """`owner__name`, as ids of tasks begin elsewhere too."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", repository.replace("/", "__"))


def triple_id(repository: str, red_tree: str, green_tree: str, reds: Iterable[str]) -> str:
    """Makes an id of the content: the same change has the same id in every export."""
    return f"{slug_of(repository)}-{_digest(red_tree, green_tree, *sorted(reds))}"


def task_of_session(repository: str, session: str) -> str:
    """What one session was asked for is one task."""
    return f"{slug_of(repository)}-{_digest('session', session)}"


def task_of_tests(repository: str, tests: Iterable[str]) -> str:
    """Names a task where there is no session: changes that the same test files ask for are one."""
    return f"{slug_of(repository)}-{_digest('tests', *sorted({split_id(one).path for one in tests}))}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:_ID_DIGITS]


def describe_task(reds: Iterable[RedProof]) -> str:
    """What is to be done, where nobody said it in words: the tests that fail, and how."""
    told = ["Make these tests pass; nothing that passes now may fail afterwards."]
    for red in reds:
        at = f" at {red.place}" if red.place else ""
        said = ": ".join(filter(None, (red.kind, red.message)))
        told.append(f"- {red.native}{f' fails{at}' if said or at else ''}{f': {said}' if said else ''}")
    return "\n".join(told)


def render_triple(triple: Triple) -> dict[str, Any]:
    """Every field is there, so that a reader need not know our defaults."""
    told = {name: to_json(getattr(triple, name)) for name in defaults(Triple)}
    reds = [{name: getattr(red, name) for name in defaults(RedProof)} for red in triple.reds]
    author = {name: getattr(triple.author, name) for name in defaults(Author)}
    return {"schema": SCHEMA, **told, "reds": reds, "author": author, "split": triple.split}


def parse_triple(data: Any) -> Triple:
    """Reads the JSON form; newer keys are passed over."""
    match data:
        case {"schema": str(schema), **fields} if schema == SCHEMA:
            try:
                return from_json(Triple, fields)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise UserError(f"this is a damaged triple: {error}", hint=HINT) from error
        case _:
            raise UserError(f"this is no triple: it lacks `schema: {SCHEMA}`", hint=HINT)


HINT = "make the corpus anew with `tdd corpus export`"
