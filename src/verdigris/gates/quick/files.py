"""Which files may plainly be written or read: `core.policy`, as far as it needs no content for that."""

from __future__ import annotations

from verdigris.gates.quick.place import Doubt, below, check_way, is_folder, is_lone_file, walk
from verdigris.storage.card import regex

TYPE_CHECKING = False  # as in storage/log/format.py
if TYPE_CHECKING:
    from verdigris.storage.card import Card

_WRITABLE = {
    ("red", "test"),
    ("red", "spec"),
    ("refactor", "source"),
    ("off", "test"),
    ("off", "spec"),
    ("off", "source"),
}


def writable(card: Card, cwd: str, spelling: str) -> str:
    """The path below the root; Doubt where it is not for sure an agent's to write now."""
    at, missing, found = walk(_absolute(cwd, spelling))
    if found is None or not (is_folder(found) if missing else is_lone_file(found)):
        raise Doubt
    whole = "/".join((at, *missing))
    path = below(card.root, whole)
    if path is None or not f"{at}/".startswith(f"{card.root}/"):
        raise Doubt
    if any(_within(place, whole) for place in card.guarded):
        raise Doubt
    check_way(card.root, at, missing)
    if not _allowed(card, path):
        raise Doubt
    return path


def readable(card: Card, cwd: str, spelling: str) -> str:
    """The path, from the root where it lies below; Doubt where it may be one that is kept from agents."""
    at, missing, found = walk(_absolute(cwd, spelling))
    if found is None or missing or not (is_folder(found) or is_lone_file(found)):
        raise Doubt
    if _within(card.control, at) or at.lower() == card.control.rpartition("/")[0].lower():
        raise Doubt
    path = below(card.root, at)
    if path in card.held_out:
        raise Doubt
    return path or at


def _absolute(cwd: str, spelling: str) -> str:
    """Doubt where a client may make something else of the spelling before it opens it."""
    if not spelling.isascii() or spelling != spelling.strip() or spelling.endswith("/"):
        raise Doubt
    if spelling.startswith(("~", "file:")):
        raise Doubt
    return spelling if spelling.startswith("/") else f"{cwd}/{spelling}"


def _within(place: str, path: str) -> bool:
    """In any case, literally: where names fold they may be the same."""
    return f"{path}/".lower().startswith(f"{place}/".lower())


def _allowed(card: Card, path: str) -> bool:
    cls = next((cls for cls, rule in card.rules if regex(rule).fullmatch(path)), "other")
    if cls == "other":
        return card.phase in {"red", "off"} or path.rpartition("/")[2] not in card.mixed
    if (card.phase, cls) == ("green", "source"):
        if path.endswith(card.mixed_source):
            return False
        return not card.suspended and card.targets is not None and bool(regex(card.targets).fullmatch(path))
    return (card.phase, cls) in _WRITABLE
