"""How settings are written down as the commented `tdd.yaml` of `tdd init`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.settings import Settings, Stack

if TYPE_CHECKING:
    from collections.abc import Iterator

Value = str | int | tuple[str, ...] | None

_HEAD = """\
# Verdigris: what is test, what is source, and how strict the laws are.
# A line that is commented out shows a default or an example. Every key: docs/configuration.md
"""
_WIDE = 10**9


def render(settings: Settings) -> str:
    lines = ["stacks:"]
    for stack in settings.stacks:
        lines += _stack_lines(stack)
    return "\n".join([_HEAD, *lines, "", *_top_lines(settings), ""])


def _stack_lines(stack: Stack) -> Iterator[str]:
    yield f"  - root: {_yaml(stack.root)}"
    yield f"    language: {_yaml(stack.language)}"
    yield f"    runner: {_yaml(stack.runner)}"
    keys: tuple[tuple[str, Value, Value, str], ...] = (
        ("python", stack.python, ".venv/bin/python", "the interpreter; found when not given"),
        ("test", stack.test, ("checks/**",), "tests, helpers and data besides the usual ones"),
        ("source", stack.source, ("src",), "source roots or globs; found when not given"),
        ("generated", stack.generated, ("**/*_pb2.py",), "files that nobody protects"),
        (
            "suite",
            stack.suite,
            ("tests/unit",),
            "ids, paths or -m MARK that acceptance runs; all when not given",
        ),
        ("test_command", stack.test_command, ("-p", "no:randomly"), "more arguments for the runner"),
        ("check", stack.check, "ruff check .", "linter that a settlement must pass"),
        ("verify", stack.verify, "make check", "what `tdd refactor end` runs besides the suite"),
        ("format", stack.format, "ruff format", "formatter for the source files of a turn"),
    )
    for key, value, example, meaning in keys:
        yield "    " + _line(key, value or None, example, meaning)


def _top_lines(settings: Settings) -> Iterator[str]:
    default = Settings()
    for key, value, usual, meaning in (
        ("red", settings.red, default.red, "what counts as red: behaviour, or assertion alone"),
        (
            "claims",
            settings.claims,
            default.claims,
            "an edit outside the targets joins (implied), or not (strict)",
        ),
        ("strikes", settings.strikes, default.strikes, "failed settlements before the edits are laid aside"),
    ):
        yield _line(key, None if value == usual else value, usual, meaning)
    yield _line("spec", settings.spec or None, ("specs/",), "globs of specification files")
    include = settings.oracle_include
    yield _line(
        "oracle",
        _nested("include", include) if include else None,
        _nested("include", ("src/pkg/rules/*.json",)),
        "data in the source tree that the tests read: frozen with them",
    )
    timeout = settings.timeout
    yield _line(
        "room",
        None if timeout == default.timeout else _nested("timeout", timeout),
        _nested("timeout", default.timeout),
        "seconds that one test run may take",
    )
    concerns = settings.concerns
    yield _line(
        "concerns",
        None if concerns == default.concerns else concerns,
        default.concerns,
        "a concern about the source is recorded, or refuses the settlement (block)",
    )
    alive = (settings.liveness, settings.liveness_seconds)
    yield _line(
        "liveness",
        None if alive == (default.liveness, default.liveness_seconds) else _alive(*alive),
        _alive(default.liveness, default.liveness_seconds),
        "whether a settlement changes the claimed assertions to see them fail, and for how long",
    )


def _alive(enabled: bool, seconds: int) -> _Raw:
    return _Raw(f"{{enabled: {str(enabled).lower()}, seconds: {seconds}}}")


class _Raw(str):
    """Text that is YAML already."""

    __slots__ = ()


def _nested(key: str, value: Value) -> _Raw:
    return _Raw(f"{{{key}: {_yaml(value)}}}")


def _line(key: str, value: Value, example: Value, meaning: str) -> str:
    if value is None:
        return f"# {key}: {_yaml(example)}  # {meaning}"
    return f"{key}: {_yaml(value)}  # {meaning}"


def _yaml(value: Value) -> str:
    match value:
        case _Raw():
            return value
        case str():
            return _text(value)
        case tuple():
            return f"[{', '.join(map(_text, value))}]"
        case _:
            return str(value)


def _text(value: str) -> str:
    import yaml

    if re.fullmatch(r"[A-Za-z][\w./ -]*[\w/]", value, re.ASCII) and yaml.safe_load(value) == value:
        return value
    return yaml.safe_dump(value, default_style='"', allow_unicode=True, width=_WIDE).rstrip("\n")
