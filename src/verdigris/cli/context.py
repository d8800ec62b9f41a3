"""What every command shares: its project and actor, completion, progress, and results as text or as JSON."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from verdigris.core.agents import ACTOR, CLIENT, CONTEXT, ROOT
from verdigris.core.errors import UserError, VerdigrisError
from verdigris.core.records import Actor, to_json
from verdigris.core.report import Status
from verdigris.views.lines import Line, make_visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import click
    from click.shell_completion import CompletionItem
    from rich.status import Status as Spinner

    from verdigris.core.actions import Deny
    from verdigris.core.state import WorktreeState
    from verdigris.runners.protocol import Progress
    from verdigris.storage.project import Project


BACK_AT_CLAIM = "a claim of its tests or files brings it back"
PERSON = Actor()


def actor() -> Actor:
    if ACTOR not in os.environ:
        return PERSON
    return Actor("agent", os.environ.get(CONTEXT, ""), os.environ.get(CLIENT, "shell"))


def here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UserError(
            "the folder you stand in does not exist any more.", hint="cd to one that does"
        ) from None


def start() -> Path:
    """Where a command looks for its worktree: an agent cannot choose another by standing elsewhere."""
    root = os.environ.get(ROOT) if ACTOR in os.environ else None
    return Path(root) if root else here()


def project() -> Project:
    from verdigris.storage.project import open_project

    return open_project(start(), actor())


def deny_agent(verb: str) -> Deny | None:
    from verdigris.core.agents import deny_persons_verb

    return deny_persons_verb(verb) if ACTOR in os.environ else None


def persons_only(verb: str) -> Deny | None:
    """A person's verbs are refused to an agent, and to everyone while an agent's shell call is open."""
    from verdigris.storage.calls.open_calls import refusal
    from verdigris.storage.repository import find_repository

    if (no := deny_agent(verb)) is not None:
        return no
    return refusal(str(find_repository(here()).private))


def tests_and_paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Completes open reds and paths; behind `::` the tests of that file."""
    from click.shell_completion import CompletionItem

    reds = [red.test_id for red in _state().valid_reds]
    if "::" in incomplete:
        ids = dict.fromkeys((*_read_test_ids(incomplete.partition("::")[0]), *reds))
        return [CompletionItem(test_id) for test_id in ids if test_id.startswith(incomplete)]
    found = [CompletionItem(test_id) for test_id in reds if incomplete and test_id.startswith(incomplete)]
    return [CompletionItem(incomplete, type="file"), *found]


def paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def edits_set_aside(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    return [aside for aside in _state().aside if aside.startswith(incomplete)]


def _read_test_ids(path: str) -> list[str]:
    """Reads the text of the file: a shell does not wait for a collection."""
    from verdigris.languages.tests import written_tests

    try:
        text = (here() / path).read_text("utf-8", "surrogateescape")
        return [f"{path}::{test.name}" for test in written_tests(path, text, ())]
    except (OSError, VerdigrisError):
        return []


def _state() -> WorktreeState:
    """The worktree's state; empty after an error, which would be printed into the user's command line."""
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import open_log
    from verdigris.storage.repository import find_repository

    try:
        repo = find_repository(here())
        return open_log(repo).state().of(repo.worktree)
    except VerdigrisError:
        return WorktreeState()


@contextmanager
def live() -> Iterator[Progress | None]:
    """Yields None if standard error is no terminal, in CI, and where the user wants plain text."""
    if not sys.stderr.isatty() or os.environ.get("CI") or os.environ.get("NO_COLOR"):
        yield None
        return
    from rich.console import Console

    with Console(stderr=True, highlight=False, markup=False).status("collecting tests") as spinner:
        yield LiveLine(spinner)


class LiveLine:
    def __init__(self, spinner: Spinner) -> None:
        self._spinner = spinner
        self._total = self._done = self._failed = 0
        self._step = ""

    def began(self, step: str) -> None:
        self._step = step
        self._total = self._done = self._failed = 0
        self._update("")

    def collected(self, total: int) -> None:
        self._total, self._done = total, 0
        self._update("")

    def finished(self, test_id: str, status: Status) -> None:
        self._done += 1
        self._failed += status in {Status.FAIL, Status.ERROR}
        self._update(test_id)

    def _update(self, test_id: str) -> None:
        from rich.text import Text

        failed = f", {self._failed} not passed" if self._failed else ""
        tests = f"{self._done}/{self._total} tests{failed}  {make_visible(test_id)}" if self._total else ""
        self._spinner.update(Text(": ".join(filter(None, (self._step, tests))), no_wrap=True))


SCHEMA = 1
DENIED = 3

F = TypeVar("F", bound="Callable[..., Any]")
P = ParamSpec("P")
Answer = TypeVar("Answer")
_COLOURS = {"red": 31, "green": 32, "yellow": 33}


def json_option(command: F) -> F:
    import click

    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


def shard_option(command: F) -> F:
    """`--shard I/N`, handed on as two numbers."""
    import click

    return click.option(
        "--shard",
        default="1/1",
        callback=lambda _, __, text: _read_shard(text),
        help="Only the part I of N (`2/4`).",
    )(command)


def _read_shard(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise UserError(f"`--shard {text}` names no part.", hint="`--shard 2/4` is the second of four")
    return int(part), int(parts)


def show(lines: Iterable[Line], *, err: bool = False) -> None:
    stream = sys.stderr if err else sys.stdout
    plain = not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("CI")
    for line in lines:
        dot = "" if line.dot is None else "● " if plain else f"\x1b[{_COLOURS[line.dot]}m●\x1b[0m "
        stream.write(f"{dot}{make_visible(line.text)}\n")
    stream.flush()


def say(message: str) -> None:
    sys.stderr.write(f"{make_visible(message)}\n")
    sys.stderr.flush()


OWED = ("id", "path", "line", "what", "change")
"""The fields of a debt."""


def pick(answer: object, *names: str) -> dict[str, Any]:
    """These fields of a value, as a document has them."""
    return {name: to_json(getattr(answer, name)) for name in names}


def show_json(document: Mapping[str, Any]) -> None:
    import json

    sys.stdout.write(json.dumps({"schema": SCHEMA, **document}) + "\n")
    sys.stdout.flush()


def show_result(
    answer: Answer | Deny,
    lines: Callable[[Answer], Iterable[Line]],
    document: Callable[[Answer], Mapping[str, Any]] | None = None,
    *,
    as_json: bool = False,
) -> int:
    """Shows what a command came to: a denial, or the answer as lines or as a document. The exit code."""
    from verdigris.core.actions import Deny

    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json and document is not None:
        show_json(document(answer))
    else:
        show(lines(answer))
    return 0


def next_here(opened: Project) -> str:
    """The next move after what a command did."""
    from verdigris.turns.next_move import following_move

    return following_move(opened, opened.state())


def persons_command(verb: str) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """A command that is refused to an agent, and to everyone while an agent's shell call is open."""

    def guard(command: Callable[P, int]) -> Callable[P, int]:
        @wraps(command)
        def guarded(*args: P.args, **said: P.kwargs) -> int:
            denial = persons_only(verb)
            return (
                command(*args, **said) if denial is None else deny(denial, as_json=bool(said.get("as_json")))
            )

        return guarded

    return guard


def deny(denial: Deny, *, as_json: bool = False) -> int:
    if as_json:
        show_json(denial_document(denial))
    else:
        show(denial_lines(denial), err=True)
    return DENIED


def denial_lines(denial: Deny) -> list[Line]:
    return [Line(part) for text in denial.lines() for part in text.split("\n")]


def denial_document(denial: Deny) -> dict[str, Any]:
    return {"denied": pick(denial, "rule", "reason", "next")}
