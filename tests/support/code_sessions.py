"""A session's tools in a real project, and sessions whose model is scripted."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from support.turns import World, make_world
from verdigris.core.records import Actor
from verdigris.drivers.code.dispatch import Dispatcher
from verdigris.drivers.code.jobs import Jobs
from verdigris.drivers.code.law_tools import last_event
from verdigris.drivers.code.session_file import Opened, SessionFile
from verdigris.drivers.code.tools import is_patching, tools_for
from verdigris.drivers.code.workbench import ToolAnswer, Workbench
from verdigris.models.protocol import ToolCall
from verdigris.models.providers import Scrubber

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSION = "0123abcd"


@dataclass
class Bench:
    """The tools of one session, called by name as a model calls them."""

    world: World
    bench: Workbench
    dispatcher: Dispatcher
    calls: int = field(default=0)

    def __call__(self, name: str, /, **given: Any) -> ToolAnswer:
        return self.raw(name, json.dumps(given))

    def raw(self, name: str, arguments: str, finish: str = "tool_calls") -> ToolAnswer:
        self.calls += 1
        return self.dispatcher.carry_out(ToolCall(f"c{self.calls}", name, arguments), finish=finish)


@contextmanager
def make_bench(root: Path, config: str = "", *, model: str = "scripted", **files: str) -> Iterator[Bench]:
    world = make_world(root, config, **files)
    project = replace(world.project, actor=Actor("agent", SESSION, "code"))
    file = SessionFile(project.repo, SESSION, Scrubber(()))
    file.add(Opened(model, start=last_event(project)))
    jobs = Jobs(root.with_name(f"{root.name}.jobs"))
    bench = Workbench(project, SESSION, Scrubber(("LLM_KEY",)), jobs, patching=is_patching(model))
    try:
        yield Bench(world, bench, Dispatcher(bench, file, tools_for(model)))
    finally:
        jobs.close()
