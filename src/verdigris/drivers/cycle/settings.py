"""The cycle's section of `tdd.yaml`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from verdigris.core.settings import DriverSettings
from verdigris.core.value import value
from verdigris.storage.config import load_driver
from verdigris.storage.config.drivers import (
    DriverSection,
    KeyExample,
    Positive,
    check_below_root,
    shared_values,
)

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.config.file import Places

JudgementRule = Literal["optional", "required"]


@value
class CycleSettings(DriverSettings):
    judgement: JudgementRule = "optional"
    """Whether the checks of the kernel suffice for a PASS, or a person or model has to judge besides."""
    rounds: int = 3
    """How often the tests may be sent back before the cycle stops for a person."""
    attempts: int = 5
    """Of one role in one stage."""
    plans: str = ".tdd/plans"
    """The folder of the plans, from the worktree's root."""
    prompt_tokens: int = 24_000
    """What a prompt may hold of spec, files and history."""


_DEFAULT = CycleSettings()


class CycleKeys(msgspec.Struct, forbid_unknown_fields=True):
    judgement: JudgementRule = _DEFAULT.judgement
    rounds: Positive = _DEFAULT.rounds
    attempts: Positive = _DEFAULT.attempts
    plans: str = _DEFAULT.plans
    prompt_tokens: Annotated[int, msgspec.Meta(ge=3000)] = _DEFAULT.prompt_tokens


def cycle_settings(said: CycleKeys, shared: DriverSettings, places: Places) -> CycleSettings:
    check_below_root(said.plans, "cycle.plans", places)
    return CycleSettings(
        **shared_values(shared),
        judgement=said.judgement,
        rounds=said.rounds,
        attempts=said.attempts,
        plans=said.plans.rstrip("/"),
        prompt_tokens=said.prompt_tokens,
    )


SECTION = DriverSection(
    "cycle",
    "The cycle (`tdd cycle`): from a spec to evidence, with frozen tests. `tdd help cycle`",
    CycleKeys,
    cycle_settings,
    examples=(
        KeyExample(
            "judgement", _DEFAULT.judgement, "required: a model or a person has to pass the tests too"
        ),
        KeyExample("rounds", str(_DEFAULT.rounds), "that tests may be sent back before it stops"),
        KeyExample("attempts", str(_DEFAULT.attempts), "of one role in one stage"),
        KeyExample("plans", _DEFAULT.plans, "the folder of the plans"),
        KeyExample("prompt_tokens", str(_DEFAULT.prompt_tokens), "that a prompt may hold"),
    ),
    roles={
        "planner": '{model: "ollama:qwen3-coder"}',
        "test_author": '{model: "ollama:qwen3-coder"}',
        "validator": '{model: "openai:gpt-4.1-mini", api_key_env: OPENAI_API_KEY}',
        "coder": '{model: "ollama:qwen3-coder"}',
    },
)


def load_cycle(root: Path) -> CycleSettings:
    return load_driver(root, SECTION)
