from __future__ import annotations

import json

import pytest

from support.code_sessions import Bench
from verdigris.core.errors import StorageError
from verdigris.drivers.code.settings import Permission
from verdigris.drivers.code.tools.dispatch import (
    EDITING,
    READING,
    SYSTEM,
    CallHistory,
    describe_suppression,
    is_patching,
    tools_for,
)
from verdigris.models.request import estimate
from verdigris.models.tool_calls import describe_arguments


def test_an_unknown_tool_is_answered_with_those_there_are(tool: Bench) -> None:
    answer = tool("delete_everything")
    assert answer.outcome == "failed"
    assert "edit_file" in answer.text


@pytest.mark.parametrize("arguments", ["", "{", "[]", "null", '"x"', '{"path": 1}', "[" * 10_000])
def test_junk_arguments_are_answered(tool: Bench, arguments: str) -> None:
    answer = tool.raw("read_file", arguments)
    assert answer.outcome == "failed"
    assert "read_file was not called" in answer.text


def test_arguments_that_were_cut_off_write_nothing(tool: Bench) -> None:
    answer = tool.raw("create_file", '{"path": "notes.md", "content": "half of', "length")
    assert "cut off" in answer.text
    assert not (tool.world.root / "notes.md").exists()


def test_the_third_same_call_is_suppressed_until_the_person_speaks(tool: Bench) -> None:
    for _ in range(2):
        assert tool("read_file", path="calc.py").outcome == "ok"
    assert tool("read_file", path="calc.py").outcome == "suppressed"
    tool.dispatcher.forget_calls()
    assert tool("read_file", path="calc.py").outcome == "ok"


def test_the_value_of_a_key_is_never_told(tool: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_KEY", "hush-0123456789")
    tool.world.write("notes.md", "the key: hush-0123456789\n")
    told = tool("read_file", path="notes.md").text
    assert "hush-0123456789" not in told
    assert "[LLM_KEY]" in told


def test_what_looks_like_a_key_is_not_told_whosever_it_is(tool: Bench) -> None:
    keys = ("sk-0123456789abcdefghij", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "AKIA0123456789ABCDEF")
    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----"
    tool.world.write(
        "notes.md",
        "\n".join(
            (*keys, pem, "after: sk-learn is fine, task-management-system-2, highs_and_lows_of_the_market")
        ),
    )
    told = tool("search", text="", regex=True).text + tool("shell", command="cat notes.md").text
    told += tool("read_file", path="notes.md").text
    assert not [key for key in (*keys, "MIIabc") if key in told.partition("1\t")[2]]
    assert "sk-learn is fine, task-management-system-2, highs_and_lows_of_the_market" in told


def test_a_huge_answer_is_cut_in_its_middle(tool: Bench) -> None:
    tool.world.write("big.txt", "x" * 300 + "\n" + "y" * 200_000 + "\nend\n")
    told = tool("read_file", path="big.txt").text
    assert len(told) < 30_000
    assert "left out" in told


def test_a_disk_that_fails_ends_the_session(tool: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise StorageError("no space left")

    monkeypatch.setattr("verdigris.drivers.code.tools.files.write", full)
    with pytest.raises(StorageError):
        tool("create_file", path="notes.md", content="x")


def test_a_summary_is_handed_on(tool: Bench) -> None:
    assert tool("finish", summary="all done").summary == "all done"


def test_a_call_that_needs_a_yes_is_asked_about_and_denied_without_one(tool: Bench) -> None:
    asked: list[str] = []

    def ask(name: str, arguments: str) -> bool:
        asked.append(f"{name} {arguments}")
        return "yes" in arguments

    tool.dispatcher.permission = Permission("ask")
    assert "[no-permission]" in tool("create_file", path="a.md", content="x").text
    tool.dispatcher.ask_person = ask
    assert tool("create_file", path="no.md", content="x").outcome == "denied"
    assert tool("create_file", path="yes.md", content="x").outcome == "ok"
    assert tool("create_file", path="yes.py", content="X = sum([1])\n").text.startswith("denied [red-first]")
    assert tool("read_file", path="calc.py").outcome == "ok"
    assert len(asked) == 3


READ = {"path": "a.py"}


def read(history: CallHistory, path: str = "a.py") -> CallHistory:
    return history.after("read_file", {"path": path}, reads=True)


def test_the_third_same_call_within_six_is_suppressed() -> None:
    history = read(CallHistory())
    assert not history.suppresses("read_file", READ)
    history = read(history)
    assert history.suppresses("read_file", READ)
    assert not history.suppresses("read_file", {"path": "b.py"})


def test_calls_that_lie_further_back_do_not_count() -> None:
    history = read(read(CallHistory()))
    for other in "bcde":
        history = read(history, other)
    assert not history.suppresses("read_file", READ)


def test_the_order_of_arguments_makes_no_difference() -> None:
    history = CallHistory()
    for _ in range(2):
        history = history.after("search", {"text": "x", "glob": "*"}, reads=True)
    assert history.suppresses("search", {"glob": "*", "text": "x"})


def test_after_an_edit_reading_again_is_no_circle() -> None:
    history = read(read(CallHistory())).after("edit_file", {"path": "a.py"}, reads=False)
    assert not history.suppresses("read_file", READ)


def test_the_same_edit_three_times_is_one() -> None:
    history = CallHistory()
    for _ in range(2):
        history = read(history.after("edit_file", READ, reads=False))
    assert history.suppresses("edit_file", READ)


def test_the_suppression_is_visible_and_names_a_way_out() -> None:
    assert "suppressed" in describe_suppression("read_file")
    assert "finish" in describe_suppression("read_file")


def names(model: str) -> set[str]:
    return {tool.name for tool in tools_for(model)}


@pytest.mark.parametrize("model", ["gpt-5.6", "openai/gpt-5-codex", "GPT-6"])
def test_newer_gpt_models_write_by_patches_alone(model: str) -> None:
    assert is_patching(model)
    assert names(model) & EDITING == {"apply_patch", "write_file"}


@pytest.mark.parametrize("model", ["gpt-4.1-mini", "gpt-oss:20b", "qwen3-coder", "deepseek-chat", "my-gpt-5"])
def test_other_models_replace_texts(model: str) -> None:
    assert names(model) & EDITING == {"edit_file", "create_file", "write_file"}


def test_the_table_is_sorted_and_has_what_the_law_needs() -> None:
    table = [tool.name for tool in tools_for("m")]
    assert table == sorted(table)
    assert set(table) > READING
    assert {"edit_claim", "submit_plan", "mark_step", "revise_plan", "shell", "finish"} < set(table)
    assert {"refactor_begin", "refactor_end", "test_bug"} < set(table)


def test_tools_and_system_text_are_small() -> None:
    told = "".join(f"{tool.name}{tool.description}{json.dumps(tool.parameters)}" for tool in tools_for("m"))
    assert estimate(told) < 960
    assert estimate(SYSTEM.read_text("utf-8")) < 320


def test_what_a_call_is_about_fits_a_line() -> None:
    assert describe_arguments('{"ids": ["a", "b"]}') == "a b"
    assert describe_arguments('{"command": "echo  a\\n b"}') == "echo a b"
    assert describe_arguments("{") == describe_arguments("[]") == ""
    assert len(describe_arguments(f'{{"text": "{"x" * 500}"}}')) < 100
