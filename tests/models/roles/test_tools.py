from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pytest

from support.kata_run import start
from verdigris.models.protocol import Ask, Message, ModelReply, ToolCall, Usage
from verdigris.models.roles.conversation import Talk, converse
from verdigris.models.roles.prompt import Task
from verdigris.models.roles.teams import MACHINE
from verdigris.models.roles.tools import TOOLS, answer

MATERIAL = replace(
    start(),
    files={
        "src/a.py": "def add():\n    return 1\n",
        "src/b.py": "import a\na.add()\n",
        "empty.py": "",
        "logo.png": None,
        ".env": "TOKEN=hush\n",
        "tests/test_held.py": "hush\n",
    },
    withheld=frozenset({"tests/test_held.py"}),
)
OUTSIDE = "/etc/passwd cannot be read: it is not relative to the project's root."
USAGE = 'read_file takes a JSON object with one text: {"path": "…"}.'
ABSOLUTE = "broken glob '/src': it is absolute; write it relative, without the first `/`."
ASK = Ask((Message("user", "go"),), tools=TOOLS)
TALK = Talk(MATERIAL, Task(MACHINE.roles[0], 1), ASK, ASK, frozenset())


def call(name: str, number: int = 0, /, **arguments: object) -> ToolCall:
    return ToolCall(f"c{number}", name, json.dumps(arguments))


@pytest.mark.parametrize(
    ("called", "said"),
    [
        (call("read_file", path="src/a.py"), "def add():\n    return 1\n"),
        (call("read_file", path="./src/a.py"), "def add():\n    return 1\n"),
        (call("read_file", path="empty.py"), "empty.py is empty."),
        (call("read_file", path="lib/a.py"), "There is no file lib/a.py. Files of that name: src/a.py."),
        (call("read_file", path="none.py"), "There is no file none.py."),
        (call("read_file", path="logo.png"), "logo.png is not a text file."),
        (
            call("read_file", path=".env"),
            ".env may not be read.",
        ),
        (
            call("read_file", path="tests/test_held.py"),
            "tests/test_held.py may not be read.",
        ),
        (call("read_file", path="../x"), "../x cannot be read: `..` may lead outside of the project."),
        (call("read_file", path="/etc/passwd"), OUTSIDE),
        (call("read_file", file="a"), USAGE),
        (ToolCall("c", "read_file", "{broken"), USAGE),
        (ToolCall("c", "read_file", "[]"), USAGE),
        (call("list_files", glob="src/**"), "src/a.py\nsrc/b.py"),
        (call("list_files", glob="**"), "empty.py\nlogo.png\nsrc/a.py\nsrc/b.py"),
        (call("list_files", glob="*.rs"), "No file matches *.rs."),
        (call("list_files", glob="/src"), ABSOLUTE),
        (call("search", text="add("), "src/a.py:1: def add():\nsrc/b.py:2: a.add()"),
        (call("search", text="hush"), "No line contains 'hush'."),
        (call("shell", command="ls"), "There is no tool shell; there are read_file, list_files, search."),
    ],
)
def test_what_a_tool_says(called: ToolCall, said: str) -> None:
    assert answer(called, MATERIAL, 1000).text == said


def test_a_file_that_is_given_in_part_is_not_given_whole() -> None:
    found = answer(call("read_file", path="src/a.py"), MATERIAL, 5)
    assert found.text == "src/a.py has 24 characters, of which these are the first 5:\ndef a"
    assert found.path is None


@dataclass
class Script:
    replies: list[ModelReply]
    asks: list[Ask] = field(default_factory=list)
    name: str = "script"

    def ask(self, ask: Ask) -> ModelReply:
        self.asks.append(ask)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def test_a_model_reads_and_then_answers() -> None:
    calls = (call("read_file", 1, path="src/a.py"), call("search", 2, text="import"))
    model = Script([ModelReply("see", calls, Usage(10, 2, 3)), ModelReply("done", usage=Usage(20, 10, 4))])
    talk = converse(model, TALK)
    assert talk.answered == "done"
    assert talk.known == {"src/a.py"}
    assert [each.reply.usage for each in talk.exchanges] == [Usage(10, 2, 3), Usage(20, 10, 4)]
    assert talk.ask.messages == (
        *ASK.messages,
        Message("assistant", "see", calls),
        Message("tool", "def add():\n    return 1\n", call_id="c1"),
        Message("tool", "src/b.py:1: import a", call_id="c2"),
    )
    assert [each.ask for each in talk.exchanges] == model.asks


def test_a_model_that_never_stops_reading_is_told_so_and_then_left() -> None:
    model = Script([ModelReply("", (call("read_file", path="src/a.py"),))])
    talk = converse(model, TALK, rounds=2)
    assert len(model.asks) == 4
    given = [message.content for message in talk.ask.messages if message.role == "tool"]
    assert given[:2] == ["def add():\n    return 1\n"] * 2
    assert given[2].startswith("You have read enough")
    assert talk.answered == ""


def test_what_is_given_has_an_end() -> None:
    model = Script([ModelReply("", (call("read_file", path="src/a.py"),) * 3), ModelReply("done")])
    talk = converse(model, TALK, characters=30)
    given = [message.content for message in talk.ask.messages if message.role == "tool"]
    assert given[0] == "def add():\n    return 1\n"
    assert "the first 6:" in given[1]
    assert given[2].startswith("You have read enough")


def test_many_calls_at_once_are_not_all_answered() -> None:
    calls = tuple(call("search", n, text="x") for n in range(40))
    model = Script([ModelReply("", calls), ModelReply("done")])
    given = [m for m in converse(model, TALK).ask.messages if m.role == "tool"]
    assert len(given) == 40
    assert given[-1].content.startswith("You have read enough")
