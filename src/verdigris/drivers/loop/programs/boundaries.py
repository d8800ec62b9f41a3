"""Says what a program may write and see, and makes the kernel hold it: as path classes, not as words."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.paths import compile_glob
from verdigris.core.policy.bounds import bound_classes, deny_beyond
from verdigris.core.settings import Bounds
from verdigris.drivers.loop.programs.discovery import FOLDER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from verdigris.core.actions import Deny
    from verdigris.drivers.loop.programs.discovery import FoundProgram
    from verdigris.storage.project import Project

_OUTPUT = re.compile(r"\d?&?>{1,2}[|&]?\s*[\w./-]+")
"""What a command writes measures nothing."""
_WORDS = re.compile(r"[\s;|&()<>\"'`$={}]+")
_MODULE = re.compile(r"-m\s+([\w.]+)")
_CHANGES_FOLDER = re.compile(r"\bcd\s+([\w./-]+)")


def bounds_of(found: FoundProgram, files: Collection[str]) -> Bounds:
    """`files`: the paths of the tree that the program starts from, among which its commands name some.

    A path that the program protects, or by which it is measured, is no target, whatever the list says.
    """
    program, rules = found.program, found.program.evaluation_rules
    targets = _any(program.targets)
    named = evaluator_files(found, frozenset(files))
    own = (
        rf"(?!{targets})(?:{compile_glob(FOLDER)}|{re.escape(found.path)}\Z)"
        if targets
        else _any((FOLDER, _literal(found.path)))
    )
    measuring = (*rules.evaluator, *rules.held_out, *map(_literal, named))
    return Bounds(
        program.name,
        "|".join(filter(None, (own, _any(measuring)))),
        _any(program.protected),
        targets,
        tests=found.is_test_driven,
        held_out=rules.held_out,
    )


def evaluator_files(found: FoundProgram, files: Collection[str]) -> tuple[str, ...]:
    """The files that the commands name and that are no targets: a command may run what it measures."""
    rules = found.program.evaluation_rules
    targets = _compile(_any(found.program.targets))
    named = (*named_files(found.program.evaluation, files), *named_files(rules.held_out_command, files))
    return tuple(path for path in dict.fromkeys(named) if targets is None or not targets.fullmatch(path))


def named_files(command: str, files: Collection[str]) -> Iterator[str]:
    """The files of the tree that stand in a command, also from a folder that it changes to."""
    folders = ("", *(found[1] for found in _CHANGES_FOLDER.finditer(command)))
    modules = (found[1].replace(".", "/") for found in _MODULE.finditer(command))
    spelled = (end for module in modules for end in (f"{module}.py", f"{module}/__main__.py"))
    for word in (*_WORDS.split(_OUTPUT.sub(" ", command)), *spelled):
        for folder in folders:
            path = posixpath.normpath(posixpath.join(folder, word)) if word else ""
            if path in files:
                yield path


def bind_project(project: Project, bounds: Bounds) -> Project:
    """The project, in which nobody writes beyond the bounds, and no run finds what is held back."""
    settings = replace(project.settings, bounds=bounds)
    return replace(project, settings=settings, configured=bound_classes(project.configured, bounds))


def find_crossings(project: Project, before: str, after: str) -> tuple[Deny, ...]:
    """What a tree changes beyond the bounds, whoever wrote it."""
    bounds = project.settings.bounds
    if bounds is None or before == after:
        return ()
    changed = (change.path for change in project.workspace.changes(before, after))
    found = (deny_beyond(bounds, path, project.classify(path)) for path in changed)
    return tuple(one for one in found if one is not None)


def withheld_paths(bounds: Bounds, files: Iterable[str]) -> frozenset[str]:
    """Those of the files that no prompt may show (`Material.withheld`)."""
    held = _compile(_any(bounds.held_out))
    return frozenset() if held is None else frozenset(path for path in files if held.fullmatch(path))


def _any(globs: Iterable[str]) -> str:
    return "|".join(f"(?:{compile_glob(glob)})" for glob in globs)


def _literal(path: str) -> str:
    """As a glob that means this one path."""
    return re.sub(r"([*?[])", r"[\1]", path)


def _compile(regex: str) -> re.Pattern[str] | None:
    return re.compile(regex, re.DOTALL) if regex else None
