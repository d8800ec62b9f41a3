from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from verdigris.core.errors import ConfigError
from verdigris.core.settings import MachineSettings, Player
from verdigris.storage.config import load_machine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Read = Callable[[str], MachineSettings]

SECRET = "sk-proj-abcdefgh12345678"


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def written(text: str) -> MachineSettings:
        (tmp_path / "tdd.yaml").write_text(text)
        return load_machine(tmp_path)

    return written


def test_nothing_said_is_the_defaults(read: Read) -> None:
    assert read("").kata == "kata.md"
    assert read("").sandbox
    assert read("").player("tester").model == ""


def test_everything_said(read: Read) -> None:
    found = read(
        """
        machine: {kata_description: docs/kata.md, steps: 3, max_attempts_per_agent: 2, sandbox: false,
                  refactor_files: 2, refactor_lines: 9, coverage_guard: false, share: [.env]}
        roles:
          tester: {model: "openai:gpt-4.1-mini", temperature: 0.4}
          implementor: {model: "deepseek:v2", base_url: "http://localhost/v1", api_key_env: A, timeout: 9}
          refactorer: {model: "replay:talk.jsonl"}
        llm: {base_url: "http://localhost:11434/v1", api_key_env: LLM_API_KEY}
        commit: {author_name: Bot, author_email: bot@example.org}
        budget: {tokens: 1000}
        """
    )
    assert (found.kata, found.steps, found.attempts, found.sandbox) == ("docs/kata.md", 3, 2, False)
    assert found.player("tester").served.temperature == 0.4
    assert found.player("implementor").served.timeout == 9
    assert found.player("refactorer").replayed == "talk.jsonl"
    assert (found.author_name, found.tokens) == ("Bot", 1000)


def test_a_person_works_in_the_tree_that_they_see(read: Read) -> None:
    assert not read("roles: {tester: {model: human}}").sandbox
    with pytest.raises(ConfigError, match="person"):
        read("machine: {sandbox: true}\nroles: {tester: {model: human}}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kata_description: kata.md", "machine.kata_description"),
        ("steps: 3", "machine.steps"),
        ("ci: {test_cmd: x}", "`test_command`"),
        ("llm: {api_key: x}", "api_key_env"),
        ("roles: {cook: {model: x}}", "unknown key `cook`"),
        ("machine: {attempts: 1}", "unknown key `attempts`"),
        ("machine: {kata_description: ../kata.md}", "no path below"),
        ("machine: {steps: 0}", ">= 1"),
        ("llm: {base_url: 'localhost:11434'}", "address"),
        ("commit: {author_email: 'a b'}", "author"),
    ],
)
def test_what_is_wrong_is_told_with_the_way_out(read: Read, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert told in f"{caught.value.message} {caught.value.hint}"
    assert "tdd.yaml:1" in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        f"llm: {{api_key_env: {SECRET}}}",
        f"roles: {{tester: {{model: {SECRET}}}}}",
        "llm: {api_key_env: abcdefghijk1234567890}",
        f"llm: {{base_url: 'https://user:{SECRET}@host/v1'}}",
        f"llm: {{base_url: 'https://host/v1?key={SECRET}'}}",
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(read: Read, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert "variable" in (caught.value.hint or "")
    assert SECRET not in f"{caught.value.message} {caught.value.hint}"


def test_a_tree_without_configuration_has_the_defaults(tmp_path: Path) -> None:
    found = load_machine(tmp_path)
    assert set(found.roles.values()) == {Player()}
    assert replace(found, roles={}) == MachineSettings()
