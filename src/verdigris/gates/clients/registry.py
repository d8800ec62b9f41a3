"""The coding agents that can be connected: those that come with Verdigris, and those of other packages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from verdigris.core.errors import UserError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from verdigris.gates.clients.protocol import Client

GROUP = "verdigris.clients"
"""Entry points of other packages: the agent's name, and the object that is its `Client`."""
BUILT_IN = {"claude": "verdigris.gates.clients.claude.client"}
"""Modules whose `CLIENT` it is; loaded when it is asked for."""


def names() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*BUILT_IN, *(point.name for point in _points()))))


def find(name: str) -> Client:
    if name in BUILT_IN:
        return cast("Client", import_module(BUILT_IN[name]).CLIENT)
    for point in _points():
        if point.name == name:
            return cast("Client", point.load())
    raise UserError(
        f"this version cannot connect {name} yet.",
        hint=f"`tdd init --agent {' or '.join(names())}`, or without --agent: "
        "`tdd test` and `tdd settle` serve any agent",
    )


def clients() -> tuple[Client, ...]:
    return tuple(map(find, names()))


def _points() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=GROUP))
