"""Decides the outcome of a change: doubt comes first, then blame, then praise."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verdigris.core.languages import facts_of_manifest
from verdigris.core.paths import from_elsewhere
from verdigris.core.report import RunEnd
from verdigris.core.value import value
from verdigris.core.verdict import reason_for, reasons_against_run
from verdigris.drivers.audit.report import FLAKY, AuditOutcome, FoundPlace, LostCheck, RedTest
from verdigris.drivers.audit.tree_runs.folder import Suite
from verdigris.drivers.audit.units import Unit
from verdigris.runners.registry import built_in, missing_download
from verdigris.storage.project import Project, texts_at


@value
class UnitFacts:
    """What a replay found out about one change."""

    source: bool = False
    """The behaviour of source changed, not only its layout."""
    tests: bool = False
    """Tests or their data ask for something else than before."""
    configuration: bool = False
    """The configuration of the test runner changed."""
    broken: str = ""
    """Why the machine gave no answer."""
    unknown: str = ""
    """Why the change cannot be judged, through no fault of its own."""
    curable: bool = False
    """It cannot be judged because this machine lacks something, so the answer is not kept."""
    reds: tuple[RedTest, ...] = ()
    """Valid and invalid reds: red over the source of before, green after."""
    waiting: tuple[str, ...] = ()
    """Ids of new tests that fail after the change."""
    regressed: tuple[FoundPlace, ...] = ()
    weakened: tuple[LostCheck, ...] = ()
    hollow: tuple[str, ...] = ()
    uncovered: tuple[FoundPlace, ...] = ()
    ran: bool = True
    """Some test passes after the change."""


def judge_unit(facts: UnitFacts) -> tuple[AuditOutcome, str]:
    """Returns the outcome and its reason in one sentence."""
    if facts.broken:
        return AuditOutcome.INFRASTRUCTURE, facts.broken
    if facts.unknown:
        return AuditOutcome.UNVERIFIED, facts.unknown
    if not (facts.source or facts.tests or facts.configuration):
        return AuditOutcome.NO_CODE, "neither source nor tests changed in what they do."
    if count := len(facts.regressed):
        tests = "1 test passed before and fails" if count == 1 else f"{count} tests passed before and fail"
        return AuditOutcome.REGRESSED, f"{tests} now: {facts.regressed[0].what}"
    if facts.weakened:
        one = facts.weakened[0]
        why = f"the suite asks less: {one.kind} at {one.path}:{one.line}{_more(facts.weakened)}."
        return AuditOutcome.WEAKENED, why
    if facts.hollow:
        return AuditOutcome.HOLLOW, f"{facts.hollow[0]}{_more(facts.hollow)}"
    right = [red for red in facts.reds if red.valid]
    if right:
        return AuditOutcome.TEST_DRIVEN, f"{right[0].id} was red ({right[0].why}) and is green{_more(right)}."
    return _judge_source_without_red(facts) if facts.source else _judge_tests_alone(facts)


def _judge_tests_alone(facts: UnitFacts) -> tuple[AuditOutcome, str]:
    if facts.waiting:
        return AuditOutcome.UNVERIFIED, (
            f"{facts.waiting[0]} is red, and no source came with it: the commit that makes it green is"
            " judged, or the range as one change (`--squash`)."
        )
    if not facts.tests:
        return AuditOutcome.NO_CODE, "only how the tests are run changed, and their results are the same."
    return AuditOutcome.CHARACTERIZATION, "its tests pass without a change of source."


def _judge_source_without_red(facts: UnitFacts) -> tuple[AuditOutcome, str]:
    if flaky := next((red.id for red in facts.reds if red.why == FLAKY), ""):
        why = f"{flaky} is flaky: over the source of before it failed, and passed when it was run again."
        return AuditOutcome.UNVERIFIED, why
    if facts.reds:
        wrong = facts.reds[0]
        why = f"no test was red for the right reason: {wrong.id} failed by {wrong.why}, not by behaviour."
        return AuditOutcome.UNTESTED, why
    if facts.tests:
        why = "source changed, and its tests pass without the change: none of them was red before."
        return AuditOutcome.UNTESTED, why
    if facts.uncovered:
        one = facts.uncovered[0]
        where = f"{one.path}:{one.line}{_more(facts.uncovered)}"
        return AuditOutcome.UNTESTED, f"source changed, no test was red, and no test runs {where}."
    if not facts.ran:
        return AuditOutcome.UNTESTED, "source changed, and there is no test that passes."
    return AuditOutcome.REFACTOR, "source changed under the same tests with the same results."


def _more(found: Sequence[object]) -> str:
    return f" (and {len(found) - 1} more)" if len(found) > 1 else ""


_NOT_INSTALLED = re.compile(r"No module named '(\w+)")


def why_unknown(project: Project, unit: Unit, before: Suite, after: Suite) -> str:
    """Returns why the change cannot be judged, whatever else was seen; empty if it can be."""
    ended = after.report.ended
    if ended is RunEnd.TIMEOUT or before.report.ended is RunEnd.TIMEOUT:
        return "the test run did not end in time; `--timeout` gives it more."
    if elsewhere := from_elsewhere(after.report):
        return f"after the change the tests {elsewhere[0]}."
    if missing := _missing_packages(project, unit, after):
        return f"{missing} is not installed here, and tests need it; `--env lock` builds what a commit needs."
    if ended is RunEnd.NO_START and (not before.passed or _lacks_plugin(after)):
        return f"after the change {reasons_against_run(after.report)[0]}."
    if not after.passed and not before.passed and (after.report.results or after.report.errors):
        report = after.report
        if report.errors:
            error = report.errors[0]
            why = f"{error.path}: {error.message.strip().splitlines()[-1]}"
        else:
            why = reason_for(report, report.results[0].native_id, report.results[0].id)
        return f"no test passes before or after the change: {why}."
    return ""


def _lacks_plugin(suite: Suite) -> bool:
    """Whether a test tool lacks a plugin that the project's configuration needs."""
    refusals = filter(None, (kind.refusals for kind in built_in()))
    return any(re.search(regex, suite.report.tail) for regex in refusals)


def missing_downloads(unit: Unit, before: Suite, after: Suite) -> str:
    """Names the commit whose packages a tool would have had to download, and how to download them."""
    parent = unit.commit.parents[0] if unit.commit.parents else ""
    for commit, suite in ((parent, before), (unit.commit.id, after)):
        told = suite.report.tail if suite.report.ended is RunEnd.NO_START else ""
        if move := missing_download(told):
            name = commit[:9]
            return (
                f"the packages of {name} are not on this machine, and a test run downloads nothing:"
                f" `git worktree add --detach ../packages {name}`, there {move}, and audit again."
            )
    return ""


def _missing_packages(project: Project, unit: Unit, suite: Suite) -> str:
    """Returns packages that tests import, that are not installed, and that the project's manifests name.

    A package that they do not name is missing through the change's own fault.
    """
    texts = [error.message for error in suite.report.errors]
    texts += [suite.report.tail] if suite.report.ended is not RunEnd.FINISHED else []
    named = {found[1] for text in texts for found in _NOT_INSTALLED.finditer(text)}
    if not named:
        return ""
    paths = [entry.path for entry in project.workspace.files(unit.after) if _names_packages(entry.path)]
    told = "\n".join(texts_at(project, unit.after, paths).values()).lower().replace("-", "_")
    return ", ".join(sorted(name for name in named if name.lower() in told))


def _names_packages(path: str) -> bool:
    name = path.rpartition("/")[2]
    return facts_of_manifest(name) is not None or name.endswith(
        (".toml", ".cfg", ".ini", ".lock", ".txt", "setup.py")
    )
