"""Writes the `tdd.yaml` of `tdd init`, and sets one key of a driver's section in its text."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError
from verdigris.core.settings import JUnit, MachineSettings, Settings, Stack
from verdigris.storage.config.file import NAME, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.storage.config.file import Places

Value = str | bool | int | tuple[str, ...] | None

_HEAD = "# Every key, with its default: `tdd help configuration`"
_WIDE = 10**9
_STACK_KEYS = (
    *("python", "junit", "test", "source", "generated", "suite", "test_command", "test_command_for"),
    *("check", "verify", "format"),
)
_TOP_KEYS = ("red", "claims", "strikes", "spec", "concerns", "uncovered", "warm", "agents")
_SECTIONS = {
    "oracle": {"include": "oracle_include", "exclude": "oracle_exclude"},
    "room": {
        "timeout": "timeout",
        "test_timeout": "test_timeout",
        "env": "room_env",
        "network": "room_network",
        "git": "room_git",
        "plugins": "room_plugins",
    },
    "sandbox": {"write": "sandbox_write"},
    "liveness": {"enabled": "liveness", "seconds": "liveness_seconds"},
}
"""Sections at the top: key → field of `Settings`."""


def render(settings: Settings, kata: str = MachineSettings().kata) -> str:
    """The keys that differ from their defaults, and what a stack is."""
    lines = [_HEAD, "stacks:", *(line for stack in settings.stacks for line in _stack_lines(stack))]
    lines += [f"{key}: {_yaml(value)}" for key, value in _top(settings)]
    if kata != MachineSettings().kata:
        lines += ["machine:", f"  kata_description: {_text(kata)}"]
    return "\n".join((*lines, ""))


def _stack_lines(stack: Stack) -> Iterator[str]:
    yield f"  - root: {_yaml(stack.root)}"
    yield f"    language: {_yaml(stack.language)}"
    yield f"    runner: {_yaml(stack.runner)}"
    for key in _STACK_KEYS:
        given = getattr(stack, key)
        if key == "test_command_for":
            given = _flow(dict(given)) if given else None
        if isinstance(given, JUnit):
            given = _flow(_differing(given, JUnit(), {field.name: field.name for field in fields(given)}))
        if given:
            yield f"    {key}: {_yaml(given)}"


def _top(settings: Settings) -> Iterator[tuple[str, Value]]:
    usual = Settings()
    yield from _differing(settings, usual, {key: key for key in _TOP_KEYS}).items()
    for section, keys in _SECTIONS.items():
        if said := _differing(settings, usual, keys):
            yield section, _flow(said)


def _differing(found: object, usual: object, keys: Mapping[str, str]) -> dict[str, Value]:
    values = {key: getattr(found, field) for key, field in keys.items()}
    return {key: value for key, value in values.items() if value != getattr(usual, keys[key])}


class _Raw(str):
    """Text that is YAML already."""

    __slots__ = ()


def _flow(pairs: Mapping[str, Value]) -> _Raw:
    return _Raw(f"{{{', '.join(f'{_text(key)}: {_yaml(value)}' for key, value in pairs.items())}}}")


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


def with_key(text: str, section: str, key: str, given: str) -> str:
    """The text with the key set; unchanged if the section has the key already: a person wrote it."""
    before, places = parse(text.encode())
    found = before.get(section)
    if found is not None and (not isinstance(found, dict) or key in found):
        return text
    made = _within(text, section, f"{key}: {given}", places) if section in before else ""
    made = made or _uncomment_key(text, section, key, given)
    if _read(made) != {**before, section: {**(found or {}), key: given}}:
        hint = f"write it yourself: `{section}: {{{key}: {given}}}`, then try again"
        raise ConfigError(f"{NAME}: {key} cannot be added to {section} as it is written", hint=hint)
    return made


def _read(text: str) -> dict[Any, Any]:
    try:
        return parse(text.encode())[0]
    except ConfigError:
        return {}


def _within(text: str, section: str, said: str, places: Places) -> str:
    """Writes the first key of a section that is there, in the style that it has."""
    lines = text.splitlines(keepends=True)
    at = places[section] - 1
    name, _, rest = lines[at].partition(":")
    if rest.lstrip().startswith("{"):
        inner = rest.partition("{")[2]
        end = "" if inner.lstrip().startswith("}") else ", "
        lines[at] = f"{name}: {{{said}{end}{inner}"
        return "".join(lines)
    first = min((line for path, line in places.items() if path.startswith(f"{section}.")), default=0)
    indent = re.match(r"\s*", lines[first - 1])[0] if first else "  "  # type: ignore[index]  # it always matches
    return "".join((*lines[: at + 1], f"{indent}{said}{_line_end(text)}", *lines[at + 1 :]))


def _uncomment_key(text: str, section: str, key: str, given: str) -> str:
    """Uncomments the line that an older `tdd init` left, or writes one at the file's end."""
    shown = re.compile(
        rf"^# {section}:(?P<end>\r?\n(?:#.*\r?\n)*?)#   {key}: *(?:[^#\r\n]*?)(?P<why> +#.*)?$", re.MULTILINE
    )
    if found := shown.search(text):
        opened = f"{section}:{found['end']}  {key}: {given}{found['why'] or ''}"
        return text[: found.start()] + opened + text[found.end() :]
    end = _line_end(text)
    gap = "" if not text or text.endswith("\n") else end
    return f"{text}{gap}{section}:{end}  {key}: {given}{end}"


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
