from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from support.known_histories import LANGUAGES, KnownAnswer, make_history, missing_tools, runs_file
from support.node_tools import VITEST_3, installed
from support.recorded_processes import compared_processes, recorded_processes
from support.tool_worlds import lend_go_cache
from verdigris.drivers.audit.report import UnitReport
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.tree_runs.folder import find_folder
from verdigris.drivers.audit.units import Selection
from verdigris.execution.tools.runs import cache_folder
from verdigris.storage.repository import find_repository

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_known_answer_is_given(language: str, tmp_path: Path) -> None:
    """The runs of other tools than pytest are recorded; the next test makes some of them again."""
    answers = prepare(tmp_path / "repo", language)
    with nullcontext() if language == "python" else recorded_processes(runs_file(language)):
        found = audit(tmp_path / "repo", AuditRequest(Selection(f"{answers[0].commit}~..HEAD"))).units
    assert told(found) == known(answers)


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "python"])
def test_tools_end_as_recorded_where_a_test_could_not_be_loaded_before(language: str, tmp_path: Path) -> None:
    """The second change brings a function, so that its tests run with a stub too."""
    answers = prepare(tmp_path / "repo", language)
    if language == "go":
        lend_go(tmp_path / "repo")
    with compared_processes(runs_file(language)) as same:
        found = audit(tmp_path / "repo", AuditRequest(Selection(answers[1].commit))).units
    assert told(found) == known(answers[1:2])
    assert len(same) >= 4, "before, after, red, and red with a stub"


def prepare(root: Path, language: str) -> tuple[KnownAnswer, ...]:
    if missing := missing_tools(language):
        pytest.skip(f"{', '.join(missing)} is not installed")
    answers = make_history(root, language)
    if language == "typescript":
        (root / "node_modules").symlink_to(installed(VITEST_3) / "node_modules")
    return answers


def lend_go(root: Path) -> None:
    repo = find_repository(root)
    lend_go_cache(cache_folder(find_folder(repo).repository(repo).control, "go") / "cache")


def told(units: Sequence[UnitReport]) -> list[tuple[object, ...]]:
    return [
        (unit.commit.title, str(unit.outcome), tuple(sorted(red.id for red in unit.reds if red.valid)))
        for unit in units
    ]


def known(answers: Sequence[KnownAnswer]) -> list[tuple[object, ...]]:
    return [(one.title, one.outcome, tuple(sorted(one.reds))) for one in answers]
