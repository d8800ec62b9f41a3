"""ATIF 1.7, a file a trajectory: system prompt and tools included, and nothing that nobody recorded.

Several readers take exactly this version, and a newer one adds nothing that text needs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verdigris.drivers.corpus.contents import RenderedCorpus
from verdigris.drivers.corpus.formats.chat import function_tools, without_talk
from verdigris.drivers.corpus.triple import SPLITS, render_triple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.drivers.corpus.contents import CorpusContents
    from verdigris.drivers.corpus.session_source import Spoken, Trajectory
    from verdigris.models.protocol import Message, ToolCall, Usage

VERSION = "ATIF-v1.7"
_UNKNOWN = "unknown"
"""The format asks for the agent's version, and sessions do not record it."""
_TEXTS = frozenset({"patch", "test_patch", "against_commit", "statement", "passing"})
"""What a trajectory does not repeat of its triples."""


def render(gathered: CorpusContents) -> RenderedCorpus:
    files = tuple(
        (
            f"{one.split}/{one.id}.json",
            json.dumps(document_of(one), indent=2, sort_keys=True).encode() + b"\n",
        )
        for one in gathered.trajectories
    )
    rows = {split: sum(one.split == split for one in gathered.trajectories) for split in SPLITS}
    return RenderedCorpus(files, rows, without_talk(gathered))


def document_of(trajectory: Trajectory) -> dict[str, Any]:
    said = (*_opening(trajectory.prefix), *_steps(trajectory.spoken, trajectory.model))
    steps = [{"step_id": number, **step} for number, step in enumerate(said, start=1)]
    agent = {
        "name": "tdd code",
        "version": _UNKNOWN,
        "model_name": trajectory.model or None,
        "tool_definitions": function_tools(trajectory.tools),
    }
    document = {
        "schema_version": VERSION,
        "session_id": trajectory.session,
        "trajectory_id": trajectory.id,
        "agent": _without_missing(agent),
        "steps": steps,
        "final_metrics": _without_missing({**_totals(trajectory.spoken), "total_steps": len(steps)}),
        "continued_trajectory_ref": _next_part(trajectory),
        "extra": {
            "task": trajectory.task,
            "split": trajectory.split,
            "outcome": trajectory.outcome or _UNKNOWN,
            "triples": [_brief(triple) for triple in trajectory.triples],
        },
    }
    return _without_missing(document)


def _without_missing(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in fields.items() if one is not None}


def _opening(prefix: Sequence[Message]) -> Iterator[dict[str, Any]]:
    for message in prefix:
        yield {"source": "system" if message.role == "system" else "user", "message": message.content}


def _steps(spoken: Sequence[Spoken], model: str) -> Iterator[dict[str, Any]]:
    """What tools answered belongs to the step that called them; `model` speaks where a step names none."""
    for at, one in enumerate(spoken):
        copied = {"is_copied_context": True} if one.copied else {}
        match one.message.role:
            case "assistant":
                other = {"model_name": one.model} if one.model and one.model != model else {}
                yield {**_agent_step(one, _answers(spoken, at)), **other, **copied}
            case "user" | "system" as source:
                yield {"source": source, "message": one.message.content, **copied}
            case _:
                continue


def _answers(spoken: Sequence[Spoken], at: int) -> dict[str, str]:
    """Collects answers by call, up to the next reply."""
    found: dict[str, str] = {}
    for one in spoken[at + 1 :]:
        if one.message.role == "assistant":
            break
        if one.message.role == "tool":
            found[one.message.call_id] = one.message.content
    return found


def _agent_step(one: Spoken, answers: dict[str, str]) -> dict[str, Any]:
    message = one.message
    results = [
        {"source_call_id": call.id, "content": answers[call.id]}
        for call in message.calls
        if call.id in answers
    ]
    step = {
        "source": "agent",
        "message": message.content,
        "llm_call_count": 1,
        "tool_calls": [_call(call) for call in message.calls] or None,
        "observation": {"results": results} if results else None,
        "metrics": _metrics(one.usage),
    }
    return _without_missing(step)


def _call(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = None
    told = {"tool_call_id": call.id, "function_name": call.name}
    if isinstance(arguments, dict):
        return {**told, "arguments": arguments}
    return {**told, "arguments": {}, "extra": {"unreadable_arguments": call.arguments}}


def _metrics(usage: Usage | None) -> dict[str, Any] | None:
    """Tells only what the server reported: an estimate of ours is no measurement."""
    if usage is None or usage.estimated:
        return None
    cached = {"cached_tokens": usage.cached} if usage.cache_known else {}
    return {"prompt_tokens": usage.prompt, "completion_tokens": usage.completion, **cached}


def _totals(spoken: Sequence[Spoken]) -> dict[str, int | None]:
    """Where each reply has its numbers; a sum of some of them would be wrong."""
    replies = [_metrics(one.usage) for one in spoken if one.message.role == "assistant" and not one.copied]
    known = [one for one in replies if one is not None]
    if not known or len(known) < len(replies):
        return {}

    def total(name: str) -> int | None:
        return sum(one[name] for one in known) if all(name in one for one in known) else None

    return {f"total_{name}": total(name) for name in ("prompt_tokens", "completion_tokens", "cached_tokens")}


def _next_part(trajectory: Trajectory) -> str | None:
    return f"{trajectory.session}-{trajectory.part + 1}.json" if trajectory.part < trajectory.parts else None


def _brief(triple: Any) -> dict[str, Any]:
    return {name: one for name, one in render_triple(triple).items() if name not in _TEXTS}
