"""Runs a program's evaluation in a room: with the candidate's targets, and all other files of the base."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from verdigris.checks.observation import difference
from verdigris.checks.verdict_checks import find_concerns
from verdigris.core.errors import VerdigrisError
from verdigris.core.languages import keeps_bytecode
from verdigris.core.paths import Change
from verdigris.core.policy import is_closed, is_measuring, is_within
from verdigris.core.settings import Bounds
from verdigris.core.value import replace
from verdigris.drivers.loop.measurement import (
    EvaluationFailed,
    Measurement,
    combine_samples,
    read_measurement,
)
from verdigris.drivers.loop.program import Program
from verdigris.execution.process import Descendants
from verdigris.execution.room import Layer, Room
from verdigris.execution.rooms import possible, room
from verdigris.execution.test_run import run_shell_in
from verdigris.execution.tools.interpreter import find_interpreter
from verdigris.languages.registry import language_for, language_named, reader_of
from verdigris.storage.project import Project, texts_at

_NAME = "evaluation"
_STARTS = frozenset({"sitecustomize.py", "usercustomize.py"})
"""Modules that an interpreter loads before any other."""
_CONFTEST = "conftest.py"
_REACHES = frozenset({"patches", "exits", "frames", "shadows", "detects-runner", "obscured"})
"""Concerns about source that tampers with the process that runs it. A ratchet, where only the number counts,
refuses all of them."""
_SECONDS = 60
_UNQUOTED: dict[str, str] = {
    "rejected": "the evaluator rejects it",
    "unreadable": "no single metric was printed",
    "tampered": "no single metric was printed",
}


def measure(project: Project, tree: str, base: str, program: Program) -> Measurement | EvaluationFailed:
    """Measures a tree; `project` is bound (see `bind_project`), `base` is the tree that it started from.

    The paths that the program may change are the candidate's. Evaluator, data and all else are the base's.
    """
    bounds = project.settings.bounds or Bounds(program.name)
    if not possible(project).ok:
        why = f"an evaluation needs a sandbox, and none can be made here: {possible(project).why}"
        return EvaluationFailed("infrastructure", why)
    wanted = evaluated_tree(project, tree, base)
    if trouble := _doubt_candidate(project, wanted, base, bounds):
        return trouble
    rules = program.evaluation_rules
    found = _measure_by(project, wanted, program.evaluation, program)
    if isinstance(found, EvaluationFailed) or not rules.held_out_command:
        return found
    seeing = replace(bounds, held_out=())
    unhidden = replace(project, settings=replace(project.settings, bounds=seeing))
    held = _measure_by(unhidden, wanted, rules.held_out_command, program)
    if isinstance(held, EvaluationFailed):
        # Not the words of a held-out evaluation: they may quote an input.
        why = _UNQUOTED.get(held.kind, held.why)
        return replace(held, why=f"on held-out inputs: {why}", output="")
    return replace(
        found,
        held_out=held.metric,
        failing=max(found.failing or 0, held.failing or 0) if held.failing else found.failing,
    )


def evaluated_tree(project: Project, tree: str, base: str) -> str:
    """The base's tree, with the candidate's version of the paths that the program may change."""
    bounds = project.settings.bounds
    if bounds is None:
        return tree
    paths = [c.path for c in project.workspace.changes(base, tree)]
    return project.workspace.graft(
        base, tree, [path for path in paths if is_within(bounds, path, project.classify(path))]
    )


def hash_oracle(project: Project, base: str, program: Program) -> str:
    """Hashes everything that decides the metric: the commands, the repeats, the evaluator and its data."""
    bounds = project.settings.bounds or Bounds(program.name)
    rules = program.evaluation_rules
    said = [program.evaluation, rules.held_out_command, rules.metric, rules.repeats]
    entries = project.workspace.files(base)
    closed = [e for e in entries if is_closed(bounds, e.path) and not e.path.endswith(".md")]
    found = json.dumps([*said, *([e.path, e.mode, e.blob] for e in closed)])
    return hashlib.sha256(found.encode()).hexdigest()


# -- tampering ----------------------------------------------------------


def _doubt_candidate(project: Project, wanted: str, base: str, bounds: Bounds) -> EvaluationFailed | None:
    """Why a measurement of the candidate could not be trusted, as far as its source shows."""
    changes = project.workspace.changes(base, wanted)
    starts = _STARTS if bounds.tests else _STARTS | {_CONFTEST}
    for change in changes:
        if change.path.rpartition("/")[2] in starts and not change.deleted:
            why = f"{change.path} is loaded first, and so shadows whatever an evaluator loads"
            return EvaluationFailed("tampered", why)
    edits = difference(project, base, wanted)
    for concern in find_concerns(project, base, wanted, edits):
        if concern.blocks or (not bounds.tests and concern.kind in _REACHES):
            why = f"{concern.path}:{concern.line}: {concern.what}: such code could change what measures it"
            return EvaluationFailed("tampered", why)
    return None if bounds.tests else _doubt_measured(project, base, wanted, changes)


def _doubt_measured(
    project: Project, base: str, wanted: str, changes: tuple[Change, ...]
) -> EvaluationFailed | None:
    paths = [change.path for change in changes if not change.deleted and language_for(change.path)]
    before, after = texts_at(project, base, paths), texts_at(project, wanted, paths)
    for path in paths:
        for fault in reader_of(path).source.measured_faults(path, before.get(path), after.get(path, "")):
            why = f"{path}:{fault.line}: {fault.what}: measured code leaves the number to the evaluator"
            return EvaluationFailed("tampered", why)
    return None


# -- running ----------------------------------------------------------------------------------


def _measure_by(
    project: Project, wanted: str, command: str, program: Program
) -> Measurement | EvaluationFailed:
    samples: list[Measurement] = []
    layer = _layer(project, wanted)
    bounds = project.settings.bounds or Bounds()
    measuring = [entry.path for entry in layer.firm if is_measuring(bounds, entry.path)]
    # Nothing writes the evaluator while it measures, least of all the measured code.
    fixed = tuple(path for path in measuring if not path.endswith(".md"))
    for _ in range(program.evaluation_rules.repeats):
        sample = _run_once(project, layer, fixed, command, program)
        if isinstance(sample, EvaluationFailed):
            return sample
        samples.append(sample)
    return combine_samples(samples)


def _run_once(
    project: Project, layer: Layer, fixed: tuple[str, ...], command: str, program: Program
) -> Measurement | EvaluationFailed:
    rules = program.evaluation_rules
    with command_room(project, layer=layer, equip=lambda made, _: replace(made, fixed=fixed)) as made:
        descendants = Descendants()
        try:
            done = run_shell_in(made, project, (command, _NAME), project.root, rules.minutes * _SECONDS)
        finally:
            descendants.end()
    output = done.output.decode("utf-8", "replace")
    if done.timed_out:
        why = (
            f"the evaluation took longer than {rules.minutes:g} minutes (`timeout-minutes`), and was stopped"
        )
        return EvaluationFailed("timeout", why, output.strip()[-_TAIL:])
    return read_measurement(output, done.exit_code, rules.metric)


_TAIL = 2000
_FIRM = 200


def _layer(project: Project, wanted: str) -> Layer:
    """Takes the evaluator from the store, so that a change in the worktree meanwhile has no effect."""
    bounds = project.settings.bounds or Bounds()
    entries = project.workspace.files(wanted)
    firm = [entry for entry in entries if is_closed(bounds, entry.path)]
    folders = dict.fromkeys(e.path.rpartition("/")[0] for e in entries if keeps_bytecode(e.path))
    return Layer(wanted, project.workspace.snapshot(), tuple(firm[:_FIRM]), tuple(folders))


@contextmanager
def command_room(project: Project, **options: Any) -> Iterator[Room]:
    """A room for a command of the project's; `options` are those of `room`.

    The project's own interpreter comes first on PATH: who starts a loop at night has no environment active.
    """
    interpreter = _find_python(project)
    with room(project, (interpreter,) if interpreter else (), **options) as made:
        if interpreter:
            made.env["PATH"] = f"{os.path.dirname(interpreter)}:{made.env.get('PATH', '')}"  # noqa: PTH120 - a text
        yield made


def _find_python(project: Project) -> str:
    for stack in project.settings.stacks:
        if language_named(stack.language).project.has_interpreter:
            try:
                home = project.root / stack.root
                known = project.repo.private / "interpreters.json"
                return str(
                    find_interpreter(home, project.root, stack.python, os.environ, known, stack.runner).path
                )
            except VerdigrisError:
                continue
    return ""
