"""Sets one key of a driver's section in the text of `tdd.yaml`; everything else stays as it is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError
from verdigris.storage.config.file import NAME, parse

if TYPE_CHECKING:
    from verdigris.storage.config.file import Places


def with_key(text: str, section: str, key: str, given: str) -> str:
    """The same text where the section has the key already: what a person wrote is theirs."""
    before, places = parse(text.encode())
    found = before.get(section)
    if found is not None and (not isinstance(found, dict) or key in found):
        return text
    made = _within(text, section, f"{key}: {given}", places) if section in before else ""
    made = made or _uncommented(text, section, key, given)
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
    """As the first key of a section that is there, in the style that it has."""
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


def _uncommented(text: str, section: str, key: str, given: str) -> str:
    """In the lines that `tdd init` left as comments, else at the file's end."""
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
