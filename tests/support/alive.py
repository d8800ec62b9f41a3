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
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY, AsyncMock, Mock

import pytest

from verdigris.checks.liveness.judgement import (
    LivenessFindings,
    find_unnoticed,
    judge_runs,
    reached_assertions,
)
from verdigris.core.report import Place, VariantOutcome
from verdigris.core.test_ids import function_of
from verdigris.languages.probes import plan_runs
from verdigris.languages.registry import language_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.languages.probes import RunSet

PATH = "tests/test_it.py"


LIVENESS = language_named("python").liveness


def plan(texts: dict[str, str], ids: Iterable[str], random: Random, most: int = 1000, few: int = 6) -> RunSet:
    """Plans what a verdict plans, in as many runs as there are."""
    data = {path: text.encode() for path, text in texts.items()}
    return plan_runs(LIVENESS.probes(data, ids, random, 2), data, random, most, few)


def decoded(runs: RunSet) -> tuple[dict[str, str], ...]:
    return tuple({path: data.decode() for path, data in one.texts.items()} for one in runs.members)


def twice(n: Any) -> Any:
    return 2 * n


def fails(text: object = "no good") -> None:
    raise ValueError(text)


def mocked(**arguments: object) -> Mock:
    made = Mock()
    made(1, "a", **arguments)
    return made


HONEST: dict[str, Any] = {
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


@dataclass(frozen=True)
class Tried:
    hollow: tuple[str, ...]
    unreached: tuple[str, ...]
    seen: frozenset[str]
    judged: LivenessFindings


def tried(text: str, *functions: str, seed: int = 1, **names: Any) -> Tried:
    """`names`: the names that the test file would import."""
    random = Random(seed)
    ids = [f"{PATH}::{function}" for function in functions]
    runs = plan({PATH: text}, ids, random)
    judged = judge_runs(runs, outcomes(runs, text, ids, names), ids)
    places = {(one.path, one.line) for one in judged.suspects}
    failures = LIVENESS.failures_after({PATH: text.encode()}, ids, places)
    again = plan_runs(failures, {PATH: text.encode()}, random, 1000, 1)
    heard = reached_assertions(again, outcomes(again, text, ids, names))
    hollow = [text for texts in judged.hollow.values() for text in texts]
    hollow += [text for texts in find_unnoticed(judged.suspects, heard).values() for text in texts]
    unread = [one for one in ids if one not in runs.totals]
    unreached = [*unread, *(text for texts in judged.unreached.values() for text in texts)]
    seen = frozenset(map(function_of, judged.seen | {case for *_, case in heard}))
    return Tried(tuple(hollow), tuple(dict.fromkeys(unreached)), seen, judged)


def outcomes(runs: RunSet, text: str, ids: list[str], names: dict[str, Any]) -> list[VariantOutcome]:
    done = []
    for index, variant in enumerate(runs.members):
        module = {"__name__": "test_it", "pytest": pytest, "unittest": unittest, **names}
        exec(compile(variant.texts.get(PATH, text.encode()).decode(), PATH, "exec"), module)
        results: dict[str, Any] = {}
        places: dict[str, tuple[Place, ...]] = {}
        for name in ids:
            for case, status, at in _cases(module, name.removeprefix(f"{PATH}::")):
                results[name + case], places[name + case] = status, at
        done.append(VariantOutcome(index, results, places))
    return done


_Outcome = tuple[str, tuple[Place, ...]]


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
    try:
        result = function(**arguments)
        if inspect.iscoroutine(result):
            asyncio.run(result)
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - whatever the test raises
        frames = traceback.extract_tb(error.__traceback__)
        return "failed", tuple(Place(f.filename, f.lineno or 0) for f in frames)
    return "passed", ()
