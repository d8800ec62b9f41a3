"""The machine's part of the commented `tdd.yaml`: each key with its default or an example."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.machine import MachineSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

_USUAL = MachineSettings()
_KATA = "what is to be built"
_LIMITS = (
    ("steps", _USUAL.steps, "of one `tdd run`; a step is one role's"),
    ("max_attempts_per_agent", _USUAL.attempts, "of one role at one step"),
    ("sandbox", _USUAL.sandbox, "work in a private worktree; your branch follows after each step"),
    ("refactor_files", _USUAL.refactor_files, "that one refactor may touch at most"),
    ("refactor_lines", _USUAL.refactor_lines, "that it may add and take away at most"),
    ("coverage_guard", _USUAL.coverage_guard, "refuse a refactor that leaves more lines untested"),
    ("uncovered", _USUAL.uncovered, "block or record: new source lines that no test runs"),
    (
        "expected_literals",
        _USUAL.expected_literals,
        "block or record: source that looks up the tests' answers",
    ),
    ("tests_per_step", _USUAL.tests_per_step, "new test functions in one tester's step, at most"),
    ("test_seconds", _USUAL.test_seconds, "that a step's tests may take longer than the suite before"),
    ("share", '["data"]', "ignored paths that the private worktree needs too"),
    ("prompt_tokens", _USUAL.prompt_tokens, "that a prompt may hold of kata, files and history"),
)
_PLAYERS = """\
# roles:  # a model is provider:name, a name that llm.base_url serves, human, or replay:FILE
#   tester: {model: "ollama:qwen3-coder", temperature: 0.4}
#   implementor: {model: "openai:gpt-4.1-mini", api_key_env: OPENAI_API_KEY, timeout: 120}
#   refactorer: {model: "qwen3-coder"}
# llm: {base_url: "http://localhost:11434/v1", api_key_env: LLM_API_KEY}  # for roles that do not say it
"""


def machine_lines(kata: str | None) -> Iterator[str]:
    """`kata`: its path as YAML, where it is not the usual one."""
    yield "# The machine (`tdd run`): three roles turn a kata into code. `tdd help machine`"
    if kata is None:
        yield "# machine:"
        yield f"#   kata_description: {_USUAL.kata}  # {_KATA}"
    else:
        yield "machine:"
        yield f"  kata_description: {kata}  # {_KATA}"
    for key, usual, meaning in _LIMITS:
        yield f"#   {key}: {str(usual).lower()}  # {meaning}"
    yield from _PLAYERS.splitlines()
    yield "# commit:"
    yield f"#   author_name: {_USUAL.author_name}  # of the machine's commits"
    yield f"#   author_email: {_USUAL.author_email}"
    yield "#   squash: step  # a commit a step; `cycle`: one green commit of red, green and refactor"
    yield f"# budget: {{tokens: {_USUAL.tokens}}}  # that one `tdd run` may use; 0: no limit"
