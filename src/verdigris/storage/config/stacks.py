"""Checks one entry of `stacks` in `tdd.yaml`, and finds where that stack keeps source and tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from verdigris.core.errors import NotARepository
from verdigris.core.languages import facts_named, known_languages, runners_of, suffixes_of
from verdigris.core.paths import Classes, Detected, PathClass, Where, classify, compile_glob, where
from verdigris.core.settings import JUnit, Settings, Stack
from verdigris.core.value import replace
from verdigris.languages.folders import text_in, walk
from verdigris.languages.registry import language_named, reader_of
from verdigris.runners.registry import is_known, kind_of, runs
from verdigris.storage.config.file import At
from verdigris.storage.config.keys import expect, read
from verdigris.storage.git import null_split, users_git
from verdigris.storage.repository import find_repository

_TOLD_BY = ("path", "line", "message")
"""Groups that `junit.build_error` must have."""


def read_stacks(given: Any, at: At) -> tuple[Stack, ...]:
    stacks = tuple(
        _read_stack(entry, at / index) for index, entry in enumerate(expect(given, at, list, least=1))
    )
    roots: dict[tuple[str, tuple[str, ...]], int] = {}
    for index, stack in enumerate(stacks):
        here = at / index / "root"
        if stack.root.startswith("/") or ".." in stack.root.split("/") or "\0" in stack.root:
            raise here.wrong(f"{stack.root!r} is outside the worktree", "name a folder below it")
        first = roots.setdefault((stack.root, suffixes_of(stack.language)), index)
        if first != index:
            what = (
                f"{stack.root!r} is already the root of stacks[{first}], with files of {stack.language} too"
            )
            raise here.wrong(what, "join the two stacks")
    return stacks


def _read_stack(given: Any, at: At) -> Stack:
    given = expect(given, at, dict)
    named = given.get("runner") is not None
    fields = read(Stack, given if named else {key: given[key] for key in given if key != "runner"}, at)
    language = fields.get("language", Stack.language)
    language_named(language)
    if facts_named(language) is None:
        what = f"{language!r} is not supported by this version"
        raise (at / "language").wrong(what, f"use {', '.join(known_languages())}")
    runner = _runner(fields.get("runner"), language, at / "runner")
    if fields.get("python") is not None and not language_named(language).project.has_interpreter:
        what = f"no interpreter runs a stack of {language}"
        raise (at / "python").wrong(what, "remove it, or correct `language`")
    if "root" in fields:
        fields["root"] = str(PurePosixPath(fields["root"]))
    if "suite" in fields:
        fields["suite"] = tuple(_suite(fields["suite"], runner, at / "suite"))
    _check_junit(fields.get("junit"), runner, at)
    return Stack(**{**fields, "runner": runner})


def _runner(runner: str | None, language: str, at: At) -> str:
    fitting = runners_of(language)
    if runner is None:
        return fitting[0]
    if not is_known(runner):
        raise at.wrong(f"{runner!r} is not supported by this version", f"use {', '.join(fitting)}")
    if not runs(runner, language):
        what = f"{runner} does not run {language}"
        raise at.wrong(what, f"use {', '.join(fitting)}, or correct `language`")
    return runner


def _suite(entries: tuple[str, ...], runner: str, at: At) -> Iterator[str]:
    """Joins `-m` and its mark to one entry if they are written as two."""
    waiting = iter(entries)
    for index, entry in enumerate(waiting):
        if entry.startswith("-m") and not kind_of(runner).has_marks:
            raise (at / index).wrong(f"{runner} knows no marks", "name ids, files or folders")
        mark = next(waiting, None) if entry == "-m" else ""
        if mark is None:
            raise (at / (len(entries) - 1)).wrong("a mark is missing", 'write "-m MARK"')
        yield f"{entry} {mark}" if mark else entry


def _check_junit(junit: JUnit | None, runner: str, at: At) -> None:
    """A custom command must name its reports; those of a preset belong to the preset's own command."""
    is_junit = kind_of(runner).has_templates
    if junit is None and not is_junit:
        return
    from verdigris.runners.junit import PRESETS

    if junit is not None and not is_junit:
        raise (at / "junit").wrong("it is for `runner: junit`", "remove it, or name that runner")
    if junit is not None and junit.preset and junit.preset not in PRESETS:
        what = f"there is no preset {junit.preset!r}"
        raise (at / "junit" / "preset").wrong(what, f"use {', '.join(PRESETS)}, or give `command`")
    if junit is None or not (junit.preset or junit.command):
        hint = f"give `junit: {{preset: NAME}}` ({', '.join(PRESETS)}), or `junit.command` and `junit.path`"
        raise (at / "junit" if junit else at).wrong("`runner: junit` needs to know the tool", hint)
    groups = () if junit.build_error is None else re.compile(junit.build_error).groupindex
    if junit.build_error is not None and (missing := [group for group in _TOLD_BY if group not in groups]):
        what = f"its group {', '.join(f'`{group}`' for group in missing)} is missing"
        hint = f"name its parts: {' '.join(f'(?P<{group}>…)' for group in _TOLD_BY)}"
        raise (at / "junit" / "build_error").wrong(what, hint)
    preset = PRESETS.get(junit.preset)
    if not junit.command or junit.reports or (preset is not None and preset.reports):
        return
    if not any("{report}" in word for word in junit.command):
        what = "nothing tells where its reports are"
        hint = "write `{report}` in it, or name them with `reports`"
        raise (at / "junit" / "command").wrong(what, hint)


_SPECIAL = frozenset("*?[!#\\ ")


def layouts(root: Path, settings: Settings) -> dict[Where, Detected]:
    return {where(stack): layout(root, stack) for stack in settings.stacks}


def runner_files(settings: Settings) -> tuple[str, ...]:
    """The files from which layouts are read, relative to the worktree's root."""
    return tuple(
        str(PurePosixPath(stack.root) / name)
        for stack in settings.stacks
        for name in language_named(stack.language).project.configuration()
    )


def keep_source(root: Path, before: Classes, after: Classes) -> Classes:
    """`after`, but source without a test in it does not become a test: it would be open in red."""
    paths = (f"{at}/{name}".removeprefix("./") for at, _, files in walk(root) for name in files)
    kept = [
        re.escape(path)
        for path in paths
        if classify(path, before) is PathClass.SOURCE
        and classify(path, after) is PathClass.TEST
        and not reader_of(path).tests.holds_test((root / path).read_bytes())
    ]
    return Classes(((PathClass.SOURCE, rf"(?:{'|'.join(kept)})\Z"), *after.rules)) if kept else after


def layout(root: Path, stack: Stack) -> Detected:
    """Where a stack has its source and its tests, if the usual names do not decide."""
    found = language_named(stack.language).project.layout(root / stack.root)
    generated = _generated_files(root, stack)
    return replace(found, generated=generated) if generated else found


def _generated_files(root: Path, stack: Stack) -> tuple[str, ...]:
    """Files of the language that a `.gitignore` names by their whole name, and that git does not track.

    Patterns do not count: `lib/` or `*.py` would include more than a build writes. Nor do files that the
    stack's `source` names.
    """
    home = root / stack.root
    lines = [line.strip() for line in text_in(home, ".gitignore").splitlines()]
    names = [
        line for line in lines if line.endswith(suffixes_of(stack.language)) and not set(line) & _SPECIAL
    ]
    globs = [name.lstrip("/") if "/" in name else f"**/{name}" for name in names if name not in stack.source]
    held = _tracked_files(root, stack.root) if globs else []
    return tuple(glob for glob in globs if not any(map(re.compile(compile_glob(glob)).fullmatch, held)))


def _tracked_files(root: Path, folder: str) -> list[str]:
    """The files of a folder that git tracks, relative to it."""
    try:
        listed = null_split(users_git(find_repository(root)).run("ls-files", "-z"))
    except NotARepository:
        return []
    prefix = "" if folder == "." else f"{folder}/"
    return [path.removeprefix(prefix) for path in listed if path.startswith(prefix)]
