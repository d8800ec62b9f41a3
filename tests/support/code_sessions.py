"""The tools of a session in a real project, and sessions whose model is scripted."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from support.cli import TDD, Cli, Ran
from support.forked import ForkedProcess, start_forked
from support.gitrepo import GitRepo
from support.openai_server import Answer, Call, Script, Server, Step, serving
from support.turns import CONFIG, QUICK, World, begin_project, make_world
from support.watchers import ignore_event
from verdigris.core.records import Actor
from verdigris.drivers.budget import Limits
from verdigris.drivers.code.session_file import Opened, SessionFile
from verdigris.drivers.code.session_start import SessionOptions, open_session, run_session, work_on_task
from verdigris.drivers.code.tools.dispatch import Dispatcher, is_patching, tools_for
from verdigris.drivers.code.tools.law import last_event
from verdigris.drivers.code.tools.workbench import Jobs, ToolAnswer, Workbench
from verdigris.models.protocol import ToolCall
from verdigris.models.providers import Scrubber
from verdigris.storage.project import Project, open_project

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from verdigris.drivers.code.session import Session
    from verdigris.drivers.code.settings import Sweep
    from verdigris.drivers.happenings import Happening, SessionEnded

SESSION = "0123abcd"
KEY = "hush-0123456789-hush"


@dataclass
class Bench:
    """The tools of one session, called by name, as a model calls them."""

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


TEST = "tests/test_calculator.py"
TEST_ID = f"{TEST}::test_add"
TEST_TEXT = """\
from calculator import add


def test_add():
    assert add(17, 25) == 42
    assert add(100, 23) == 123
"""
STUB = "def add(a, b):\n    raise NotImplementedError  # STUB:TDD\n"
GOOD = "def add(a, b):\n    return a + b\n"
STEP = {"title": "add two numbers", "test_id": TEST_ID, "test_file_path": TEST}


def call(name: str, /, **given: Any) -> Call:
    return Call(name, given)


def turn(*calls: Call, text: str = "") -> Answer:
    """A reply whose calls have ids of their own."""
    return Answer(text, tuple(replace(one, id=f"call_{number}") for number, one in enumerate(calls)))


RED = (
    turn(
        call("submit_plan", steps=[STEP]),
        call("create_file", path=TEST, content=TEST_TEXT),
        call("run_tests", ids=[TEST]),
        text="First a failing test.",
    ),
    turn(call("create_file", path="calculator.py", content=STUB), call("run_tests", ids=[TEST_ID])),
)
GREEN = turn(
    call(
        "edit_file",
        path="calculator.py",
        search="    raise NotImplementedError  # STUB:TDD\n",
        replace="    return a + b\n",
    )
)
FINISH = turn(call("mark_step", step=1), call("finish", summary="add sums two numbers."))
HONEST: tuple[Step, ...] = (*RED, GREEN, FINISH)


@dataclass
class Played:
    """A repository that holds only its configuration, and a model at a socket that plays a script."""

    repo: GitRepo
    server: Server
    home: Path

    @property
    def env(self) -> dict[str, str]:
        return {"SCRIPT_KEY": KEY, "XDG_CACHE_HOME": str(self.home)}

    def code(self, *words: str) -> Ran:
        return Cli(self.repo).tdd("code", *words, env=self.env)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A process of its own, which a test can write to or kill."""
        return subprocess.Popen(
            [*TDD, "code", *words],
            cwd=self.repo.root,
            env=Cli(self.repo).environment() | self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def fork(self, *words: str) -> ForkedProcess:
        """The same, forked with all modules loaded."""
        return start_forked(["code", *words], self.repo.root, Cli(self.repo).environment() | self.env)

    def events(self, *words: str) -> list[dict[str, Any]]:
        """The documents of a run that prints JSON."""
        ran = self.code(*words, "--json")
        return [json.loads(line) for line in ran.out.splitlines()]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The last request that the model got."""
        return self.server.requests[-1].messages

    def answers(self) -> list[str]:
        return [str(message["content"]) for message in self.messages if message["role"] == "tool"]

    @property
    def project(self) -> Project:
        return open_project(self.repo.root, Actor(client="test"))


@contextmanager
def playing(
    tmp_path: Path,
    script: Script,
    config: str = "",
    *,
    live: bool = False,
    files: Mapping[str, str] | None = None,
    **settings: Any,
) -> Iterator[Played]:
    with serving(script, key=KEY, **settings) as server:
        roles = "roles: {agent: {model: scripted}}\n"
        llm = f'llm: {{base_url: "{server.url}", api_key_env: SCRIPT_KEY}}\n'
        ours = {
            "tdd.yaml": f"{'' if live else QUICK}{CONFIG}{roles}{llm}{config}",
            "README.md": "A calculator.\n",
        }
        repo = begin_project(tmp_path / "repo", {**ours, **(files or {})}, "a beginning")
        yield Played(repo, server, tmp_path / "cache")


@dataclass
class Worked:
    """A session that runs in this process."""

    played: Played
    happenings: list[Happening]
    ended: SessionEnded

    def of(self, kind: type[Any]) -> list[Any]:
        return [happening for happening in self.happenings if isinstance(happening, kind)]


def work(
    played: Played,
    task: str = "Write a calculator that adds.",
    *,
    uncovered: bool = False,
    sweep: Sweep | None = None,
    **given: Any,
) -> Worked:
    """Run a session as the command does, in this process; `given`: its `SessionOptions`."""
    happenings: list[Happening] = []
    os.environ["SCRIPT_KEY"] = KEY
    try:
        with open_session(played.repo.root, happenings.append, SessionOptions(**given)) as session:
            ended = run_session(session, task, uncovered=uncovered, sweep=sweep)
    finally:
        del os.environ["SCRIPT_KEY"]
    return Worked(played, happenings, ended)


@contextmanager
def session_after(
    tmp_path: Path, *script: Step, turns: int, config: str = ""
) -> Iterator[tuple[Played, Session]]:
    """An open session in which the model made these turns."""
    with playing(tmp_path, script, config) as played, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCRIPT_KEY", KEY)
        options = SessionOptions(limits=Limits(rounds=turns))
        with open_session(played.repo.root, ignore_event, options) as session:
            work_on_task(session, "Write a calculator that adds.")
            session.limits = Limits()
            yield played, session
