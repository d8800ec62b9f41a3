"""Checks one entry of `stacks` in `tdd.yaml`, and finds where that stack keeps source and tests."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from verdigris.core.errors import ConfigError, NotARepository
from verdigris.core.languages import facts_named, known_languages, runners_of, suffixes_of
from verdigris.core.paths import Classes, Detected, PathClass, Where, classify, compile_glob, where
from verdigris.core.settings import JUnit, Stack
from verdigris.core.value import replace
from verdigris.languages.folders import text_in, walk
from verdigris.languages.registry import language_named, reader_of
from verdigris.runners.registry import is_known, kind_of, runs
from verdigris.storage.config.file import wrong
from verdigris.storage.git import null_split, users_git
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from verdigris.core.settings import Settings
    from verdigris.storage.config.file import Places
    from verdigris.storage.config.keys import JUnitKeys, StackKeys


_DOCS = "`tdd help configuration` lists every key"
_TAKEN_OVER = ("test", "source", "generated", "check", "verify", "format")
"""Keys that become settings of the stack unchanged."""
_NEEDED = "write `{args}` for the runner's own arguments, or `{report}` for a folder that takes JUnit XML"
_TOLD_BY = ("path", "line", "message")
"""Groups that `junit.build_error` must have."""


def stack(keys: StackKeys, at: str, places: Places) -> Stack:
    return Stack(
        root=str(PurePosixPath(keys.root)),
        language=_language(keys, at, places),
        runner=_runner(keys, at, places),
        python=_python(keys, at, places),
        suite=tuple(_suite(keys, places, f"{at}.suite")),
        test_command=_words(keys.test_command, places, f"{at}.test_command"),
        test_command_for=tuple(_commands(keys.test_command_for, places, f"{at}.test_command_for")),
        junit=_junit(keys, at, places),
        **{key: getattr(keys, key) for key in _TAKEN_OVER},
    )


def _language(keys: StackKeys, at: str, places: Places) -> str:
    language_named(keys.language)
    if facts_named(keys.language) is None:
        what = f"{keys.language!r} is not supported by this version"
        raise wrong(places, f"{at}.language", what, f"use {', '.join(known_languages())}")
    return keys.language


def _runner(keys: StackKeys, at: str, places: Places) -> str:
    fitting = runners_of(keys.language)
    if keys.runner is None:
        return fitting[0]
    if not is_known(keys.runner):
        what = f"{keys.runner!r} is not supported by this version"
        raise wrong(places, f"{at}.runner", what, f"use {', '.join(fitting)}")
    if not runs(keys.runner, keys.language):
        what = f"{keys.runner} does not run {keys.language}"
        raise wrong(places, f"{at}.runner", what, f"use {', '.join(fitting)}, or correct `language`")
    return keys.runner


def _python(keys: StackKeys, at: str, places: Places) -> str | None:
    if keys.python is not None and not language_named(keys.language).has_interpreter:
        what = f"no interpreter runs a stack of {keys.language}"
        raise wrong(places, f"{at}.python", what, "remove it, or correct `language`")
    return keys.python


def _suite(keys: StackKeys, places: Places, at: str) -> Iterator[str]:
    """Joins `-m` and its mark to one entry if they are written as two."""
    waiting = iter(keys.suite)
    for index, entry in enumerate(waiting):
        runner = keys.runner or runners_of(keys.language)[0]
        if entry.startswith("-m") and not kind_of(runner).has_marks:
            what = f"{runner} knows no marks"
            raise wrong(places, f"{at}[{index}]", what, "name ids, files or folders")
        mark = next(waiting, None) if entry == "-m" else ""
        if mark is None:
            raise wrong(places, f"{at}[{len(keys.suite) - 1}]", "a mark is missing", 'write "-m MARK"')
        yield f"{entry} {mark}" if mark else entry


def _words(value: Iterable[str], places: Places, at: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(value) if isinstance(value, str) else value)
    except ValueError as error:
        raise wrong(places, at, str(error).lower(), "close the quotation, or write a list of words") from None


def _commands(given: Mapping[Any, Any], places: Places, at: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for pattern, command in given.items():
        here = f"{at}.{pattern}"
        if not isinstance(pattern, str):
            raise wrong(places, here, f"{str(pattern)!r} is no test id and no glob", "quote it: 'text'")
        if "::" not in pattern:
            check_glob(pattern, places, here)
        if not isinstance(command, str) and not _is_words(command):
            raise wrong(places, here, "its command is no text and no list of words", "quote it: 'text'")
        words = _words(command, places, here)
        if not any("{args}" in word or "{report}" in word for word in words):
            raise wrong(places, here, "an exit code alone proves no test", _NEEDED)
        yield pattern, words


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def check_glob(glob: str, places: Places, at: str) -> None:
    try:
        compile_glob(glob)
    except ConfigError as error:
        raise wrong(places, at, error.message, error.hint or _DOCS) from None


def _junit(keys: StackKeys, at: str, places: Places) -> JUnit | None:
    is_junit = kind_of(_runner(keys, at, places)).has_templates
    if keys.junit is None:
        if is_junit:
            raise _missing_key(at, places)
        return None
    here = f"{at}.junit"
    if not is_junit:
        raise wrong(places, here, "it is for `runner: junit`", "remove it, or name that runner")
    _check_preset(keys.junit, here, places)
    _check_regex(keys.junit.pattern, (), places, f"{here}.pattern")
    _check_regex(keys.junit.build_error, _TOLD_BY, places, f"{here}.build_error")
    for index, glob in enumerate(keys.junit.reports):
        check_glob(glob, places, f"{here}.reports[{index}]")
    words = {
        key: _words(getattr(keys.junit, key), places, f"{here}.{key}") for key in ("command", "everything")
    }
    found = JUnit(**{**msgspec.structs.asdict(keys.junit), **words})
    if not (found.preset or found.command):
        raise _missing_key(here, places)
    _check_report(found, here, places)
    return found


def _missing_key(at: str, places: Places) -> ConfigError:
    from verdigris.runners.junit import PRESETS

    what = "`runner: junit` needs to know the tool"
    hint = f"give `junit: {{preset: NAME}}` ({', '.join(PRESETS)}), or `junit.command` and `junit.path`"
    return wrong(places, at, what, hint)


def _check_preset(keys: JUnitKeys, at: str, places: Places) -> None:
    from verdigris.runners.junit import PRESETS

    if keys.preset and keys.preset not in PRESETS:
        what = f"there is no preset {keys.preset!r}"
        raise wrong(places, f"{at}.preset", what, f"use {', '.join(PRESETS)}, or give `command`")


def _check_report(found: JUnit, at: str, places: Places) -> None:
    """A custom command must name its reports; those of a preset belong to the preset's own command."""
    from verdigris.runners.junit import PRESETS

    known = PRESETS.get(found.preset)
    if not found.command or found.reports or (known is not None and known.reports):
        return
    if not any("{report}" in word for word in found.command):
        what = "nothing tells where its reports are"
        raise wrong(places, f"{at}.command", what, "write `{report}` in it, or name them with `reports`")


def _check_regex(regex: str | None, groups: tuple[str, ...], places: Places, at: str) -> None:
    if regex is None:
        return
    try:
        known = re.compile(regex).groupindex
    except re.error as error:
        raise wrong(
            places, at, f"broken regular expression: {error}", "correct it; quote it with '…'"
        ) from None
    if missing := [group for group in groups if group not in known]:
        what = f"its group {', '.join(f'`{group}`' for group in missing)} is missing"
        raise wrong(places, at, what, f"name its parts: {' '.join(f'(?P<{group}>…)' for group in groups)}")


_SPECIAL = frozenset("*?[!#\\ ")


def layouts(root: Path, settings: Settings) -> dict[Where, Detected]:
    return {where(stack): layout(root, stack) for stack in settings.stacks}


def runner_files(settings: Settings) -> tuple[str, ...]:
    """The files from which layouts are read, relative to the worktree's root."""
    return tuple(
        str(PurePosixPath(stack.root) / name)
        for stack in settings.stacks
        for name in language_named(stack.language).configuration()
    )


def keep_source(root: Path, before: Classes, after: Classes) -> Classes:
    """`after`, but source without a test in it does not become a test: it would be open in red."""
    paths = (f"{at}/{name}".removeprefix("./") for at, _, files in walk(root) for name in files)
    kept = [
        re.escape(path)
        for path in paths
        if classify(path, before) is PathClass.SOURCE
        and classify(path, after) is PathClass.TEST
        and not reader_of(path).holds_test((root / path).read_bytes())
    ]
    return Classes(((PathClass.SOURCE, rf"(?:{'|'.join(kept)})\Z"), *after.rules)) if kept else after


def layout(root: Path, stack: Stack) -> Detected:
    """Where a stack has its source and its tests, if the usual names do not decide."""
    found = language_named(stack.language).layout(root / stack.root)
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
