"""The machine's section of `tdd.yaml`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from verdigris.core.settings import ConcernRule, DriverSettings, MachineSettings, UncoveredRule
from verdigris.storage.config.drivers import (
    DriverSection,
    KeyExample,
    Positive,
    check_below_root,
    shared_values,
)
from verdigris.storage.config.file import wrong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.storage.config.file import Places

_DEFAULT = MachineSettings()


class MachineKeys(msgspec.Struct, forbid_unknown_fields=True):
    kata_description: str = _DEFAULT.kata
    steps: Positive = _DEFAULT.steps
    max_attempts_per_agent: Positive = _DEFAULT.attempts
    sandbox: bool | None = None
    refactor_files: Positive = _DEFAULT.refactor_files
    refactor_lines: Positive = _DEFAULT.refactor_lines
    coverage_guard: bool = _DEFAULT.coverage_guard
    share: list[str] = []
    prompt_tokens: Annotated[int, msgspec.Meta(ge=3000)] = _DEFAULT.prompt_tokens
    uncovered: UncoveredRule = _DEFAULT.uncovered
    expected_literals: ConcernRule = _DEFAULT.expected_literals
    tests_per_step: Positive = _DEFAULT.tests_per_step
    test_seconds: Positive = _DEFAULT.test_seconds


def machine_settings(said: MachineKeys, shared: DriverSettings, places: Places) -> MachineSettings:
    human = next((role for role, player in shared.roles.items() if player.human), None)
    if human is not None and said.sandbox:
        what = f"the {human} is a person, who works in the tree that they see, not in a private one"
        raise wrong(places, "machine.sandbox", what, "leave `sandbox` out, or write `sandbox: false`")
    check_below_root(said.kata_description, "machine.kata_description", places)
    for index, path in enumerate(said.share):
        check_below_root(path, f"machine.share[{index}]", places)
    return MachineSettings(
        **shared_values(shared),
        kata=said.kata_description,
        steps=said.steps,
        attempts=said.max_attempts_per_agent,
        sandbox=human is None if said.sandbox is None else said.sandbox,
        refactor_files=said.refactor_files,
        refactor_lines=said.refactor_lines,
        coverage_guard=said.coverage_guard,
        share=tuple(said.share),
        prompt_tokens=said.prompt_tokens,
        uncovered=said.uncovered,
        expected_literals=said.expected_literals,
        tests_per_step=said.tests_per_step,
        test_seconds=said.test_seconds,
    )


def _examples() -> Iterator[KeyExample]:
    usual = _DEFAULT
    for key, example, meaning in (
        ("kata_description", usual.kata, "what is to be built"),
        ("steps", usual.steps, "of one `tdd run`; a step is one role's"),
        ("max_attempts_per_agent", usual.attempts, "of one role at one step"),
        ("sandbox", usual.sandbox, "work in a private worktree; your branch follows after each step"),
        ("refactor_files", usual.refactor_files, "that one refactor may touch at most"),
        ("refactor_lines", usual.refactor_lines, "that it may add and take away at most"),
        ("coverage_guard", usual.coverage_guard, "refuse a refactor that leaves more lines untested"),
        ("uncovered", usual.uncovered, "block or record: new source lines that no test runs"),
        (
            "expected_literals",
            usual.expected_literals,
            "block or record: source that looks up the tests' answers",
        ),
        ("tests_per_step", usual.tests_per_step, "new test functions in one tester's step, at most"),
        ("test_seconds", usual.test_seconds, "that a step's tests may take longer than the suite before"),
        ("share", '["data"]', "ignored paths that the private worktree needs too"),
        ("prompt_tokens", usual.prompt_tokens, "that a prompt may hold of kata, files and history"),
    ):
        yield KeyExample(key, str(example).lower(), meaning)


SECTION = DriverSection(
    "machine",
    "The machine (`tdd run`): three roles turn a kata into code. `tdd help machine`",
    MachineKeys,
    machine_settings,
    examples=tuple(_examples()),
    roles={
        "tester": '{model: "ollama:qwen3-coder", temperature: 0.4}',
        "implementor": '{model: "openai:gpt-4.1-mini", api_key_env: OPENAI_API_KEY, timeout: 120}',
        "refactorer": '{model: "qwen3-coder"}',
    },
)
