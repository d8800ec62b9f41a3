"""Says why a change cannot be judged, through no fault of its own, and what would help."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.confinement.needs import missing_download
from verdigris.core.languages import facts_of_manifest
from verdigris.core.paths import from_elsewhere
from verdigris.core.report import RunEnd
from verdigris.core.verdict import reason_for, reasons_against_run
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from verdigris.drivers.audit.known_suites import Suite
    from verdigris.drivers.audit.units import Unit
    from verdigris.storage.project import Project

_NOT_INSTALLED = re.compile(r"No module named '(\w+)")
_LACKING_PLUGIN = re.compile(
    r"unrecognized arguments|[Uu]nknown config option|Missing required plugins|No module named '?pytest"
)
"""What pytest says where it lacks what the project's configuration asks it for."""


def why_unknown(project: Project, unit: Unit, before: Suite, after: Suite) -> str:
    """Why nobody can be blamed or praised, whatever else was seen."""
    ended = after.report.ended
    if ended is RunEnd.TIMEOUT or before.report.ended is RunEnd.TIMEOUT:
        return "the test run did not end in time; `--timeout` gives it more."
    if elsewhere := from_elsewhere(after.report):
        return f"after the change the tests {elsewhere[0]}."
    if missing := _missing_packages(project, unit, after):
        return f"{missing} is not installed here, and tests need it; `--env lock` builds what a commit needs."
    if ended is RunEnd.NO_START and (not before.passed or _LACKING_PLUGIN.search(after.report.tail)):
        return f"after the change {reasons_against_run(after.report)[0]}."
    if not after.passed and not before.passed and (after.report.results or after.report.errors):
        said = _first_complaint(after)
        return f"no test passes before or after the change: {said}."
    return ""


def missing_downloads(unit: Unit, before: Suite, after: Suite) -> str:
    """Packages that a tool would have fetched for one of the commits, and how to bring them."""
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
    """Packages that the project says it needs, and without which tests do not load; what it does not name
    is its own fault.
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


def _first_complaint(suite: Suite) -> str:
    report = suite.report
    if report.errors:
        return f"{report.errors[0].path}: {report.errors[0].message.strip().splitlines()[-1]}"
    return reason_for(report, report.results[0].native_id, report.results[0].id)
