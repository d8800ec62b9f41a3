"""`tdd uninit`: takes back what `tdd init` did."""

from __future__ import annotations

import click

from verdigris.cli.context import PERSON, here, persons_only, project
from verdigris.cli.output import deny, show
from verdigris.core.errors import NotConfigured


@click.command("uninit")
@click.option("--force", is_flag=True, help="Remove tdd.yaml although it is not as `tdd init` wrote it.")
def command(*, force: bool) -> int:
    """Undo `tdd init`: take the gates out of agents' settings, remove tdd.yaml if it is as init wrote it.

    A scaffold is removed while nobody has worked in it; what the machine left (worktree, branch, .tdd) is
    removed where your branch has all of its commits. The log stays, and so does the git repository.
    """
    from verdigris.cli import init
    from verdigris.cli import init as view
    from verdigris.setup.initialisation import uninitialise
    from verdigris.setup.scaffold_files import undo

    if denial := persons_only("uninit"):
        return deny(denial)
    _remove_leftovers()
    played = _remove_cycle_files()
    taken_out = _taken_out()
    undone = undo(here())
    removed = uninitialise(here(), PERSON, force=force)
    show([*view.removed_lines(removed), *init.undone_lines(undone), *view.gate_removed_lines(taken_out)])
    show(view.cycle_removed_lines(played))
    return 0


def _remove_leftovers() -> None:
    """Shown before anything is done; nothing goes that is nowhere else."""
    from verdigris.cli.init import leftover_lines
    from verdigris.drivers.machine.worktree import leftovers, remove
    from verdigris.storage.repository import find_repository

    root = find_repository(here()).root
    found = leftovers(root)
    show(leftover_lines((one.what, one.kept) for one in found))
    remove(root, found)


def _remove_cycle_files() -> tuple[str, ...]:
    """Before the gates: what is left of an agent's folder goes with those."""
    from verdigris.gates.clients.registry import clients
    from verdigris.gates.cycle_files import remove_cycle_files

    try:
        here = project()
    except NotConfigured:
        return ()
    return tuple(path for client in clients() for path in remove_cycle_files(here, client))


def _taken_out() -> dict[str, tuple[str, ...]]:
    """The files from which each client's hooks were taken, by the name that people call it."""
    from verdigris.gates.clients.registry import clients

    try:
        here = project()
    except NotConfigured:
        return {}
    return {client.title: client.uninstall(here) for client in clients()}
