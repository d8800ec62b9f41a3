"""A walk whose steps are written down: the laws are checked after each of them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from walk.every_rule import Walk
from walk.following import make_right
from walk.handwriting import test_file, with_block, with_changed, with_docstring, without

if TYPE_CHECKING:
    from walk.place import Answer, Place


class Story:
    def __init__(self) -> None:
        self.walk = Walk()

    @property
    def here(self) -> Place:
        return self.walk.here

    def tdd(self, line: str) -> Answer:
        answer = self.walk.verb(*shlex.split(line))
        self.walk.laws_hold()
        return answer

    def git(self, line: str) -> Answer:
        answer = self.walk.git(*shlex.split(line))
        self.walk.laws_hold()
        return answer

    def write(self, path: str, text: str) -> None:
        self.walk.edit(path, text)
        self.walk.laws_hold()

    def add_test(self, module: str, name: str, value: int | None = None) -> None:
        block = self.walk.hand.test(module, name, _value(name, value))
        path = test_file(module)
        self.write(path, with_changed(self.here.read(path), f"test_{name}", block))

    def add_function(self, module: str, name: str, value: int | None = None) -> None:
        """Or change it."""
        block = self.walk.hand.function(name, _value(name, value))
        self.write(f"{module}.py", with_changed(self.here.read(f"{module}.py"), name, block))

    def cut(self, path: str, name: str) -> None:
        self.write(path, without(self.here.read(path), name))

    def change_docstring(self, module: str) -> None:
        line = self.walk.hand.module(module).rstrip("\n")
        self.write(f"{module}.py", with_docstring(self.here.read(f"{module}.py"), line))

    def comment(self, path: str) -> None:
        self.write(path, with_block(self.here.read(path), self.walk.hand.comment()))

    def make_right(self) -> None:
        self.walk.person("make the source right", lambda: make_right(self.here, self.walk.hand))
        self.walk.laws_hold()

    def turn(self, module: str, name: str) -> None:
        """Accepted."""
        self.claimed(module, name)
        self.make_right()
        assert self.tdd("settle").code == 0

    def agent_writes(self, path: str, text: str) -> str:
        """What the gate says before the call."""
        client = self.here.client
        call = {"file_path": str(self.here.root / path), "content": text}
        said = self.walk.machine("before Write", lambda: client.before("Write", **call))
        if said == "pass":
            self.walk.edit(path, text)
            self.walk.machine("after Write", lambda: client.after("Write", **call))
        self.walk.laws_hold()
        return said or ""

    def agent_stops(self) -> str:
        told = self.walk.stop()
        self.walk.laws_hold()
        return told

    def claimed(self, module: str, name: str) -> None:
        self.add_test(module, name)
        self.tdd(f"test {test_file(module)}::test_{name}")
        assert self.tdd(f"claim {test_file(module)}::test_{name}").code == 0

    def commit(self) -> None:
        self.walk.git("add", "--all")
        self.git("commit --quiet --message all")

    def next_leads_on(self) -> None:
        self.walk.follow_in_a_copy()


def _value(name: str, value: int | None) -> int:
    return int(name[1:]) if value is None else value
