"""The section of `tdd.yaml` for sessions of `tdd code`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from verdigris.core.settings import DriverSettings
from verdigris.core.value import value
from verdigris.drivers.code.grants import Mode  # noqa: TC001 - msgspec reads it
from verdigris.storage.config import load_driver
from verdigris.storage.config.drivers import DriverSection, KeyExample, Positive, shared_values

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.config.file import Places

AGENT = "agent"
"""The only role."""


@value
class CodeSettings(DriverSettings):
    repairs: int = 3
    """Repairs of one red, after each of which edits were set aside, before a session stops."""
    shell_seconds: int = 120
    """What a shell command may take where its call does not say."""
    context_tokens: int = 0
    """What the model can read: a conversation is compacted at four fifths. 0: when the server refuses."""
    permission: Mode | None = None
    """What a person is asked about; None: commands where somebody is there, and nothing where nobody is."""
    allow: tuple[str, ...] = ()
    """Commands that nobody is asked about."""


_DEFAULT = CodeSettings()


class CodeKeys(msgspec.Struct, forbid_unknown_fields=True):
    repairs: Positive = _DEFAULT.repairs
    shell_seconds: Positive = _DEFAULT.shell_seconds
    context_tokens: Annotated[int, msgspec.Meta(ge=0)] = _DEFAULT.context_tokens
    permission: Mode | None = None
    allow: tuple[str, ...] = ()


def code_settings(said: CodeKeys, shared: DriverSettings, _: Places) -> CodeSettings:
    return CodeSettings(
        **shared_values(shared),
        repairs=said.repairs,
        shell_seconds=said.shell_seconds,
        context_tokens=said.context_tokens,
        permission=said.permission,
        allow=said.allow,
    )


SECTION = DriverSection(
    "code",
    "The coding agent (`tdd code`): a session under the law. `tdd help code`",
    CodeKeys,
    code_settings,
    examples=(
        KeyExample("repairs", str(_DEFAULT.repairs), "of one red before a session stops"),
        KeyExample("shell_seconds", str(_DEFAULT.shell_seconds), "that a command may take"),
        KeyExample("context_tokens", "128000", "that the model can read; 0: until the server refuses"),
        KeyExample("permission", "edits", "what is asked about: ask, edits (only commands), all (nothing)"),
        KeyExample("allow", '["git log*", "ls*"]', "commands that are never asked about"),
    ),
    roles={AGENT: '{model: "ollama:qwen3-coder"}'},
)


def load_code(root: Path) -> CodeSettings:
    return load_driver(root, SECTION)
