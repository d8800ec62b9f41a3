"""Writes the `tdd.yaml` of `tdd init`, and sets one key of a driver's section in its text."""

from __future__ import annotations

import re
from typing import Any

from verdigris.core.errors import ConfigError
from verdigris.core.settings import JUnit, MachineSettings, Settings, keys_of
from verdigris.storage.config.file import NAME, Places, parse

_HEAD = "# Every key, with its default: `tdd help configuration`"
_WIDE = 10**9


def render(settings: Settings, kata: str = MachineSettings.kata) -> str:
    """The keys that differ from their defaults, and what a stack is."""
    lines = [_HEAD, "stacks:"]
    for stack in settings.stacks:
        of = {"root": stack.root, "language": stack.language, "runner": stack.runner, **_differing(stack)}
        first, *rest = (f"{key}: {_yaml(said)}" for key, said in of.items())
        lines += [f"  - {first}", *(f"    {line}" for line in rest)]
    lines += [f"{key}: {_yaml(said)}" for key, said in _differing(settings).items() if key != "stacks"]
    if kata != MachineSettings.kata:
        lines += ["machine:", f"  kata_description: {_text(kata)}"]
    return "\n".join((*lines, ""))


def _differing(settings: object) -> dict[str, Any]:
    """The values that differ from their defaults, by key; sections, which hold such values, at the end."""
    plain: dict[str, Any] = {}
    sections: dict[str, dict[str, Any]] = {}
    for field, key in keys_of(type(settings)).items():
        section, _, name = key.name.rpartition(".")
        if (said := getattr(settings, field)) != key.default:
            (sections.setdefault(section, {}) if section else plain)[name] = said
    return {**plain, **sections}


def _yaml(said: Any) -> str:
    match said:
        case JUnit():
            return _yaml(_differing(said))
        case dict():
            return f"{{{', '.join(f'{_text(key)}: {_yaml(inner)}' for key, inner in said.items())}}}"
        case str():
            return _text(said)
        case bool():
            return str(said).lower()
        case (tuple(), *_):
            return _yaml(dict(said))
        case tuple():
            return f"[{', '.join(map(_text, said))}]"
        case _:
            return str(said)


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
