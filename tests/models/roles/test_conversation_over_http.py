from __future__ import annotations

import json
from dataclasses import replace

import pytest

from support.kata_run import PLANNED, TEST, source_text, start, test_text
from support.openai_server import Answer, Call, Server, serving
from verdigris.core.errors import ContextOverflow
from verdigris.drivers.machine.history import TESTER
from verdigris.models.providers import Endpoint
from verdigris.models.remote import RemoteModel
from verdigris.models.roles.answer import RefusedAnswer
from verdigris.models.roles.check import EditPlan
from verdigris.models.roles.context import Material, shrunk
from verdigris.models.roles.conversation import begin, edit
from verdigris.models.roles.prompt import Task

test_text.__test__ = False  # type: ignore[attr-defined]

TASK = Task(TESTER, 1)
EDITS = [{"path": TEST, "action": "upsert", "content": test_text(1)}]
EDITED = json.dumps({"verdict": "edit", "rationale": "why", "subject": "a test", "edits": EDITS})


def remote(server: Server) -> RemoteModel:
    return RemoteModel(Endpoint("scripted", "scripted", server.url), environ={}, sleep=lambda _: None)


def test_a_step_that_reads_blunders_and_succeeds() -> None:
    reading = Answer(calls=(Call("read_file", {"path": "pyproject.toml"}, "c1"),))
    script: list[str | Answer] = [reading, PLANNED, f"Here you are: {EDITED}", f"```json\n{EDITED}\n```"]
    with serving(script) as server, remote(server) as model:
        talk, refused = edit(model, begin(start(), TASK))
        talk, made = edit(model, talk)
    assert isinstance(refused, RefusedAnswer)
    assert isinstance(made, EditPlan)
    assert [tool["function"]["name"] for tool in server.requests[0].body["tools"]] == [
        "list_files",
        "read_file",
        "search",
    ]
    cached = [each.reply.usage.cached / each.reply.usage.prompt for each in talk.exchanges[1:]]
    assert min(cached) > 0.85


def test_a_server_that_knows_neither_tools_nor_schemas_is_asked_without() -> None:
    plain = frozenset({"tools", "response_format"})
    with serving([PLANNED, EDITED], without=plain) as server, remote(server) as model:
        _, made = edit(model, begin(start(), TASK))
    assert isinstance(made, EditPlan)
    assert "tools" not in server.requests[-1].body


def test_material_is_shrunk_until_a_small_context_takes_it() -> None:
    files = {f"src/m{n}.py": source_text(n) for n in range(80)}
    material: Material = replace(start(), files=files)
    with serving(lambda _: EDITED, context=6_000) as server, remote(server) as model:
        with pytest.raises(ContextOverflow):
            edit(model, begin(material, TASK))
        talk, _ = edit(model, begin(shrunk(material, 0.2), TASK))
    assert talk.plan
