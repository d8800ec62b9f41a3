"""What a shell is offered for an argument: paths as always, test ids, and edits that are set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    from verdigris.core.state import WorktreeState


def tests_and_paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Before `::` open reds and paths, behind it the tests of that file."""
    from click.shell_completion import CompletionItem

    reds = [red.test_id for red in _state().valid_reds]
    if "::" in incomplete:
        ids = dict.fromkeys((*_written_in(incomplete.partition("::")[0]), *reds))
        return [CompletionItem(test_id) for test_id in ids if test_id.startswith(incomplete)]
    found = [CompletionItem(test_id) for test_id in reds if incomplete and test_id.startswith(incomplete)]
    return [CompletionItem(incomplete, type="file"), *found]


def paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def edits_set_aside(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    return [aside for aside in _state().aside if aside.startswith(incomplete)]


def _written_in(path: str) -> list[str]:
    """By the text of the file: a shell does not wait for a collection."""
    from verdigris.cli.opening import here
    from verdigris.languages.testlines import written_tests

    try:
        text = (here() / path).read_text("utf-8", "surrogateescape")
        return [f"{path}::{test.name}" for test in written_tests(path, text, ())]
    except (OSError, VerdigrisError):
        return []


def _state() -> WorktreeState:
    """An error here would be printed into the user's command line: then nothing is offered."""
    from verdigris.cli.opening import here
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import open_log
    from verdigris.storage.repository import find_repository

    try:
        repo = find_repository(here())
        return open_log(repo).state().of(repo.worktree)
    except VerdigrisError:
        return WorktreeState()
