"""Validates the tests of a cycle without a model: checks whose findings send them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.cycle import BLOCKER, CONCERNS, PASS
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.runners.protocol import Progress
    from verdigris.storage.project import Project


@value
class Finding:
    check: str
    level: str
    """`concern`, or `blocker` where only a person can help."""
    place: str
    what: str


@value
class Check:
    name: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be tried, and why."""


@value
class Validation:
    verdict: str
    checks: tuple[Check, ...]


def validate_tests(
    project: Project,  # noqa: ARG001
    tests: Sequence[str],  # noqa: ARG001
    *,
    start: str,  # noqa: ARG001
    before: Sequence[Check] = (),
    progress: Progress | None = None,  # noqa: ARG001
) -> Validation:
    """`tests`: native ids; `start`: the tree before they were written; `before`: checks made already."""
    levels = {finding.level for check in before for finding in check.findings}
    verdict = BLOCKER if "blocker" in levels else CONCERNS if levels else PASS
    return Validation(verdict, tuple(before))
