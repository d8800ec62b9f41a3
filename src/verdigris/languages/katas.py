"""What a kata's text tells: whether it says anything, its title, and a name for its project."""

from __future__ import annotations

import keyword
import re
import unicodedata

FALLBACK = "kata"
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"^\s{0,3}#+[ \t]+(.+?)[ \t#]*$|^([^\n]+)\n(?:={3,}|-{3,})[ \t]*$", re.MULTILINE)
_LEAST = 2
_MOST = 40


def says_nothing(text: str) -> bool:
    """Empty, or nothing but comments, as the placeholder of `tdd init` is."""
    return not _COMMENT.sub("", text).strip()


def title_of(text: str) -> str:
    """The first heading; nothing where there is none."""
    found = _HEADING.search(_COMMENT.sub("", text))
    return (found[1] or found[2]).strip() if found else ""


def project_name(*wishes: str, taken: frozenset[str] = frozenset()) -> str:
    """Of the first wish that makes one: small letters, digits and hyphens, good in every language.

    `taken` are names that a language keeps for itself.
    """
    for wish in wishes:
        plain = unicodedata.normalize("NFKD", wish).encode("ascii", "ignore").decode().lower()
        words = re.findall(r"[a-z0-9]+", re.sub(r"\bkata\b", " ", plain))
        name = "-".join(words)[:_MOST].strip("-")
        if len(name) < _LEAST:
            continue
        if not name[0].isalpha() or _is_kept(name, taken):
            name = f"{FALLBACK}-{name}"
        return name
    return FALLBACK


def module_name(name: str) -> str:
    return name.replace("-", "_")


def _is_kept(name: str, taken: frozenset[str]) -> bool:
    return module_name(name) in taken or keyword.iskeyword(name)
