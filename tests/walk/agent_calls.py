"""Rules of a walk: an agent whose calls go through the gate's hooks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import rule

from walk.handwriting import MODULES, expectations, functions, test_file, with_block, with_changed
from walk.journey import Journey
from walk.laws import Wrong, gist, is_same_move

MODULE = st.sampled_from(MODULES)
PASS = "pass"


class AgentCalls(Journey):
    @rule(module=MODULE)
    def agent_writes_a_test(self, module: str) -> None:
        name = self.hand.new_name()
        text = self.here.read(test_file(module)) or self.hand.tests_of(module)
        self._write(test_file(module), with_block(text, self.hand.test(module, name, int(name[1:]))))

    @rule(module=MODULE)
    def agent_makes_the_source_right(self, module: str) -> None:
        path = f"{module}.py"
        text = self.here.read(path) or self.hand.module(module)
        there = functions(text)
        for name, value in expectations(self.here.read(test_file(module))).items():
            if there.get(name) != value:
                text = with_changed(text, name, self.hand.function(name, value))
        self._write(path, text)

    @rule(module=MODULE)
    def agent_writes_source_without_a_test(self, module: str) -> None:
        path = f"{module}.py"
        name = self.hand.new_name()
        text = self.here.read(path) or self.hand.module(module)
        self._write(path, with_block(text, self.hand.function(name, int(name[1:]))))

    @rule(path=st.sampled_from(("a.py", "tests/test_a.py", "README.md", "pytest.ini", "tdd.yaml")))
    def agent_writes_by_a_command(self, path: str) -> None:
        text = f"{self.here.read(path)}{self.hand.comment()}\n"
        self._command(f"append to {path}", lambda: self.here.write(path, text))

    @rule()
    def agent_commits(self) -> None:
        def commit() -> None:
            self.here.git("add", "--all")
            self.here.git("commit", "--quiet", "--message", "by an agent")

        before = self.seen().committed_marks
        self._command("git commit", commit, moves=True)
        self.agents |= before ^ self.seen().committed_marks

    @rule()
    def agent_stops(self) -> None:
        self.stop()

    def stop(self) -> str:
        """What the agent or the person is told."""
        said = self.machine("stop", lambda: self.here.client.raw("Stop").stdout) or "{}"
        document = json.loads(said)
        sent_back = document.get("hookSpecificOutput", {}).get("additionalContext")
        told = str(sent_back or document.get("reason") or document.get("systemMessage") or "")
        move = self.here.agents_next()
        for named in re.findall(r"next: (.*)$", told, re.MULTILINE)[-1:]:
            if not is_same_move(named, move):
                detail = f"{told}\ntdd status says: {move}"
                self.complain([Wrong(f"another next: stop ({gist(move)})", detail)])
        return told

    def _write(self, path: str, text: str) -> None:
        if text == self.here.read(path):
            return
        call = {"file_path": str(self.here.root / path), "content": text}
        if self.machine("before Write", lambda: self.here.client.before("Write", **call)) == PASS:
            self.edit(path, text)
            self.machine("after Write", lambda: self.here.client.after("Write", **call))

    def _command(self, what: str, act: Callable[[], object], *, moves: bool = False) -> None:
        if self.machine("before Bash", lambda: self.here.client.before("Bash", command=what)) == PASS:
            self.person(f"agent: {what}", act)
            ended = partial(self.here.client.after, "Bash", command=what)
            self.machine("after Bash", ended, moves=moves)
