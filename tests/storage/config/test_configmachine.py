from __future__ import annotations

import pytest

from verdigris.core.errors import ConfigError
from verdigris.core.settings import MachineSettings
from verdigris.storage.config import load_machine
from verdigris.storage.config.file import parse
from verdigris.storage.config.keys import document
from verdigris.storage.config.machine import machine_settings

SECRET = "sk-proj-abcdefgh12345678"


def read(text: str) -> MachineSettings:
    value, places = parse(text.encode())
    return machine_settings(document(value, places), places)


def test_nothing_said_is_the_defaults() -> None:
    assert read("").kata == "kata.md"
    assert read("").sandbox
    assert read("").player("tester").model == ""


def test_everything_said() -> None:
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


def test_a_person_works_in_the_tree_that_they_see() -> None:
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
        ("roles: {coder: {model: x}}", "unknown key `coder`"),
        ("machine: {attempts: 1}", "unknown key `attempts`"),
        ("machine: {kata_description: ../kata.md}", "no path below"),
        ("machine: {steps: 0}", ">= 1"),
        ("llm: {base_url: 'localhost:11434'}", "address"),
        ("commit: {author_email: 'a b'}", "author"),
    ],
)
def test_what_is_wrong_is_told_with_the_way_out(text: str, told: str) -> None:
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
def test_a_secret_in_the_file_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert "variable" in (caught.value.hint or "")
    assert SECRET not in f"{caught.value.message} {caught.value.hint}"


def test_a_tree_without_configuration_has_the_defaults(tmp_path: object) -> None:
    from pathlib import Path

    assert load_machine(Path(str(tmp_path))) == MachineSettings()
