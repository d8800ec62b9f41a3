"""Several agents in one worktree, driven in this process: hooks, file tools, shell calls that stay open."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from support.hooks import Client
from verdigris.core.records import Actor
from verdigris.storage.calls import call_records
from verdigris.storage.calls.open_calls import alive
from verdigris.storage.project import Project, open_project
from verdigris.turns.test import run_tests
from verdigris.turns.tripwire.calls import after_call, before_call

if TYPE_CHECKING:
    from support.turns import World
    from verdigris.turns.tripwire import Tripped

_NUMBERS = count(1)


def agent(world: World, context: str) -> Project:
    return open_project(world.root, Actor("agent", context, "claude"))


class Call:
    """A shell call of an agent, with the looks that its shell makes; several are open in this process."""

    def __init__(self, world: World, context: str, command: str = "make") -> None:
        self.world = world
        self.context = context
        private = str(world.project.repo.private)
        self.before = before_call(agent(world, context), agent_alive=alive(private))
        self.descriptor = call_records.open_record(private, command, context)
        folder = Path(call_records.folder_of(private))
        self.record = folder / f"{os.getpid()}{next(_NUMBERS):03}"
        (folder / str(os.getpid())).rename(self.record)

    def end(self) -> Tripped:
        self.record.unlink()
        os.close(self.descriptor)
        private = str(self.world.project.repo.private)
        return after_call(agent(self.world, self.context), agent_alive=alive(private))


class Agent(Client):
    @property
    def context(self) -> str:
        return self.agent or self.session

    @property
    def project(self) -> Project:
        return agent(self.world, self.context)

    def test(self, test_id: str) -> None:
        run_tests(self.project, [test_id], cwd=self.world.root)

    def shell(self, path: str, text: str) -> str:
        """A shell call that writes a file; what the model is told."""
        self.before("Bash", command=f"write {path}")
        self.world.write(path, text)
        return self.after("Bash", command=f"write {path}")

    def write(self, path: str, text: str) -> str:
        """A file tool; `pass`, or the rule of the denial."""
        decided = self.before("Write", file_path=path, content=text)
        if decided == "pass":
            self.world.write(path, text)
            self.after("Write", file_path=path, content=text)
        return decided
