from __future__ import annotations

import json

import pytest

from verdigris.drivers.code.tools.dispatch import (
    EDITING,
    READING,
    SYSTEM,
    describe_arguments,
    is_patching,
    tools_for,
)
from verdigris.models.request import estimate


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
    assert estimate(SYSTEM) < 320


def test_what_a_call_is_about_fits_a_line() -> None:
    assert describe_arguments('{"ids": ["a", "b"]}') == "a b"
    assert describe_arguments('{"command": "echo  a\\n b"}') == "echo a b"
    assert describe_arguments("{") == describe_arguments("[]") == ""
    assert len(describe_arguments(f'{{"text": "{"x" * 500}"}}')) < 100
