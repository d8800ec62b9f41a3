"""`tdd uninit`: takes back what `tdd init` wrote, and says what it left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from verdigris.cli.context import PERSON, here, persons_command, project, show
from verdigris.core.errors import NotConfigured
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.setup.initialisation import Removed
    from verdigris.setup.scaffold_files import RemovedScaffold


def removed_lines(removed: Removed) -> list[Line]:
    match removed.file:
        case "removed":
            what = "tdd.yaml is removed"
        case "kept":
            what = (
                "tdd.yaml is not as `tdd init` wrote it, so it is kept, and the next command adopts it again"
                " (`tdd uninit --force` removes it)"
            )
        case "missing":
            what = "there was no tdd.yaml"
    head = "Verdigris is no longer set up here" if removed.was_configured else "Verdigris was not set up here"
    return [Line(f"{head}; {what}; the log stays")]


def undone_lines(undone: RemovedScaffold) -> list[Line]:
    match undone.scaffold:
        case "removed":
            return [Line(f"removed what `tdd init` wrote: {' '.join(undone.paths)}")]
        case "kept":
            return [Line(f"the scaffold stays, for there is work in it ({undone.worked})")]
        case "none":
            return []


@click.command("uninit")
@click.option("--force", is_flag=True, help="Remove tdd.yaml although it is not as `tdd init` wrote it.")
@persons_command("uninit")
def command(*, force: bool) -> int:
    """Undo `tdd init`: take the gates out of agents' settings, remove tdd.yaml if it is as init wrote it.

    A scaffold is removed while nobody has worked in it; what the machine left (worktree, branch, .tdd) is
    removed where your branch has all of its commits, and a program's worktree where it holds no changes. The
    log stays, and so does the git repository.
    """
    from verdigris.setup.initialisation import remove_hook, uninitialise
    from verdigris.setup.scaffold_files import undo
    from verdigris.storage.repository import find_repository

    root = find_repository(here()).root
    _remove_leftovers(root)
    disconnected = list(_disconnect_agents())
    undone = undo(here())
    removed = uninitialise(here(), PERSON, force=force)
    show([*removed_lines(removed), *undone_lines(undone), *disconnected])
    if (hook := remove_hook(root)) is not None:
        show([Line(f"the hook {hook} is as it was before `tdd init --pre-push`")])
    return 0


def _remove_leftovers(root: Path) -> None:
    """Shown before anything is done; nothing goes that is nowhere else."""
    from verdigris.drivers.loop.branches import work
    from verdigris.drivers.machine import open_machine
    from verdigris.drivers.private_worktree import remove_leftovers

    left = (*open_machine.leftovers(root), *work.leftovers(root))
    show([Line(f"kept {one.what}: {one.kept}" if one.kept else f"will remove {one.what}") for one in left])
    remove_leftovers(root, left)


def _disconnect_agents() -> Iterator[Line]:
    """The cycle's files before the gates: what is left of an agent's folder goes with those."""
    from verdigris.gates.clients.installation import remove_cycle_files
    from verdigris.gates.clients.registry import clients

    try:
        opened = project()
    except NotConfigured:
        return
    played = [path for client in clients() for path in remove_cycle_files(opened, client)]
    for client in clients():
        if files := client.uninstall(opened):
            yield Line(f"{client.title} is disconnected: its hooks are taken out of {' and '.join(files)}")
    if played:
        yield Line(f"the cycle's files are as they were before: {' '.join(played)}")
