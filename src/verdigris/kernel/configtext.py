"""How settings are written down as the commented `tdd.yaml` of `tdd init`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.settings import Settings, Stack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Value = str | bool | int | tuple[str, ...] | None

_HEAD = """\
# Verdigris: what is test, what is source, and how strict the laws are.
# A line that is commented out shows a default or an example. Every key: docs/configuration.md
"""
_WIDE = 10**9
_ROOM_EXAMPLE: Mapping[str, Value] = {
    "timeout": 600,
    "env": ("DATABASE_URL", "MODE=test"),
    "network": "loopback",
}


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
        _flow({"include": include}) if include else None,
        _flow({"include": ("src/pkg/rules/*.json",)}),
        "data in the source tree that the tests read: frozen with them",
    )
    yield _line(
        "room", _room(settings), _flow(_ROOM_EXAMPLE), "what a test run gets: seconds, environment, network"
    )
    yield from _rules(settings, default)
    alive = {"enabled": settings.liveness, "seconds": settings.liveness_seconds}
    usual_alive = {"enabled": default.liveness, "seconds": default.liveness_seconds}
    yield _line(
        "liveness",
        None if alive == usual_alive else _flow(alive),
        _flow(usual_alive),
        "whether a settlement changes the claimed assertions to see them fail, and for how long",
    )
    yield _line("agents", settings.agents or None, ("claude",), "coding agents whose hooks are set up")


def _rules(settings: Settings, default: Settings) -> Iterator[str]:
    for key, value, usual, meaning in (
        ("concerns", settings.concerns, default.concerns, "a concern about the source"),
        ("uncovered", settings.uncovered, default.uncovered, "a changed line that no claimed test executes"),
    ):
        written = None if value == usual else value
        yield _line(key, written, usual, f"{meaning} is recorded, or refuses the settlement (block)")


def _room(settings: Settings) -> _Raw | None:
    default = Settings()
    said: dict[str, Value] = {}
    if settings.timeout != default.timeout:
        said["timeout"] = settings.timeout
    if settings.room_env:
        said["env"] = settings.room_env
    if settings.room_network != default.room_network:
        said["network"] = settings.room_network
    if settings.room_plugins is not None:
        said["plugins"] = settings.room_plugins
    return _flow(said) if said else None


class _Raw(str):
    """Text that is YAML already."""

    __slots__ = ()


def _flow(pairs: Mapping[str, Value]) -> _Raw:
    return _Raw(f"{{{', '.join(f'{key}: {_yaml(value)}' for key, value in pairs.items())}}}")


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
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{', '.join(map(_text, value))}]"
        case _:
            return str(value)


def _text(value: str) -> str:
    import yaml

    if re.fullmatch(r"[A-Za-z][\w./ -]*[\w/]", value, re.ASCII) and yaml.safe_load(value) == value:
        return value
    return yaml.safe_dump(value, default_style='"', allow_unicode=True, width=_WIDE).rstrip("\n")
