"""Tables of the documentation that are made from lists in the code. `make docs` writes them.

`tests/docs/test_tables.py` says whether they are up to date.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from verdigris.core.events import Event
from verdigris.core.settings import DriverSettings, Key, Settings, keys_of
from verdigris.core.value import is_value
from verdigris.core.verdict import Kind
from verdigris.core.verdict.redness import WHY_NOT
from verdigris.drivers.loop import events as _loop_events  # noqa: F401 - it registers the loop's events
from verdigris.storage.config.drivers import built_in_sections
from verdigris.storage.config.file import MOVED

DOCS = Path(__file__).resolve().parents[2] / "docs"
_PLAYED = (
    "Who plays it: `model`, which is `provider:name`, a name that `llm.base_url` serves, `human` or "
    "`replay:FILE`; and the keys of `llm`, for this role."
)


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |")


def sentences(kind: type) -> dict[str, str]:
    """The docstring of each field of a class, those of the classes above it too."""
    told: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("verdigris."):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, after in zip(body.body, body.body[1:], strict=False):
            match field, after:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    told[name] = " ".join(text.split())
    return told


def key_table() -> Iterator[str]:
    yield row("key", "type", "default", "meaning")
    yield "|---|---|---|---|\n"
    yield from _keys(Settings)
    sections = built_in_sections()
    for section in sections:
        yield from _keys(section.settings, apart=DriverSettings)
        for old, new in MOVED.items():
            if old.startswith(f"{section.driver}."):
                yield row(f"`{old}`", "mapping", "none", f"The old name of `{new}`; still read.")
    for section in sections:
        for role in section.roles:
            says = f"The same: [{section.driver}.md]({section.driver}.md)."
            if section.teams and not any(role in team for team in section.teams):
                says += " If nobody plays it, only the kernel's checks decide."
            yield row(f"`roles.{role}`", "mapping", "`{}`", _PLAYED if role == sections[0].roles[0] else says)
    yield from _keys(DriverSettings)


def _keys(kind: type, prefix: str = "", apart: type = object) -> Iterator[str]:
    """A row for each key that has a sentence; then those of the class that is its value."""
    types, says = get_type_hints(kind), sentences(kind)
    for field, key in keys_of(kind).items():
        if field in keys_of(apart):
            continue
        name, inner = f"{prefix}{key.name}", _nested(types[field])
        if field in says:
            yield row(f"`{name}`", _type(types[field], key), _default(key), says[field])
        if inner is not None:
            yield from _keys(inner, f"{name}[]." if get_origin(types[field]) is tuple else f"{name}.")


def _nested(kind: Any) -> type | None:
    """The class of settings that a key holds, if its fields have sentences of their own."""
    inner = kind if is_value(kind) else next(iter(get_args(kind)), None)
    return inner if isinstance(inner, type) and is_value(inner) and sentences(inner) else None


def _type(kind: Any, key: Key) -> str:
    plain = next((inner for inner in get_args(kind) if inner is not type(None)), kind)
    if get_origin(kind) is Literal or get_origin(plain) is Literal:
        choices = get_args(kind if get_origin(kind) is Literal else plain)
        several = "list of " if get_origin(kind) is tuple else ""
        return several + ", ".join(f"`{choice}`" for choice in choices)
    words = key.of or {int: "number", bool: "boolean", str: "text"}[plain]
    return f"{words} ≥ {key.least}" if key.least is not None and plain is int else words


def _default(key: Key) -> str:
    match key.default:
        case _ if key.shown:
            return key.shown
        case None:
            return "none"
        case bool():
            return f"`{str(key.default).lower()}`"
        case ():
            return "`[]`"
        case _:
            return f"`{key.default}`"


def verdict_table() -> Iterator[str]:
    yield row("verdict", "what it means", "what to do")
    yield "|---|---|---|\n"
    for name, says in sentences(Kind).items():
        means, _, move = says.partition(" Next: ")
        yield row(f"`{Kind[name]}`", means, move.rstrip("."))


def red_table() -> Iterator[str]:
    yield row("`red:`", "why it is no red", "what to do")
    yield "|---|---|---|\n"
    for reason, (why, move) in WHY_NOT.items():
        yield row(f"`{reason}`", why, move)


_EVENT_HOMES = ("verdigris.core.events.", "verdigris.drivers.loop.")


def event_table() -> Iterator[str]:
    yield row("event", "what it records")
    yield "|---|---|\n"
    for name, event in sorted(Event.kinds.items()):
        if event.__module__.startswith(_EVENT_HOMES) and not event.__subclasses__():
            about = inspect.cleandoc(vars(event).get("__doc__") or "").partition("\n")[0]
            assert about, f"the event {name} has no docstring"
            yield row(f"`{name}`", about)


TABLES: Mapping[str, tuple[Callable[[], Iterator[str]], ...]] = {
    "configuration.md": (key_table,),
    "troubleshooting.md": (red_table, verdict_table),
    "log.md": (event_table,),
}
"""Page → its tables; each replaces the one with the same first line."""


def renewed(page: str) -> str:
    """The page with its tables as the code has them."""
    text = (DOCS / page).read_text("utf-8")
    for table in TABLES[page]:
        head, *rows = table()
        old = re.search(rf"^{re.escape(head)}(?:\|.*\n)*", text, re.MULTILINE)
        assert old is not None, f"{page} has no table with the head {head}"
        text = "".join((text[: old.start()], head, *rows, text[old.end() :]))
    return text


if __name__ == "__main__":
    for page in TABLES:
        (DOCS / page).write_text(renewed(page), "utf-8")
