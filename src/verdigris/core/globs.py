"""What a glob of `tdd.yaml` matches, as the source of a regular expression for `re.fullmatch`."""

from __future__ import annotations

import re

from verdigris.core.errors import ConfigError

_BELOW = r"(?:/.*)?"
_DEEP = r"(?:.*/)?"


def compile_glob(pattern: str) -> str:
    """Match the named file, or the named folder with everything below it; paths are relative, with `/`."""
    _refuse_foreign(pattern)
    parts = [part for part in pattern.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise _broken(pattern, "`..` leaves the folder", "write the path from the root down")
    if all(part == "**" for part in parts):
        return r"(?s:.*)\Z"
    while parts[-1] == "**":
        parts.pop()
    body = "".join(_DEEP if part == "**" else _part(pattern, part) + "/" for part in parts)
    return rf"(?s:{body[:-1]}{_BELOW})\Z"


def _refuse_foreign(pattern: str) -> None:
    """Refuse what other tools would read as syntax: taken literally it would silently protect nothing."""
    if not pattern.strip():
        raise _broken(pattern, "it is empty", "remove it, or write `.` for everything")
    if pattern.startswith("/"):
        raise _broken(pattern, "it is absolute", "write it relative, without the first `/`")
    if pattern.startswith("!"):
        raise _broken(pattern, "negation is not supported", "name what is meant instead")
    if "\\" in pattern or "\0" in pattern:
        raise _broken(
            pattern, "it holds a backslash or NUL", "use `/` between folders, `[*]` for a literal `*`"
        )
    if re.search(r"\{[^{}]*,[^{}]*\}", pattern):
        raise _broken(pattern, "`{a,b}` is not supported", "write one glob for each alternative")


def _part(pattern: str, part: str) -> str:
    if "**" in part:
        raise _broken(pattern, "`**` must stand alone between slashes", "write `**/*.py` rather than `**.py`")
    out: list[str] = []
    at = 0
    while at < len(part):
        match part[at]:
            case "*":
                out.append("[^/]*")
            case "?":
                out.append("[^/]")
            case "[":
                end = part.find("]", at + 3 if part[at + 1 : at + 2] in {"!", "^"} else at + 2)
                if end < 0:
                    raise _broken(
                        pattern, "`[` is never closed", "close it, or write `[[]` for a literal `[`"
                    )
                out.append(_charset(pattern, part[at + 1 : end]))
                at = end
            case char:
                out.append(re.escape(char))
        at += 1
    # A lone `*` must not match the empty name.
    return "".join(out) if part.strip("*") else "[^/]+"


def _charset(pattern: str, inner: str) -> str:
    negated = inner[0] in "!^"
    items = re.findall(r".-.|.", inner[negated:], re.DOTALL)
    for item in items:
        if len(item) > 1 and item[0] > item[2]:
            raise _broken(pattern, f"the range `{item}` is empty", "write ranges upwards: `[a-z]`")
    ends = ("-".join(map(re.escape, (item[0], item[2]) if len(item) > 1 else item)) for item in items)
    return f"(?!/)[{'^' if negated else ''}{''.join(ends)}]"


def _broken(pattern: str, why: str, hint: str) -> ConfigError:
    return ConfigError(f"broken glob {pattern!r}: {why}", hint=hint)
