"""Opens rooms for a project, as it is configured and as far as the system allows."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from verdigris import sandbox
from verdigris.core.errors import HarnessError
from verdigris.execution.room.layers import Layer, furnish
from verdigris.execution.room.room import Room
from verdigris.execution.room.terms import LEAN, Terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verdigris.sandbox import Availability, Confinement
    from verdigris.sandbox.foldersx import Folders
    from verdigris.storage.project import Project

T = TypeVar("T")

TRIES = 2
"""To confine a run: how it is done is remembered, and may have to be found out anew."""
GIT_SEEN = "`room: {git: true}`: the run could read the repository's history, and answers in it"
HOST_INSTEAD = "no network of its own can be made here: the run had the machine's"


def possible(project: Project) -> Availability:
    """How a run can be confined here, as remembered in the worktree's private folder."""
    return sandbox.remembered(_note(project))


def terms_of(project: Project) -> Terms:
    settings = project.settings
    found = possible(project)
    given = settings.room_env if settings.room_plugins is None else (*settings.room_env, LEAN)
    return Terms(
        root=str(project.root),
        control=str(project.repo.control),
        way=found.way,
        place=found.place if found.ok else sandbox.temporary(),
        network=settings.room_network if found.network else "host",
        given=given,
        git="" if settings.room_git else str(project.repo.common_dir),
    )


def notes_of(project: Project, terms: Terms) -> tuple[str, ...]:
    """What the room could not give, or gives by a person's word, for a verdict to tell."""
    if terms.way is None:
        return ()
    network = () if terms.network == project.settings.room_network else (HOST_INSTEAD,)
    return network if terms.git else (*network, GIT_SEEN)


@contextmanager
def room(
    project: Project,
    argv: Sequence[str] = (),
    *,
    layer: Layer | None = None,
    equip: Callable[[Confinement, Folders], Confinement] | None = None,
) -> Iterator[Room]:
    """For a run of `argv`, on the tree of `layer` instead of the worktree's where one is given."""
    terms = terms_of(project)
    if layer is not None and terms.way is None:
        raise HarnessError("another tree can be shown in a sandbox only")
    made = Room(terms, argv, None if layer is None else partial(furnish, project, layer), equip)
    try:
        yield made
    finally:
        made.close()


def insist(project: Project, attempt: Callable[[], T | str]) -> T:
    """What an attempt in a room gives; one that says why it could not be confined is made once more."""
    why = ""
    for _ in range(TRIES):
        done = attempt()
        if not isinstance(done, str):
            return done
        why = done
        forget(project)
    raise HarnessError(f"the run could not be confined, so it was not made: {why}", hint="`tdd doctor`")


def forget(project: Project) -> None:
    """How to confine is found out anew: what was remembered did not work."""
    sandbox.available.cache_clear()
    sandbox.forget(_note(project))


def _note(project: Project) -> str:
    return str(project.repo.private / "sandbox")
