"""The demo's spec with unittest: the coder edits a test first, and is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from support.machines import edit
from support.openai_server import Request, Step
from support.pages import project_files

_PLAN, _TESTS, _CODE = project_files("shipping").values()
_STUB = "def costs(worth):\n    return -1  # STUB:TDD\n"
_PASS = {"verdict": "PASS", "reason": "Both sides of the limit are shown.", "findings": []}
ANSWERS: Mapping[str, Sequence[str]] = {
    "planner": [edit("docs", "plan the costs", {".tdd/plans/shipping.md": _PLAN})],
    "test_author": [edit("test", "show both orders", {"test_shipping.py": _TESTS, "shipping.py": _STUB})],
    "validator": [json.dumps({**json.loads(edit("test", "", {})), **_PASS})],
    "coder": [
        edit("feat", "expect what is there", {"test_shipping.py": _TESTS.replace("495", "-1")}),
        edit("feat", "tell the costs", {"shipping.py": _CODE}),
    ],
}


def answer(request: Request) -> Step:
    found = re.search(r"You are the (\w+), in step", request.text)
    assert found
    said: int = sum(message["role"] == "assistant" for message in request.messages)
    return ANSWERS[found[1]][said]
