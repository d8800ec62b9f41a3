from __future__ import annotations

import json
from typing import Any

import pytest

from support import audits
from verdigris.core.value import replace
from verdigris.drivers.audit.report import AuditReport, FoundPlace
from verdigris.views.audit.formats import MOST_RESULTS, render_sarif

pytestmark = pytest.mark.quick

SHAPE: dict[str, Any] = {
    "$schema": str,
    "version": str,
    "runs": [
        {
            "tool": {
                "driver": {
                    "name": str,
                    "version": str,
                    "rules": [
                        {
                            "id": str,
                            "name": str,
                            "shortDescription": {"text": str},
                            "fullDescription": {"text": str},
                            "help": {"text": str, "markdown": str},
                            "defaultConfiguration": {"level": str},
                            "properties": {"tags": [str]},
                        }
                    ],
                }
            },
            "automationDetails": {"id": str},
            "invocations": [
                {
                    "executionSuccessful": bool,
                    "toolExecutionNotifications": [{"level": str, "message": {"text": str}}],
                }
            ],
            "results": [
                {
                    "ruleId": str,
                    "ruleIndex": int,
                    "level": str,
                    "message": {"text": str},
                    "locations": [
                        {
                            "physicalLocation": {
                                "artifactLocation": {"uri": str, "uriBaseId": str},
                                "region": {"startLine": int, "endLine": int},
                            }
                        }
                    ],
                    "partialFingerprints": {"primaryLocationLineHash": str},
                    "properties": {"commit": str},
                }
            ],
        }
    ],
}
"""The part of SARIF's schema that is used here, by hand: no package on PyPI brings the schema."""
OPTIONAL = {"region"}


def _misfits(document: Any, shape: Any, at: str = "$") -> list[str]:
    match shape:
        case dict():
            if not isinstance(document, dict):
                return [f"{at}: no object"]
            wrong = [f"{at}.{key}: unknown" for key in document.keys() - shape.keys()]
            wrong += [f"{at}.{key}: missing" for key in shape.keys() - document.keys() - OPTIONAL]
            inner = [_misfits(document[key], shape[key], f"{at}.{key}") for key in document if key in shape]
        case [item]:
            wrong = [] if isinstance(document, list) else [f"{at}: no list"]
            inner = [_misfits(one, item, f"{at}[{number}]") for number, one in enumerate(document)]
        case _:
            return [] if type(document) is shape else [f"{at}: {document!r} is no {shape}"]
    return [*wrong, *(one for some in inner for one in some)]


def _run(report: AuditReport) -> dict[str, Any]:
    document = json.loads(render_sarif(report))
    assert document["version"] == "2.1.0"
    run = document["runs"][0]
    assert isinstance(run, dict)
    return run


@pytest.mark.parametrize("report", [audits.EVERYTHING, audits.report()], ids=["everything", "nothing"])
def test_it_has_the_shape_of_sarif_and_nothing_else(report: AuditReport) -> None:
    assert _misfits(json.loads(render_sarif(report)), SHAPE) == []


def test_each_result_names_a_rule_by_id_and_by_index() -> None:
    run = _run(audits.EVERYTHING)
    rules = run["tool"]["driver"]["rules"]
    assert run["results"]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])
    assert all(rule["defaultConfiguration"]["level"] in {"error", "warning"} for rule in rules)


def test_a_result_has_a_relative_place_and_lines_where_there_are_any() -> None:
    by_rule = {one["ruleId"]: one for one in _run(audits.EVERYTHING)["results"]}
    assert by_rule["regressed"]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "tests/test_cart.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 4, "endLine": 4},
    }
    assert "region" not in by_rule["untested"]["locations"][0]["physicalLocation"]


def test_fingerprints_do_not_move_with_lines() -> None:
    def printed(line: int) -> list[str]:
        place = FoundPlace("t.py", line, "t.py::test_a: assert 0")
        run = _run(audits.report(replace(audits.REGRESSED, regressed=(place, place))))
        return [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]

    assert printed(3) == printed(300)
    assert len(set(printed(3))) == 2


def test_paths_are_written_as_a_uri() -> None:
    place = FoundPlace("a b/ü\udcff#?.py", 1, "t: x")
    [result] = _run(audits.report(replace(audits.REGRESSED, regressed=(place,))))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20b/%C3%BC%FF%23%3F.py"


def test_what_blames_nobody_and_what_has_no_place_are_notifications() -> None:
    nowhere = replace(audits.UNTESTED, uncovered=(), paths=())
    run = _run(audits.report(audits.UNVERIFIED, nowhere))
    told = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert run["results"] == []
    assert [text.split(":")[0] for text in told] == ["untested", "unverified"]


def test_more_than_code_scanning_keeps_is_cut_and_told() -> None:
    places = tuple(FoundPlace("a.py", 2 * line, "x") for line in range(MOST_RESULTS + 7))
    run = _run(audits.report(replace(audits.UNTESTED, uncovered=places)))
    assert len(run["results"]) == MOST_RESULTS
    assert run["results"][0]["ruleId"] == "untested"
    [told] = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].startswith("8 results of lesser gravity are left out")


def test_long_texts_are_cut() -> None:
    unit = replace(audits.UNTESTED, why="x" * 5_000)
    assert all(len(one["message"]["text"]) <= 1_000 for one in _run(audits.report(unit))["results"])
