"""`tdd spec new | show | lint | activate | supersede`: the specs of a team, from draft to next version."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import here, json_option, persons_command, pick, project, show, show_result
from verdigris.cli.context import paths as complete_paths
from verdigris.cli.group import OfferingGroup
from verdigris.core.errors import NotARepository, NotConfigured, UserError
from verdigris.core.records import to_json
from verdigris.views.lines import Dot, Line, count_of, make_visible

if TYPE_CHECKING:
    from verdigris.drivers.specs.spec import Spec
    from verdigris.drivers.specs.spec_files import SpecFiles, Succession
    from verdigris.drivers.specs.spec_lint import SpecFault

_FORMATS = ("openspec", "spec-kit", "kiro", "bmad", "forgeplan", "feature")


@click.group("spec", cls=OfferingGroup)
def command() -> None:
    """Specs: OpenSpec, spec-kit, Kiro, BMAD and ForgePlan files are read as they are."""


@command.command("show")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@json_option
def show_specs(paths: tuple[str, ...], *, as_json: bool) -> int:
    """List the scenarios of a spec with the ids that `@scenario:` comments cite."""
    return show_result(
        [_read_spec(path)[0] for path in paths],
        lambda specs: [line for spec in specs for line in _spec_lines(spec)],
        lambda specs: {"specs": [_spec_document(spec) for spec in specs]},
        as_json=as_json,
    )


@command.command("lint")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@click.option("--plan", metavar="PLAN", help="Also check a test plan against the scenarios of one spec.")
@json_option
def lint(paths: tuple[str, ...], plan: str | None, *, as_json: bool) -> int:
    """Check specs: scenarios, names, open questions, and the targets of deltas. Exit code: 1 on errors."""
    from verdigris.drivers.specs.spec_files import lint_in

    found = [(spec, lint_in(_root(), spec, text)) for spec, text in map(_read_spec, paths)]
    if plan is not None:
        found.append(_lint_plan(plan, [spec for spec, _ in found]))
    show_result(
        found,
        lambda found: [line for spec, faults in found for line in _lint_lines(spec, faults)],
        lambda found: {"specs": [_lint_document(spec, faults) for spec, faults in found]},
        as_json=as_json,
    )
    return 1 if any(fault.level == "error" for _, faults in found for fault in faults) else 0


@command.command("new")
@click.argument("title")
@click.option(
    "--id", "spec_id", metavar="ID", default="", help="The spec's id; by default made from the title."
)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), help="By default the format whose folder is there."
)
@click.option("--parent", metavar="PRD", default="", help="The id of the PRD that must be active with it.")
def new(title: str, spec_id: str, form: str | None, parent: str) -> int:
    """Write a draft with one scenario to fill in, where the format keeps its specs, else in specs/."""
    from verdigris.drivers.specs.drafts import DEFAULT, FORMATS, HOMES, make_draft

    if any(sign in spec_id + parent for sign in "#, \t\n"):
        raise UserError("an id has no blank, comma or `#`.", hint="e.g. --id SPEC-001")
    files = _files()
    there = [one for one in FORMATS if one == form or (form is None and (files.root / HOMES[one]).is_dir())]
    chosen = there[0] if there else DEFAULT
    draft = make_draft(title, chosen, files.paths, spec_id=spec_id, parent=parent)
    files.create(draft.path, draft.text)
    show([Line(f"{draft.path}: a draft; fill it in, then `tdd spec activate {draft.path}`", "yellow")])
    return 0


@command.command("activate")
@click.argument("path", metavar="SPEC", shell_complete=complete_paths)
@persons_command("spec activate")
def activate(path: str) -> int:
    """Make a spec the one to build (a person's command). Exit code: 0, 1 if lint finds errors, 3 denied."""
    files, relative = _files(), _require_inside(path)
    _refuse_in_cycle(relative)
    spec, errors = files.activate(relative)
    if errors:
        show([Line(f"{make_visible(spec.id)} stays {spec.status}:", "red"), *_lint_lines(spec, errors)])
        return 1
    _record(spec)
    show([Line(f"{make_visible(spec.id)} is active, spec_hash {spec.digest[:12]}", "green")])
    return 0


@command.command("supersede")
@click.argument("path", metavar="SPEC", shell_complete=complete_paths)
@click.option("--to", metavar="NEW", default="", help="The new version; the delta is computed from both.")
@click.option(
    "--delta", metavar="DELTA", default="", help="A delta that you filled in; with --to, it makes NEW."
)
@json_option
@persons_command("spec supersede")
def supersede(path: str, to: str, delta: str, *, as_json: bool) -> int:
    """Make the delta of a spec, mark the spec superseded, and name what becomes stale (a person's command).

    Without options it writes a delta file to fill in; called again, it lists what the delta makes stale.
    """
    files, relative = _files(), _require_inside(path)
    _refuse_in_cycle(relative)
    was = files.spec(relative).status
    new, by = (_require_inside(one) if one else "" for one in (to, delta))
    done = files.supersede(relative, new, by)
    spec = files.spec(relative)
    if was != spec.status:
        _record(spec)
    lines = partial(_succession_lines, spec, is_template=done.is_new and not to)
    return show_result(done, lines, partial(_succession_document, spec), as_json=as_json)


def _files() -> SpecFiles:
    from verdigris.drivers.specs.spec_files import SpecFiles
    from verdigris.storage.repository import find_repository

    return SpecFiles(find_repository(here()))


def _refuse_in_cycle(path: str) -> None:
    try:
        cycle = project().state().open_cycle
    except NotConfigured:
        return
    if cycle is not None and cycle.spec_path == path:
        raise UserError(
            f"the cycle {cycle.id} works from {path}, so it stays as it is.",
            hint="`tdd cycle abort` first, or let the cycle end",
        )


def _record(spec: Spec) -> None:
    """Records the status in the log, if the project has one."""
    from verdigris.core.events import SpecStatusSet

    try:
        project().record(SpecStatusSet(spec.id, spec.path, spec.digest, spec.status), sync=True)
    except NotConfigured:
        return


def _read_spec(spelling: str) -> tuple[Spec, str]:
    from verdigris.drivers.specs.spec import read_spec

    file = here() / spelling
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UserError(f"{spelling}: {error.strerror}", hint="name a spec file") from None
    return read_spec(_relative(file), data), data.decode("utf-8", "replace")


def _lint_plan(plan: str, specs: Sequence[Spec]) -> tuple[Spec, tuple[SpecFault, ...]]:
    from verdigris.drivers.cycle.pages import lint_plan

    if len(specs) != 1:
        raise UserError("a plan belongs to one spec.", hint="name one spec beside `--plan`")
    page, text = _read_spec(plan)
    return page, lint_plan(text, [one.id for one in specs[0].scenarios])


def _root() -> Path:
    from verdigris.storage.repository import find_repository

    try:
        return find_repository(here()).root
    except NotARepository:
        return here()


def _relative(file: Path) -> str:
    """Returns the path from the repository's root, if there is one: a spec's id may come from its folder."""
    root, resolved = _root().resolve(), file.resolve()
    return resolved.relative_to(root).as_posix() if resolved.is_relative_to(root) else resolved.name


def _require_inside(spelling: str) -> str:
    file = here() / spelling
    if not file.resolve().is_relative_to(_root().resolve()):
        raise UserError(f"{spelling} lies outside the repository.", hint="name a spec inside it")
    return _relative(file)


def _spec_lines(spec: Spec) -> list[Line]:
    count = count_of(len(spec.scenarios), "scenario")
    head = f"{make_visible(spec.id)} ({make_visible(spec.status)}): {count}, spec_hash {spec.digest[:12]}"
    lines = [Line(head, "green" if spec.scenarios else "yellow")]
    lines += [Line(f"  {one.line:>4}  {one.digest[:12]}  {make_visible(one.id)}") for one in spec.scenarios]
    return [*lines, *(Line(f"  {one.line:>4}  not read: {one.why}", "yellow") for one in spec.skipped)]


def _spec_document(spec: Spec) -> dict[str, Any]:
    return {
        **pick(spec, "path", "title", "status"),
        "spec_id": spec.id,
        "spec_hash": spec.digest,
        "scenarios": [
            {**pick(scenario, "id", "requirement", "name", "line"), "hash": scenario.digest}
            for scenario in spec.scenarios
        ],
        "skipped": to_json(spec.skipped),
    }


def _lint_lines(spec: Spec, faults: Sequence[SpecFault]) -> list[Line]:
    if not faults:
        return [
            Line(f"{make_visible(spec.path)}: {count_of(len(spec.scenarios), 'scenario')}, no fault", "green")
        ]
    lines = []
    for fault in faults:
        first, *rest = fault.fix.split("\n")
        dot: Dot = "red" if fault.level == "error" else "yellow"
        lines.append(
            Line(f"{make_visible(spec.path)}:{fault.line}: {fault.level}: {make_visible(fault.what)}", dot)
        )
        lines += [Line(f"    fix: {make_visible(first)}"), *(Line(f"      {text}") for text in rest)]
    return lines


def _lint_document(spec: Spec, faults: Sequence[SpecFault]) -> dict[str, Any]:
    return {
        "path": spec.path,
        "spec_id": spec.id,
        "scenarios": len(spec.scenarios),
        "valid": all(fault.level != "error" for fault in faults),
        "faults": to_json(faults),
    }


def _succession_lines(spec: Spec, done: Succession, *, is_template: bool) -> list[Line]:
    lines = [Line(f"{make_visible(spec.id)} is {spec.status}; delta: {make_visible(done.delta)}", "yellow")]
    if is_template:
        again = f"`tdd spec supersede {spec.path}`"
        lines.append(Line(f"  fill it in, check it with `tdd spec lint`, then {again} names what is stale"))
    for one in done.stale:
        to = f" → {one.to}" if one.to and one.to != one.scenario.id else ""
        lines.append(Line(f"  {one.fate}: {make_visible(one.scenario.id)}{make_visible(to)}"))
        carrying = [test for test in done.tests if one.scenario.id in test.scenarios]
        lines += [
            Line(f"    stale test: {make_visible(test.test_id)} ({test.path}:{test.line})")
            for test in carrying
        ]
    lines += [Line(f"  related: {make_visible(path)} names {make_visible(spec.id)}") for path in done.related]
    return lines


def _succession_document(spec: Spec, done: Succession) -> dict[str, Any]:
    return {
        **pick(spec, "path", "status"),
        "spec_id": spec.id,
        "delta": done.delta,
        "stale": [
            {
                **pick(one, "fate", "to"),
                "id": one.scenario.id,
                "tests": [test.test_id for test in done.tests if one.scenario.id in test.scenarios],
            }
            for one in done.stale
        ],
        "related": list(done.related),
    }
