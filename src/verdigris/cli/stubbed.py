"""Stubs: to paste, with the file that each belongs to, or as they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.core.shown import typed
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.languages.missing_names import Stub
    from verdigris.turns.stub import Stubbed


def offered(stubs: Mapping[str, tuple[Stub, ...]]) -> list[Line]:
    """Below a run that failed for want of declarations."""
    found: list[Line] = []
    for test, needed in stubs.items():
        found.append(Line(f"{test} needs declarations: `tdd stub {typed(test)}` writes these stubs"))
        found += _texts(needed)
    return found


def lines(done: Stubbed) -> list[Line]:
    if not done.stubs:
        return [
            Line(
                f"no stub to write: what {done.test} imports is declared, or it cannot be told from its text"
            ),
            Line(f"next: `tdd test {typed(done.test)}`"),
        ]
    return [
        Line(f"wrote {len(done.stubs)} {'stub file' if len(done.stubs) == 1 else 'stub files'}", "yellow"),
        *_texts(done.stubs),
        Line(f"next: `tdd test {typed(done.test)}` (it fails in the stub: a valid red)"),
    ]


def _texts(stubs: Iterable[Stub]) -> list[Line]:
    found: list[Line] = []
    for stub in stubs:
        found.append(Line(f"  {stub.path}{' (new)' if stub.new else ''}:"))
        found += [Line(f"    {line.expandtabs(4)}", code=True) for line in stub.text.splitlines()]
        found += [Line(f"    not told by the test: {note}") for note in stub.notes]
    return found


def data(stubs: Iterable[Stub]) -> list[dict[str, Any]]:
    return [{"path": one.path, "text": one.text, "new": one.new, "notes": list(one.notes)} for one in stubs]


def document(done: Stubbed) -> dict[str, Any]:
    return {"test": done.test, "stubs": data(done.stubs)}
