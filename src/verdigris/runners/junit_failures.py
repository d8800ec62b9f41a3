"""Why a JUnit test case failed, and where in the project, as far as its text tells."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.core.report import Failure, Place
from verdigris.runners.results import relative

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.runners.junit_xml import Outcome

_JAVA = re.compile(r"^\s+at (?:.*/)?([\w$.]+)\.[\w$<>]+\(([\w$]+\.\w+):(\d+)\)$", re.MULTILINE)
_ANY = re.compile(r"(?<![\w/.(])((?:/|\.{0,2}/)?[\w.@+-]+(?:/[\w.@+-]+)*\.[A-Za-z]\w*):(\d+)\b")
_RAISED = re.compile(
    r"(?:E\s+)?([A-Za-z_][\w.\\:]*(?:Error|Exception|Failure|Failed|Warning|Interrupt|Exit))\b"
)
_ASSERTS = re.compile(r"assert|expectation|comparison|mismatch|multiplefailures|^Failed$", re.IGNORECASE)


def junit_failure(outcome: Outcome, path: str, classname: str, worktree: str, source: str) -> Failure:
    """`source` says where a class of the project lies that is not the test's own: `{package}/{file}`."""
    kind = outcome.type or _raised(outcome)
    frames = tuple(_frames(outcome.text, path, classname, worktree, source))
    return Failure(
        kind=kind or outcome.tag,
        assertion=outcome.tag == "failure" if not kind else bool(_ASSERTS.search(kind)),
        message=outcome.message.strip() or outcome.text.strip(),
        place=frames[-1] if frames else None,
        frames=frames,
    )


def _raised(outcome: Outcome) -> str:
    """Some tools name the exception only at the start of the message."""
    told = _RAISED.match(outcome.message)
    return told[1] if told else ""


def _frames(text: str, path: str, classname: str, worktree: str, source: str) -> Iterator[Place]:
    java = _JAVA.findall(text)
    if java:
        yield from _java_frames(java, path, classname, source)
        return
    places = [_place(file, int(line), path, worktree) for file, line in _ANY.findall(text)]
    found = [place for place in places if place and not place.path.startswith("/")]
    own = next((i for i, place in enumerate(found) if place.path == path), 0)
    # Some print the innermost first, some last: the test's own is the outermost of the project.
    ordered = found[own:] if own == 0 else [*reversed(found[: own + 1])]
    yield from dict.fromkeys(ordered)


def _place(file: str, line: int, path: str, worktree: str) -> Place | None:
    if "/" in file:
        return Place(relative(file, worktree), line)
    return Place(path, line) if file == posixpath.basename(path) else None


def _java_frames(
    stack: list[tuple[str, str, str]], path: str, classname: str, source: str
) -> Iterator[Place]:
    """From the test's own frame down; a class counts as the project's by its first two package names."""
    outer = classname.partition("$")[0]
    ours = ".".join(outer.split(".")[:2][: outer.count(".")])
    places: list[Place] = []
    for owner, file, line in stack:
        if owner.partition("$")[0] == outer:
            places.append(Place(path, int(line)))
            break
        if source and ours and owner.startswith(ours + "."):
            package = posixpath.dirname(owner.partition("$")[0].replace(".", "/"))
            places.append(Place(posixpath.normpath(source.format(package=package, file=file)), int(line)))
    yield from reversed(places)
