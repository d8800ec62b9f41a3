"""The demo's spec with unittest: the coder edits a test first, and is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from support.machines import edit
from support.openai_server import Request, Step

_SMALL, _LARGE = "SHIPPING#costs/a-small-order", "SHIPPING#costs/a-large-order"
_PLAN = f"""\
## {_SMALL}
- assert: an order worth 4999 cents is shipped for 495 cents
- edge: one cent less than what is shipped for less

## {_LARGE}
- assert: an order worth 5000 cents is shipped for 100 cents
- edge: exactly the worth from which on it is cheaper
"""
_TESTS = f"""\
import unittest

from shipping import costs


class CostsTest(unittest.TestCase):
    # @scenario: {_SMALL}
    def test_a_small_order(self):
        self.assertEqual(costs(4999), 495)

    # @scenario: {_LARGE}
    def test_a_large_order(self):
        self.assertEqual(costs(5000), 100)
"""
_STUB = "def costs(worth):\n    return -1  # STUB:TDD\n"
_CODE = "def costs(worth):\n    return 100 if worth >= 5000 else 495\n"
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
