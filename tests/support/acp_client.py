"""A client of `tdd code --acp` over real pipes; it checks each message against the protocol's schema."""

from __future__ import annotations

import json
import queue
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from support.cli import Cli
from support.forked import ForkedProcess, start_forked
from support.late_imports import LateModule

acp: Any = LateModule("acp")
schema: Any = LateModule("acp.schema")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import BaseModel

    from support.code_sessions import Played

SECONDS = 60.0
ANSWERS = {
    "initialize": "InitializeResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/close": "CloseSessionResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/prompt": "PromptResponse",
}
"""Names of models of the schema, as in the table below."""
ASKED = {
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
}


def check_message(message: dict[str, Any], asked: dict[Any, str]) -> None:
    """The models drop what they cannot read, so the model's dump must equal what was written."""
    assert message["jsonrpc"] == "2.0"
    if "method" in message:
        assert ("id" in message) == (message["method"] == "session/request_permission")
        name, said = ASKED[message["method"]], message["params"]
    elif "error" in message:
        name, said = "Error", {key: one for key, one in message["error"].items() if key != "data"}
    else:
        name, said = ANSWERS[asked[message["id"]]], message["result"]
    model: type[BaseModel] = getattr(schema, name)
    read = model.model_validate(said).model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert read == said


@dataclass
class RawClient:
    """Writes lines with any content, and reads messages."""

    process: ForkedProcess
    received: queue.Queue[dict[str, Any] | None] = field(default_factory=queue.Queue)
    updates: list[dict[str, Any]] = field(default_factory=list)
    """Updates of all sessions, in their order."""
    asked: dict[Any, str] = field(default_factory=dict)
    faults: list[Exception] = field(default_factory=list)
    permit: Callable[[dict[str, Any]], str | None] = lambda _: None
    """The option to choose when permission is asked for; None: no answer."""
    number: int = 0

    def read(self) -> None:
        for line in self.process.stdout:
            try:
                message = json.loads(line)
                check_message(message, self.asked)
            except Exception as error:  # noqa: BLE001 - raised where the test waits
                self.faults.append(error)
                break
            self.received.put(message)
        self.received.put(None)

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method: str, /, **params: Any) -> int:
        self.number += 1
        self.asked[self.number] = method
        document = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.write(json.dumps(document).encode() + b"\n")
        return self.number

    def notify(self, method: str, /, **params: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def next(self) -> dict[str, Any] | None:
        """The next message, updates included; None at the end."""
        message = self.received.get(timeout=SECONDS)
        if self.faults:
            raise self.faults[0]
        match message:
            case {"method": "session/update", "params": params}:
                self.updates.append(params["update"])
            case {"method": "session/request_permission", "params": params, "id": number}:
                self._answer_permission(number, self.permit(params))
        return message

    def _answer_permission(self, number: int, chosen: str | None) -> None:
        if chosen is not None:
            result = {"outcome": {"outcome": "selected", "optionId": chosen}}
            self.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode() + b"\n")

    def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while (message := self.next()) is not None:
            if holds(message):
                return message
        raise AssertionError(f"the agent has ended: {self.end()}")

    def answer(self, number: int | None) -> dict[str, Any]:
        return self.until(lambda message: "method" not in message and message["id"] == number)

    def ask(self, method: str, /, **params: Any) -> dict[str, Any]:
        """The result of a call; an error fails the test."""
        message = self.answer(self.send(method, **params))
        assert "result" in message, message
        result: dict[str, Any] = message["result"]
        return result

    def refused(self, method: str, /, **params: Any) -> dict[str, Any]:
        message = self.answer(self.send(method, **params))
        assert "error" in message, message
        error: dict[str, Any] = message["error"]
        return error

    def begin(self) -> None:
        self.ask("initialize", protocolVersion=1, clientCapabilities={})

    def new(self, cwd: object) -> str:
        return str(self.ask("session/new", cwd=str(cwd), mcpServers=[])["sessionId"])

    def prompt(self, session: str, text: str) -> str:
        return str(self.ask("session/prompt", sessionId=session, prompt=[text_block(text)])["stopReason"])

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    def text(self) -> str:
        return "".join(update["content"]["text"] for update in self.of("agent_message_chunk"))

    def end(self) -> tuple[int, str]:
        """The exit code and the text on standard error, after the input has ended."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        said = self.process.stderr.read().decode()
        return self.process.wait(SECONDS), said


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@contextmanager
def editing(played: Played, *words: str, begin: bool = True) -> Iterator[RawClient]:
    """A client that has done the protocol's handshake; the command is forked, because its SDK loads for a
    second.
    """
    env = Cli(played.repo).environment() | played.env
    import_module("acp")  # here, once for all its forks
    process = start_forked(["code", "--acp", *words], played.repo.root, env)
    client = RawClient(process)
    reader = threading.Thread(target=client.read)
    reader.start()
    try:
        if begin:
            client.begin()
        yield client
    finally:
        process.kill()
        process.wait()
        reader.join()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()
