"""Carries out a liveness plan in this process: the test file's text is executed, its functions are called."""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
import textwrap
import traceback
import unittest
from contextlib import suppress
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import ANY, AsyncMock, Mock

import pytest

from verdigris.core.liveness import Liveness, Plan, judge_liveness, plan
from verdigris.core.report import Place, VariantOutcome

PATH = "tests/test_it.py"


def twice(n: Any) -> Any:
    return 2 * n


def fails(text: object = "no good") -> None:
    raise ValueError(text)


def mocked(**arguments: object) -> Mock:
    made = Mock()
    made(1, "a", **arguments)
    return made


HONEST = {
    "twice": twice,
    "fails": fails,
    "mocked": mocked,
    "suppress": suppress,
    "re": re,
    "sys": sys,
    "ANY": ANY,
    "Mock": Mock,
    "AsyncMock": AsyncMock,
}


def function(body: str) -> str:
    return "def test_it():\n" + textwrap.indent(body.replace("\v", "\n"), "    ") + "\n"


class Told:
    def __init__(self) -> None:
        self.numbers: set[int] = set()

    def send(self, kind: str, *, probe: int) -> None:
        assert kind == "stood"
        self.numbers.add(probe)


def tried(text: str, *functions: str, **names: Any) -> Liveness:
    """`names` are what the test file would import."""
    made = plan({PATH: text}, [f"{PATH}::{function}" for function in functions])
    return judge_liveness(made, outcomes(made, text, names))


def outcomes(made: Plan, text: str, names: dict[str, Any]) -> list[VariantOutcome]:
    done = []
    for index, variant in enumerate(made.variants):
        module = {"__name__": "test_it", "pytest": pytest, "unittest": unittest, **names}
        exec(compile(variant.texts.get(PATH, text), PATH, "exec"), module)
        results: dict[str, Any] = {}
        places: dict[str, tuple[Place, ...]] = {}
        stood: dict[str, frozenset[int]] = {}
        for name in variant.select:
            for case, status, at, numbers in _cases(module, name.removeprefix(f"{PATH}::")):
                results[name + case], places[name + case], stood[name + case] = status, at, numbers
        done.append(VariantOutcome(index, results, places, stood))
    return done


_Outcome = tuple[str, tuple[Place, ...], frozenset[int]]


def _cases(module: dict[str, Any], name: str) -> list[tuple[str, *_Outcome]]:
    owner, _, method = name.rpartition("::")
    made = module[owner](method) if owner else None
    function = getattr(made, method) if made else module[method]
    rows = [mark.args for mark in getattr(function, "pytestmark", ()) if mark.name == "parametrize"]
    if not rows:
        return [("", *_called(function, {}))]
    ((names, values),) = rows
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    found = []
    for number, given in enumerate(values):
        row = getattr(given, "values", given if len(words) > 1 else (given,))
        found.append((f"[{number}]", *_called(function, dict(zip(words, row, strict=True)))))
    return found


def _called(function: Any, arguments: dict[str, Any]) -> _Outcome:
    told = Told()
    reporter = ModuleType("verdigris_reporter")
    reporter.channel = SimpleNamespace(CHANNEL=told)  # type: ignore[attr-defined]
    before = {name: sys.modules.get(name) for name in ("verdigris_reporter", "verdigris_reporter.channel")}
    sys.modules["verdigris_reporter"] = reporter
    sys.modules["verdigris_reporter.channel"] = reporter
    try:
        result = function(**arguments)
        if inspect.iscoroutine(result):
            asyncio.run(result)
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - whatever the test raises
        frames = traceback.extract_tb(error.__traceback__)
        return "failed", tuple(Place(f.filename, f.lineno or 0) for f in frames), frozenset(told.numbers)
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module
    return "passed", (), frozenset(told.numbers)
