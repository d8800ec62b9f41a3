"""`tdd uninit`: takes back what `tdd init` wrote, and says what it left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from verdigris.cli.context import PERSON, here, persons_command, project, show
from verdigris.core.errors import NotConfigured
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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


def leftover_lines(found: Iterable[tuple[str, str]]) -> list[Line]:
    """What goes, and what stays with the reason."""
    return [Line(f"kept {what}: {why}" if why else f"will remove {what}") for what, why in found]


def gate_removed_lines(taken_out: Mapping[str, Sequence[str]]) -> list[Line]:
    return [
        Line(f"{title} is disconnected: its hooks are taken out of {' and '.join(files)}")
        for title, files in taken_out.items()
        if files
    ]


def cycle_removed_lines(files: Sequence[str]) -> list[Line]:
    return [Line(f"the cycle's files are as they were before: {' '.join(files)}")] if files else []


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
    from verdigris.setup.initialisation import uninitialise
    from verdigris.setup.scaffold_files import undo

    _remove_leftovers()
    played = _remove_cycle_files()
    taken_out = _uninstall_clients()
    undone = undo(here())
    removed = uninitialise(here(), PERSON, force=force)
    show([*removed_lines(removed), *undone_lines(undone), *gate_removed_lines(taken_out)])
    show(cycle_removed_lines(played))
    show(_remove_pre_push())
    return 0


def _remove_pre_push() -> list[Line]:
    from verdigris.setup.initialisation import remove_hook
    from verdigris.storage.repository import find_repository

    removed = remove_hook(find_repository(here()).root)
    return [] if removed is None else [Line(f"the hook {removed} is as it was before `tdd init --pre-push`")]


def _remove_leftovers() -> None:
    """Shown before anything is done; nothing goes that is nowhere else."""
    from verdigris.drivers.loop.branches import work
    from verdigris.drivers.machine import open_machine
    from verdigris.drivers.private_worktree import remove_leftovers
    from verdigris.storage.repository import find_repository

    root = find_repository(here()).root
    found = (*open_machine.leftovers(root), *work.leftovers(root))
    show(leftover_lines((one.what, one.kept) for one in found))
    remove_leftovers(root, found)


def _remove_cycle_files() -> tuple[str, ...]:
    """Before the gates: what is left of an agent's folder goes with those."""
    from verdigris.gates.clients.installation import remove_cycle_files
    from verdigris.gates.clients.registry import clients

    try:
        here = project()
    except NotConfigured:
        return ()
    return tuple(path for client in clients() for path in remove_cycle_files(here, client))


def _uninstall_clients() -> dict[str, tuple[str, ...]]:
    """The files from which each client's hooks were taken, by the name that people call it."""
    from verdigris.gates.clients.registry import clients

    try:
        here = project()
    except NotConfigured:
        return {}
    return {client.title: client.uninstall(here) for client in clients()}
