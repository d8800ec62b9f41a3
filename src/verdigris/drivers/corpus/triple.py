"""A triple of a corpus: a test that was red for the right reason, the edit, and the green of a verdict.

The JSON form is a contract with tools outside: fields are added, never renamed or taken away.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from verdigris.core.errors import UserError
from verdigris.core.records import from_json, to_json
from verdigris.core.test_ids import split_id
from verdigris.core.value import defaults, value

SCHEMA = "verdigris.triple/1"
SPLITS = ("train", "validation", "test")
_SHARES = ((80, "train"), (90, "validation"), (100, "test"))
"""The upper bound, in hundredths of all tasks, of each split."""
_ID_DIGITS = 12


@value
class RedProof:
    """A test that was red before the edit and passes after it."""

    id: str
    kind: str
    """The exception's class from a log, or the kind of red from an audit; empty if it is not known."""
    place: str = ""
    """`path:line` of the failure inside the project."""
    message: str = ""
    native_id: str = ""
    """The test tool's own id, if an annotation gives the test another one."""

    @property
    def native(self) -> str:
        return self.native_id or self.id


@value
class Author:
    """Who made the edit; a field that was not recorded is empty."""

    role: str
    """`agent`, `person`, or a role of a driver."""
    client: str = ""
    context: str = ""
    """The session or agent."""
    model: str = ""
    name: str = ""
    """The author of a commit, as git has it."""


@value
class CommitPatches:
    """The change from a commit's tree to the green one, for readers that know commits only."""

    tests: str
    source: str


@value
class Triple:
    id: str
    task: str
    """All triples of a task are in one split."""
    repository: str
    """`owner/name`."""
    origin: str
    """`log:EVENT` or `audit:COMMIT`."""
    statement: str
    """The task in words, without its solution."""
    base_commit: str
    """The commit before it; empty if there was none."""
    base_tree: str
    """The tree before test and edit."""
    red_tree: str
    """The tree with the test, and with stubs if the test needed them."""
    green_tree: str
    reds: tuple[RedProof, ...]
    passing: tuple[str, ...]
    """Native ids of tests that passed before and pass after; none if the suite was not run."""
    test_patch: str
    """From the base to the red tree."""
    patch: str
    """The edit: from the red to the green tree."""
    against_commit: CommitPatches | None
    verdict: str
    liveness: str
    """`live`, `partly` (some assertions were not reached), `not-tried`."""
    weakening: tuple[str, ...]
    """Changes of what existing tests ask for."""
    concerns: tuple[str, ...]
    environment: str
    """The key of the environment that the tests ran in."""
    language: str
    runner: str
    author: Author
    created: str = ""
    """When it was proven, as ISO 8601 in UTC."""
    remote: str = ""
    """Where the repository can be cloned from, without credentials."""
    scrubbed: bool = False
    """A secret was taken out of its texts. They may not apply or pass any more; the trees still do."""

    @property
    def split(self) -> str:
        return split_of(self.task)


@value
class LeftOut:
    """Something that is not in the corpus, and why."""

    what: str
    why: str


def split_of(task: str) -> str:
    """Returns the split by the task's name alone, so that later additions to a corpus move nothing."""
    drawn = int(hashlib.sha256(f"verdigris corpus\0{task}".encode()).hexdigest()[:8], 16) % 100
    return next(name for below, name in _SHARES if drawn < below)


def slug_of(repository: str) -> str:
    """Returns `owner__name`, with which ids of other benchmarks begin too."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", repository.replace("/", "__"))


def triple_id(repository: str, red_tree: str, green_tree: str, reds: Iterable[str]) -> str:
    """Makes an id of the content: the same change has the same id in every export."""
    return f"{slug_of(repository)}-{_digest(red_tree, green_tree, *sorted(reds))}"


def task_of_session(repository: str, session: str) -> str:
    """All that one session was asked for is one task."""
    return f"{slug_of(repository)}-{_digest('session', session)}"


def task_of_tests(repository: str, tests: Iterable[str]) -> str:
    """Names a task without a session: changes for the same test files are one task."""
    return f"{slug_of(repository)}-{_digest('tests', *sorted({split_id(one).path for one in tests}))}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:_ID_DIGITS]


def describe_task(reds: Iterable[RedProof]) -> str:
    """Describes a task that nobody put into words, by the tests that fail, and how they fail."""
    told = ["Make these tests pass; nothing that passes now may fail afterwards."]
    for red in reds:
        at = f" at {red.place}" if red.place else ""
        said = ": ".join(filter(None, (red.kind, red.message)))
        told.append(f"- {red.native}{f' fails{at}' if said or at else ''}{f': {said}' if said else ''}")
    return "\n".join(told)


def render_triple(triple: Triple) -> dict[str, Any]:
    """Returns every field, so that a reader need not know our defaults."""
    told = {name: to_json(getattr(triple, name)) for name in defaults(Triple)}
    reds = [{name: getattr(red, name) for name in defaults(RedProof)} for red in triple.reds]
    author = {name: getattr(triple.author, name) for name in defaults(Author)}
    return {"schema": SCHEMA, **told, "reds": reds, "author": author, "split": triple.split}


def parse_triple(data: Any) -> Triple:
    """Reads the JSON form; unknown keys are ignored."""
    match data:
        case {"schema": str(schema), **fields} if schema == SCHEMA:
            try:
                return from_json(Triple, fields)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise UserError(f"this is a damaged triple: {error}", hint=HINT) from error
        case _:
            raise UserError(f"this is not a triple: it has no `schema: {SCHEMA}`", hint=HINT)


HINT = "make the corpus anew with `tdd corpus export`"
