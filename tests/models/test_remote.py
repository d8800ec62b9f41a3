from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.openai_server import (
    Answer,
    Call,
    Cut,
    Junk,
    Refusal,
    Request,
    Server,
    Slow,
    Stall,
    Step,
    failing,
    nobody,
    overflow,
    prose,
    rate_limited,
    serving,
    unsupported,
)
from verdigris.core.errors import ContextOverflow, ModelMisused, ModelUnavailable, VerdigrisError
from verdigris.core.settings import ModelSettings
from verdigris.models.failure import Patience
from verdigris.models.protocol import Ask, Message, ToolCall, ToolSpec, Usage
from verdigris.models.providers import endpoint_of
from verdigris.models.remote import RemoteModel

HELLO = Ask((Message("system", "You are brief."), Message("user", "Hello")))
PLAN = Ask(HELLO.messages, {"type": "object"}, "plan")
TOOLS = (ToolSpec("read_file", "Reads.", {"type": "object", "properties": {}}),)
KEY = "sk-very-secret-0123456789"


@contextmanager
def asking(server: Server, **given: Any) -> Iterator[RemoteModel]:
    settings: dict[str, Any] = {"base_url": server.url, "api_key_env": "LLM_API_KEY", "timeout": 5.0} | given
    endpoint = endpoint_of("scripted", ModelSettings(**settings))
    environ = {"LLM_API_KEY": KEY}
    with RemoteModel(endpoint, environ=environ, sleep=lambda _: None, patience=Patience(tries=4)) as remote:
        yield remote


def refused(steps: list[Step], expected: type[VerdigrisError], **given: Any) -> VerdigrisError:
    with serving(steps) as server, asking(server, **given) as model, pytest.raises(expected) as caught:
        model.ask(HELLO)
    assert len(server.requests) == len(steps)
    return caught.value


def test_an_answer_comes_with_what_it_cost() -> None:
    with serving(["Hi.", "Again."], key=KEY) as server, asking(server) as model:
        first, second = model.ask(HELLO), model.ask(HELLO)
    assert (first.text, first.finish, first.model, first.tries) == ("Hi.", "stop", "scripted", 1)
    assert first.usage.prompt > 0
    assert first.usage.cached == 0
    assert second.usage.cached >= second.usage.prompt - 1  # the same prompt as before
    assert model.counter.ratio != 1.0


def test_what_is_sent_is_what_is_asked() -> None:
    with serving(["{}"]) as server, asking(server, temperature=0.2, max_tokens=77) as model:
        model.ask(Ask(PLAN.messages, PLAN.schema, "plan", TOOLS))
    [request] = server.requests
    assert [message["role"] for message in request.messages] == ["system", "user"]
    assert (request.model, request.schema, request.last) == ("scripted", "plan", "Hello")
    assert (request.body["temperature"], request.body["max_tokens"]) == (0.2, 77)
    assert request.body["tools"][0]["function"]["name"] == "read_file"
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_tool_calls_are_put_together() -> None:
    calls = (Call("read_file", {"path": "a long name.py"}), Call("search", {"text": "x"}, "mine"))
    with serving([Answer(calls=calls, reasoning="I should read first")]) as server, asking(server) as model:
        reply = model.ask(HELLO)
    assert reply.calls == (
        ToolCall("call_0", "read_file", '{"path": "a long name.py"}'),
        ToolCall("mine", "search", '{"text": "x"}'),
    )
    assert (reply.text, reply.finish) == ("", "tool_calls")


def test_where_no_usage_is_reported_it_is_estimated_and_marked() -> None:
    with serving([Answer("Hi.", usage=False)]) as server, asking(server) as model:
        usage = model.ask(HELLO).usage
    assert usage.estimated
    assert usage.prompt > 5


@pytest.mark.parametrize(
    "fault",
    [
        rate_limited(),
        failing(500),
        failing(503),
        Cut(),
        Cut(quiet=True),
        Stall(),
        Slow("late", 3),
        Junk(),
        Junk("data: 7\n\n"),
        Junk("", "text/event-stream"),
        Junk("[1]", "application/json"),
        Junk('data: {"error": {"message": "Provider overloaded", "code": 502}}\n\n'),
        Junk('{"error": {"message": "upstream"}}', "application/json"),
    ],
    ids=repr,
)
def test_a_passing_fault_is_tried_again(fault: Step) -> None:
    quick = {"timeout": 0.3} if isinstance(fault, Stall | Slow) else {}
    with serving([fault, "Hi."]) as server, asking(server, **quick) as model:
        reply = model.ask(HELLO)
    assert (reply.text, reply.tries) == ("Hi.", 2)


def test_tries_end() -> None:
    error = refused([failing(), Cut(), failing(), failing()], ModelUnavailable)
    assert "answers 500" in error.message
    assert "(4 tries)" in error.message
    assert error.exit_code == 69


def test_a_server_that_asks_for_an_hour_is_not_tried_again() -> None:
    error = refused([rate_limited("3600")], ModelUnavailable)
    assert "3600 s" in (error.hint or "")


def test_waits_grow_obey_the_server_and_are_told() -> None:
    waits: list[float] = []
    told: list[str] = []
    with serving([failing(), failing(), rate_limited("9"), "Hi."]) as server:
        endpoint = endpoint_of("scripted", ModelSettings(server.url))
        steady = Patience(jitter=lambda: 1.0)
        with RemoteModel(endpoint, sleep=waits.append, patience=steady, notice=told.append) as model:
            model.ask(HELLO)
    assert waits == [1, 2, 9]
    assert "answers 429" in told[2]
    assert "try 4 in 9 s" in told[2]


def test_a_connection_that_is_refused_is_said_in_words() -> None:
    with (
        RemoteModel(endpoint_of("m", ModelSettings(nobody())), sleep=lambda _: None) as model,
        pytest.raises(ModelUnavailable) as caught,
    ):
        model.ask(HELLO)
    assert "no connection to m at http://127.0.0.1:" in caught.value.message
    assert "refused" in caught.value.message


@pytest.mark.parametrize("fault", [overflow(), Answer("", finish="length")], ids=["400", "no room"])
def test_too_much_is_an_overflow(fault: Step) -> None:
    refused([fault], ContextOverflow)


def test_an_answer_that_was_cut_by_the_limit_is_the_callers_to_judge() -> None:
    with serving([Answer('{"half', finish="length")]) as server, asking(server) as model:
        assert model.ask(HELLO).finish == "length"


def test_an_answer_with_prose_around_it_is_given_as_it_came() -> None:
    with serving([prose({"edits": []})]) as server, asking(server) as model:
        assert model.ask(HELLO).text.startswith("Sure!")


def test_a_wrong_key_is_not_tried_again_and_not_shown() -> None:
    with (
        serving(["Hi."], key="another") as server,
        asking(server) as model,
        pytest.raises(ModelMisused) as caught,
    ):
        model.ask(HELLO)
    assert "LLM_API_KEY" in caught.value.message
    assert KEY not in caught.value.message
    assert len(server.requests) == 1


def test_an_unknown_model_is_named() -> None:
    with (
        serving(["Hi."], models=("other",), only_listed=True) as server,
        asking(server) as model,
        pytest.raises(ModelMisused, match="does not know the model scripted at http"),
    ):
        model.ask(HELLO)


def test_a_web_page_is_a_wrong_address() -> None:
    error = refused([Junk("<html>", "text/html; charset=utf-8")], ModelMisused)
    assert "/v1" in (error.hint or "")


def test_a_schema_that_the_server_does_not_take_is_asked_for_once() -> None:
    without = frozenset({"json_schema"})
    with serving(["{}", "{}"], without=without) as server, asking(server) as model:
        assert model.ask(PLAN).tries == 1
        model.ask(PLAN)
    kinds = [request.body["response_format"]["type"] for request in server.requests]
    assert kinds == ["json_schema", "json_object", "json_object"]


def test_a_server_may_know_nothing_but_messages() -> None:
    without = frozenset({"response_format", "tools", "stream", "stream_options", "temperature", "max_tokens"})
    with (
        serving(["{}"], without=without) as server,
        asking(server, temperature=0.1, max_tokens=9) as model,
    ):
        reply = model.ask(Ask(PLAN.messages, PLAN.schema, "plan", TOOLS))
    assert (reply.text, reply.finish, reply.usage.estimated) == ("{}", "stop", False)
    assert set(server.requests[-1].body) == {"model", "messages", "max_completion_tokens"}


def test_where_a_schema_and_tools_do_not_go_together_the_schema_stays() -> None:
    def script(request: Request) -> Step:
        both = {"tools", "response_format"} <= set(request.body)
        return unsupported("response_format with tools") if both else "{}"

    with serving(script) as server, asking(server) as model:
        model.ask(Ask(PLAN.messages, PLAN.schema, "plan", TOOLS))
        model.ask(PLAN)
    assert server.requests[-2].schema == "plan"
    assert "tools" not in server.requests[-2].body
    assert server.requests[-1].schema == "plan"


def test_a_server_that_answers_whole_when_asked_to_stream_is_heard() -> None:
    whole = '{"model": "m", "choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]}'
    with serving([Junk(whole, "application/json")]) as server, asking(server) as model:
        assert model.ask(HELLO).text == "Hi."


def test_no_key_of_another_server_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-only")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-private")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-private")
    monkeypatch.setenv("HTTP_PROXY", nobody().removesuffix("/v1"))
    monkeypatch.setenv("NO_PROXY", "")
    with serving(["Hi."]) as server, RemoteModel(endpoint_of("openai:m", ModelSettings(server.url))) as model:
        model.ask(HELLO)
    sent = server.requests[0].headers
    assert "authorization" not in sent
    assert not [text for text in sent.values() if "sk-openai" in text or "private" in text]


@pytest.mark.parametrize("status", [400, 403, 404, 422, 500])
def test_no_message_holds_a_key_that_a_server_echoes(status: int) -> None:
    told: list[str] = []
    echo = Refusal(status, f"you sent Authorization: Bearer {KEY} to model scripted")
    with serving([echo] * 2) as server:
        endpoint = endpoint_of("scripted", ModelSettings(server.url, "LLM_API_KEY"))
        environ = {"LLM_API_KEY": KEY}
        patience = Patience(tries=2)
        with (
            RemoteModel(
                endpoint, environ=environ, sleep=lambda _: None, notice=told.append, patience=patience
            ) as model,
            pytest.raises(VerdigrisError) as caught,
        ):
            model.ask(HELLO)
    error: BaseException | None = caught.value
    while error is not None:  # no traceback shows it either
        told.append(repr(error) + repr(vars(error)))
        error = error.__cause__ or error.__context__
    assert KEY not in "".join(map(str, told))
    assert "[LLM_API_KEY]" in caught.value.message


ASKING = """
import sys
from verdigris.models.protocol import Ask, Message
from verdigris.models.providers import endpoint_of
from verdigris.core.settings import ModelSettings
from verdigris.models.remote import RemoteModel
assert "openai" not in sys.modules
with RemoteModel(endpoint_of("m", ModelSettings(sys.argv[1]))) as model:
    model.ask(Ask((Message("user", "Hello"),)))
"""


def test_an_interrupt_ends_a_call_at_once_and_the_sdk_is_loaded_late() -> None:
    with serving([Stall()]) as server:
        environ = {**os.environ, "PYTHONWARNINGS": "error"}
        command = [sys.executable, "-c", ASKING, server.url]
        with subprocess.Popen(command, stderr=subprocess.PIPE, env=environ) as asking_one:
            while not server.requests and asking_one.poll() is None:
                server.closing.wait(0.02)
            asking_one.send_signal(signal.SIGINT)
            _, errors = asking_one.communicate(timeout=20)
    assert asking_one.returncode == -signal.SIGINT, errors
    assert b"KeyboardInterrupt" in errors


def test_usage_of_the_scripted_server_counts_the_shared_prefix() -> None:
    long = Message("user", "word " * 400)
    with serving(["a", "b"]) as server, asking(server) as model:
        model.ask(Ask((long,)))
        usage = model.ask(Ask((long, Message("user", "more")))).usage
    assert isinstance(usage, Usage)
    assert 0.9 < usage.cached / usage.prompt < 1


def test_a_script_that_fails_fails_the_test() -> None:
    def script(request: Request) -> Step:
        raise AssertionError(request.last)

    with pytest.raises(AssertionError, match="Hello"), serving(script) as server, asking(server) as model:
        model.ask(HELLO)
