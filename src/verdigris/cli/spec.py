"""`tdd spec lint | show`: reads specs as teams write them, and says what keeps one from being tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import here
from verdigris.cli.context import paths as complete_paths
from verdigris.cli.output import json_option, show, show_json
from verdigris.core.errors import NotARepository, UserError
from verdigris.views.lines import Dot, Line, count_of, visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verdigris.drivers.cycle.spec import Spec
    from verdigris.drivers.cycle.spec_lint import Fault


@click.group("spec")
def command() -> None:
    """Specs: OpenSpec, spec-kit, Kiro, BMAD and ForgePlan files are read as they are."""


@command.command("show")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@json_option
def show_specs(paths: tuple[str, ...], *, as_json: bool) -> int:
    """List the scenarios of a spec with the ids that `@scenario:` comments cite."""
    found = [_read(path)[0] for path in paths]
    if as_json:
        show_json({"specs": [_spec_document(spec) for spec in found]})
    else:
        show([line for spec in found for line in _spec_lines(spec)])
    return 0


@command.command("lint")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@click.option("--plan", metavar="PLAN", help="Also check a test plan against the scenarios of one spec.")
@json_option
def lint(paths: tuple[str, ...], plan: str | None, *, as_json: bool) -> int:
    """Check specs: scenarios, names, open questions, and the targets of deltas. Exit code: 1 on errors."""
    found = [(spec, _faults(spec, text)) for spec, text in map(_read, paths)]
    if plan is not None:
        found.append(_lint_plan(plan, [spec for spec, _ in found]))
    if as_json:
        show_json({"specs": [_lint_document(spec, faults) for spec, faults in found]})
    else:
        show([line for spec, faults in found for line in _lint_lines(spec, faults)])
    return 1 if any(fault.level == "error" for _, faults in found for fault in faults) else 0


def _read(spelling: str) -> tuple[Spec, str]:
    from verdigris.drivers.cycle.spec import read_spec

    file = here() / spelling
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UserError(f"{spelling}: {error.strerror}", hint="name a spec file") from None
    return read_spec(_relative(file), data), data.decode("utf-8", "replace")


def _lint_plan(plan: str, specs: Sequence[Spec]) -> tuple[Spec, tuple[Fault, ...]]:
    from verdigris.drivers.cycle.plan import lint_plan

    if len(specs) != 1:
        raise UserError("a plan belongs to one spec.", hint="name one spec beside `--plan`")
    page, text = _read(plan)
    return page, lint_plan(text, [one.id for one in specs[0].scenarios])


def _root() -> Path:
    from verdigris.storage.repository import find_repository

    try:
        return find_repository(here()).root
    except NotARepository:
        return here()


def _relative(file: Path) -> str:
    """From the repository's root, where it lies in one: the place of a file may tell its id."""
    root, resolved = _root().resolve(), file.resolve()
    return resolved.relative_to(root).as_posix() if resolved.is_relative_to(root) else resolved.name


def _faults(spec: Spec, text: str) -> tuple[Fault, ...]:
    from verdigris.drivers.cycle.spec import read_spec
    from verdigris.drivers.cycle.spec_lint import base_path, lint_spec

    base = base_path(spec)
    file = _root() / base if base else None
    if file is None or not file.is_file():
        return lint_spec(spec, text)
    data = file.read_bytes()
    return lint_spec(spec, text, read_spec(base or "", data), data.decode("utf-8", "replace"))


def _spec_lines(spec: Spec) -> list[Line]:
    count = count_of(len(spec.scenarios), "scenario")
    head = f"{visible(spec.id)} ({visible(spec.status)}): {count}, spec_hash {spec.digest[:12]}"
    lines = [Line(head, "green" if spec.scenarios else "yellow")]
    lines += [Line(f"  {one.line:>4}  {visible(one.id)}") for one in spec.scenarios]
    return [*lines, *(Line(f"  {one.line:>4}  not read: {one.why}", "yellow") for one in spec.skipped)]


def _spec_document(spec: Spec) -> dict[str, Any]:
    return {
        "path": spec.path,
        "spec_id": spec.id,
        "title": spec.title,
        "status": spec.status,
        "spec_hash": spec.digest,
        "scenarios": [
            {
                "id": one.id,
                "requirement": one.requirement,
                "name": one.name,
                "line": one.line,
                "hash": one.digest,
            }
            for one in spec.scenarios
        ],
        "skipped": [{"line": one.line, "why": one.why} for one in spec.skipped],
    }


def _lint_lines(spec: Spec, faults: Sequence[Fault]) -> list[Line]:
    if not faults:
        return [Line(f"{visible(spec.path)}: {count_of(len(spec.scenarios), 'scenario')}, no fault", "green")]
    lines = []
    for fault in faults:
        first, *rest = fault.fix.split("\n")
        dot: Dot = "red" if fault.level == "error" else "yellow"
        lines.append(Line(f"{visible(spec.path)}:{fault.line}: {fault.level}: {visible(fault.what)}", dot))
        lines += [Line(f"    fix: {visible(first)}"), *(Line(f"      {text}") for text in rest)]
    return lines


def _lint_document(spec: Spec, faults: Sequence[Fault]) -> dict[str, Any]:
    return {
        "path": spec.path,
        "spec_id": spec.id,
        "scenarios": len(spec.scenarios),
        "valid": all(fault.level != "error" for fault in faults),
        "faults": [
            {"level": one.level, "line": one.line, "what": one.what, "fix": one.fix} for one in faults
        ],
    }
