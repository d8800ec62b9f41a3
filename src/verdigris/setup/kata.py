"""The kata that `tdd init --kata PATH` is given: read, and found good for something."""

from __future__ import annotations

import os
from pathlib import Path

from verdigris.core.errors import UserError
from verdigris.core.value import value
from verdigris.languages.katas import says_nothing
from verdigris.storage.repository import read_plain

USUAL = "kata.md"
PLACEHOLDER = """\
<!--
Describe here what is to be built, in your own words, and delete this comment: as long as there is nothing
else, there is no kata. A title, one sentence that says what it is for, then the rules from the simplest to
the hardest, each with an example:

# String Calculator

A function `add` takes a string of numbers and returns their sum.

- an empty string is 0
- one number is its own value: "7" is 7
-->
"""
_MOST = 1_000_000


@value
class Kata:
    path: str
    """In the tree, from its root."""
    text: str
    copied: bool
    """It is not in the tree yet."""


def placeholder() -> Kata:
    return Kata(USUAL, PLACEHOLDER, copied=True)


def read_kata(given: str, cwd: Path, root: Path) -> Kata:
    """One that lies in the tree is used where it is."""
    place = cwd / given
    text = _text(given, place)
    inside = _inside(place, root)
    if inside is not None:
        return Kata(inside, text, copied=False)
    there = root / USUAL
    if os.path.lexists(there) and not _same(there, text):
        raise UserError(
            f"{USUAL} is there already, and it is another text than {given}.",
            hint=f"`tdd init --kata {USUAL}` takes the one that is there; or move it away first",
        )
    return Kata(USUAL, text, copied=True)


def _text(given: str, place: Path) -> str:
    if place.is_dir():
        raise UserError(f"the kata {given} is a folder.", hint="name the file that describes it")
    try:
        data = read_plain(place)
    except FileNotFoundError:
        raise UserError(
            f"there is no kata {given}.",
            hint="describe in that file what is to be built, then run `tdd init` again",
        ) from None
    except OSError as error:
        raise UserError(f"the kata {given} cannot be read: {error.strerror}.") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UserError(
            f"the kata {given} is no text.", hint="it has to be a text in UTF-8, such as Markdown"
        )
    if len(text) > _MOST:
        raise UserError(f"the kata {given} has {len(text)} characters.", hint="no model would read all of it")
    if says_nothing(text):
        raise UserError(f"the kata {given} is empty.", hint="describe in it what is to be built")
    return text


def _inside(place: Path, root: Path) -> str | None:
    """Its path from the root, where it is a plain file of the tree whose name a configuration can hold."""
    where = Path(os.path.normpath(place.absolute()))
    if place.is_symlink() or not where.is_relative_to(root):
        return None
    found = where.relative_to(root)
    named = found.as_posix().isprintable()
    return found.as_posix() if named and found.parts[0] != ".git" else None


def _same(path: Path, text: str) -> bool:
    try:
        return read_plain(path).decode("utf-8-sig") == text
    except (OSError, UnicodeDecodeError):
        return False
