"""Chat lines as OpenAI's fine-tuning reads them: arguments as JSON strings, and one tool message a call.

A line holds nothing else, since unknown keys are refused there; `SPLIT.index.jsonl` says whose they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.drivers.corpus.contents import RenderedCorpus
from verdigris.drivers.corpus.formats.triples import json_line
from verdigris.drivers.corpus.triple import SPLITS, LeftOut
from verdigris.models.tool_calls import cancel_calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.drivers.corpus.contents import CorpusContents
    from verdigris.drivers.corpus.session_source import Spoken, Trajectory
    from verdigris.models.protocol import Message, ToolSpec

CUT_OFF = "(the session ended before this call was answered)"
NO_TALK = "no conversation of it was recorded; sessions of `tdd code` are"


def render(gathered: CorpusContents) -> RenderedCorpus:
    files: list[tuple[str, bytes]] = []
    rows = {}
    for split in SPLITS:
        mine = [one for one in gathered.trajectories if one.split == split]
        rows[split] = len(mine)
        files.append((f"{split}.jsonl", b"".join(json_line(line_of(one)) for one in mine)))
        files.append((f"{split}.index.jsonl", b"".join(json_line(_index(one)) for one in mine)))
    return RenderedCorpus(tuple(files), rows, without_talk(gathered))


def without_talk(gathered: CorpusContents) -> tuple[LeftOut, ...]:
    told = {triple.id for one in gathered.trajectories for triple in one.triples}
    return tuple(LeftOut(triple.id, NO_TALK) for triple in gathered.triples if triple.id not in told)


def line_of(trajectory: Trajectory) -> dict[str, Any]:
    messages = [_message(message) for message in trajectory.prefix]
    messages += [_render_spoken(one) for one in trajectory.spoken]
    said = [one.message for one in trajectory.spoken]
    messages += [_message(answer) for answer in cancel_calls(said, CUT_OFF)]
    return {"messages": messages, "tools": function_tools(trajectory.tools), "parallel_tool_calls": True}


def function_tools(tools: Iterable[ToolSpec]) -> list[dict[str, Any]]:
    """Describes tools as OpenAI's interface describes functions."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]


def _render_spoken(one: Spoken) -> dict[str, Any]:
    """What was said in an earlier part is no lesson a second time."""
    skipped = {"weight": 0} if one.copied and one.message.role == "assistant" else {}
    return {**_message(one.message), **skipped}


def _message(message: Message) -> dict[str, Any]:
    told: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        told["tool_call_id"] = message.call_id
    if message.calls:
        told["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.calls
        ]
    return told


def _index(trajectory: Trajectory) -> dict[str, Any]:
    return {
        "session": trajectory.session,
        "part": trajectory.part,
        "task": trajectory.task,
        "model": trajectory.model,
        "outcome": trajectory.outcome,
        "triples": _ids(trajectory.triples),
    }


def _ids(triples: Sequence[Any]) -> list[str]:
    return [triple.id for triple in triples]
