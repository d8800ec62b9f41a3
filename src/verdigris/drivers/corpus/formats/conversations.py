"""Formats of conversations: chat lines for OpenAI's fine-tuning, and ATIF, a file for each trajectory.

A chat line holds messages and tools and nothing else, since unknown keys are refused there;
`SPLIT.index.jsonl` says which session a line comes from. ATIF is version 1.7: several readers take exactly
this one, and a newer one adds nothing that text needs. It holds nothing that was not recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from verdigris.drivers.corpus.contents import CorpusContents, RenderedCorpus
from verdigris.drivers.corpus.formats.rows import json_line
from verdigris.drivers.corpus.session_source import Spoken, Trajectory
from verdigris.drivers.corpus.triple import SPLITS, LeftOut, render_triple
from verdigris.models.protocol import ToolCall, Usage
from verdigris.models.request import sent_message, sent_tool
from verdigris.models.tool_calls import cancel_calls

CUT_OFF = "(the session ended before this call was answered)"
NO_TALK = "no conversation of it was recorded; sessions of `tdd code` are"


def render_chat(gathered: CorpusContents) -> RenderedCorpus:
    files: list[tuple[str, bytes]] = []
    rows = {}
    for split in SPLITS:
        mine = [t for t in gathered.trajectories if t.split == split]
        rows[split] = len(mine)
        files.append((f"{split}.jsonl", b"".join(json_line(line_of(t)) for t in mine)))
        files.append((f"{split}.index.jsonl", b"".join(json_line(_index(t)) for t in mine)))
    return RenderedCorpus(tuple(files), rows, without_talk(gathered))


def without_talk(gathered: CorpusContents) -> tuple[LeftOut, ...]:
    ids = {triple.id for t in gathered.trajectories for triple in t.triples}
    return tuple(LeftOut(triple.id, NO_TALK) for triple in gathered.triples if triple.id not in ids)


def line_of(trajectory: Trajectory) -> dict[str, Any]:
    unanswered = cancel_calls([line.message for line in trajectory.spoken], CUT_OFF)
    messages = [
        *map(sent_message, trajectory.prefix),
        *map(_render_spoken, trajectory.spoken),
        *map(sent_message, unanswered),
    ]
    tools = [sent_tool(tool) for tool in trajectory.tools]
    return {"messages": messages, "tools": tools, "parallel_tool_calls": True}


def _render_spoken(spoken: Spoken) -> dict[str, Any]:
    """A reply that is repeated from an earlier part has no weight in training."""
    skipped = {"weight": 0} if spoken.copied and spoken.message.role == "assistant" else {}
    return {**sent_message(spoken.message), **skipped}


def _index(trajectory: Trajectory) -> dict[str, Any]:
    return {
        "session": trajectory.session,
        "part": trajectory.part,
        "task": trajectory.task,
        "model": trajectory.model,
        "outcome": trajectory.outcome,
        "triples": [triple.id for triple in trajectory.triples],
    }


VERSION = "ATIF-v1.7"
_UNKNOWN = "unknown"
"""The format requires the agent's version, which sessions do not record."""
_TEXTS = frozenset({"patch", "test_patch", "against_commit", "statement", "passing"})
"""Fields of its triples that a trajectory does not repeat."""


def render_atif(gathered: CorpusContents) -> RenderedCorpus:
    files = tuple(
        (
            f"{t.split}/{t.id}.json",
            json.dumps(document_of(t), indent=2, sort_keys=True).encode() + b"\n",
        )
        for t in gathered.trajectories
    )
    rows = {split: sum(t.split == split for t in gathered.trajectories) for split in SPLITS}
    return RenderedCorpus(files, rows, without_talk(gathered))


def document_of(trajectory: Trajectory) -> dict[str, Any]:
    opening = (
        {"source": "system" if message.role == "system" else "user", "message": message.content}
        for message in trajectory.prefix
    )
    said = (*opening, *_steps(trajectory.spoken, trajectory.model))
    steps = [{"step_id": number, **step} for number, step in enumerate(said, start=1)]
    following = trajectory.part + 1 if trajectory.part < trajectory.parts else 0
    agent = {
        "name": "tdd code",
        "version": _UNKNOWN,
        "model_name": trajectory.model or None,
        "tool_definitions": [sent_tool(tool) for tool in trajectory.tools],
    }
    document = {
        "schema_version": VERSION,
        "session_id": trajectory.session,
        "trajectory_id": trajectory.id,
        "agent": _without_missing(agent),
        "steps": steps,
        "final_metrics": _without_missing({**_totals(trajectory.spoken), "total_steps": len(steps)}),
        "continued_trajectory_ref": f"{trajectory.session}-{following}.json" if following else None,
        "extra": {
            "task": trajectory.task,
            "split": trajectory.split,
            "outcome": trajectory.outcome or _UNKNOWN,
            "triples": [
                {name: told for name, told in render_triple(triple).items() if name not in _TEXTS}
                for triple in trajectory.triples
            ],
        },
    }
    return _without_missing(document)


def _without_missing(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: f for name, f in fields.items() if f is not None}


def _steps(spoken: Sequence[Spoken], model: str) -> Iterator[dict[str, Any]]:
    """Answers of tools belong to the step that called them; a step names its model if that is not `model`."""
    for at, line in enumerate(spoken):
        copied = {"is_copied_context": True} if line.copied else {}
        match line.message.role:
            case "assistant":
                other = {"model_name": line.model} if line.model and line.model != model else {}
                yield {**_agent_step(line, _answers(spoken, at)), **other, **copied}
            case "user" | "system" as source:
                yield {"source": source, "message": line.message.content, **copied}
            case _:
                continue


def _answers(spoken: Sequence[Spoken], at: int) -> dict[str, str]:
    """Returns answers by call, up to the next reply."""
    answers: dict[str, str] = {}
    for line in spoken[at + 1 :]:
        if line.message.role == "assistant":
            break
        if line.message.role == "tool":
            answers[line.message.call_id] = line.message.content
    return answers


def _agent_step(line: Spoken, answers: dict[str, str]) -> dict[str, Any]:
    message = line.message
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
        "metrics": _metrics(line.usage),
    }
    return _without_missing(step)


def _call(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = None
    rendered = {"tool_call_id": call.id, "function_name": call.name}
    if isinstance(arguments, dict):
        return {**rendered, "arguments": arguments}
    return {**rendered, "arguments": {}, "extra": {"unreadable_arguments": call.arguments}}


def _metrics(usage: Usage | None) -> dict[str, Any] | None:
    """Returns only numbers that the server reported: our estimate is no measurement."""
    if usage is None or usage.estimated:
        return None
    cached = {"cached_tokens": usage.cached} if usage.cache_known else {}
    return {"prompt_tokens": usage.prompt, "completion_tokens": usage.completion, **cached}


def _totals(spoken: Sequence[Spoken]) -> dict[str, int | None]:
    """Returns sums only if each reply has its numbers."""
    replies = [
        _metrics(line.usage) for line in spoken if line.message.role == "assistant" and not line.copied
    ]
    counted = [r for r in replies if r is not None]
    if not counted or len(counted) < len(replies):
        return {}

    def total(name: str) -> int | None:
        return sum(r[name] for r in counted) if all(name in r for r in counted) else None

    return {f"total_{name}": total(name) for name in ("prompt_tokens", "completion_tokens", "cached_tokens")}
