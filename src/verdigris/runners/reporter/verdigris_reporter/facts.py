"""What is worth knowing about one phase of one test of pytest's, as plain data."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING, Any

import pytest

from .definition import definition  # noqa: TID252 - the package has another name when injected
from .failures import Frame, describe, failure, frames_of, own_frames  # noqa: TID252 - same
from .names import Names, code_of  # noqa: TID252 - same
from .properties import told  # noqa: TID252 - same

if TYPE_CHECKING:
    from types import CodeType

_UNITTEST_SETUP = {
    "setUp": "setup",
    "asyncSetUp": "setup",
    "tearDown": "teardown",
    "asyncTearDown": "teardown",
}


class Facts:
    def __init__(self, names: Names) -> None:
        self.names = names

    def of(self, item: pytest.Item, call: pytest.CallInfo[None]) -> dict[str, Any]:
        code = code_of(getattr(item, "obj", None))
        name = getattr(item, "originalname", None) or item.name
        facts = definition(self.names, str(item.path), (item.location[1] or 0) + 1, name, code)
        facts.update(told(item))
        if call.excinfo is not None and not call.excinfo.errisinstance(
            (pytest.skip.Exception, unittest.SkipTest)
        ):
            frames = own_frames(frames_of(call.excinfo.tb), code)
            facts["failure"] = failure(call.excinfo.value, frames, self.names)
            facts.update(_unittest_phase(item, call, frames, code))
        return facts


def collect_error(error: BaseException) -> dict[str, Any]:
    """What an import raised comes wrapped; the wrapped one is the fact."""
    if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        error = error.__cause__
    told = describe(error)
    return {key: told[key] for key in ("error", "message")}


def _unittest_phase(
    item: pytest.Item, call: pytest.CallInfo[None], frames: list[Frame], code: CodeType | None
) -> dict[str, Any]:
    """Under pytest a TestCase's setUp and tearDown run inside the call."""
    if call.when != "call" or not issubclass(getattr(item, "cls", None) or object, unittest.TestCase):
        return {}
    if any(frame.frame.f_code is code for frame in frames):
        return {}
    names = (frame.frame.f_code.co_name for frame in frames)
    phase = next((_UNITTEST_SETUP[name] for name in names if name in _UNITTEST_SETUP), None)
    return {} if phase is None else {"phase": phase, "more": True}
