"""What the text of one Python test tells of it: assertions, cases, and what skips it."""

from __future__ import annotations

from verdigris.languages.assertions import holds, skip_of
from verdigris.languages.findings import TestFacts
from verdigris.languages.python.tests.code import Tests
from verdigris.languages.python.tests.file import is_fixture, read
from verdigris.languages.python.weakening.losses import marks


def read_test_facts(path: str, text: str, name: str) -> TestFacts | None:
    """None for a fixture, and for what is not written there. A project may call its tests as it likes."""
    tests = Tests({path: text})
    code = tests.code(path)
    function = None if code is None else code.functions.get(name)
    if code is None or function is None or is_fixture(function):
        return None
    rows = sum(one.what.startswith("parametrize ") for one in read(text).assertions if holds(name, one.scope))
    return TestFacts(
        sum(1 for _ in tests.assertions(code, name)), rows, skip_of(name, marks(code.source.tree))
    )
