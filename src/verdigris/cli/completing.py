"""What a shell is offered for an argument: open reds for a claim, laid-aside ids for a restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError

if TYPE_CHECKING:
    import click

    from verdigris.core.state import WorktreeState


def open_reds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    return [red.test_id for red in _state().valid_reds if red.test_id.startswith(incomplete)]


def laid_aside(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    return [aside for aside in _state().aside if aside.startswith(incomplete)]


def _state() -> WorktreeState:
    """An error here would be printed into the user's command line: then nothing is offered."""
    from verdigris.cli.opening import here
    from verdigris.core.state import WorktreeState
    from verdigris.kernel.project import open_log
    from verdigris.kernel.repository import find_repository

    try:
        repo = find_repository(here())
        return open_log(repo).state().of(repo.worktree)
    except VerdigrisError:
        return WorktreeState()
