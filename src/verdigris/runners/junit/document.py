"""Reads the cases and failures in JUnit XML; refuses a document with entities, or one that was cut short."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from verdigris.core.report import Failure, Place
from verdigris.runners.protocol import relative

_OUTCOMES = frozenset({"failure", "error", "skipped", "rerunFailure", "flakyFailure", "flakyError"})
_DEEPEST = 64


class UnreadableReport(ValueError):
    """A report cannot be read. The runner makes a CollectError of it."""


@dataclass(slots=True)
class CaseOutcome:
    tag: str
    type: str = ""
    message: str = ""
    text: str = ""


@dataclass(slots=True)
class JunitCase:
    attributes: dict[str, str]
    outcomes: list[CaseOutcome] = field(default_factory=list)
    output: str = ""


@dataclass(slots=True)
class JUnitDocument:
    cases: list[JunitCase] = field(default_factory=list)
    declared: int | None = None
    """The number of tests that the outermost suites declare."""
    skipped: int = 0


def read_junit(xml: bytes) -> JUnitDocument:
    """Raises UnreadableReport."""
    reading = _XmlReading()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    parser.StartElementHandler = reading.begin
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.text
    try:
        parser.Parse(xml, True)
    except expat.ExpatError as error:
        raise UnreadableReport(f"not well-formed: {error}") from error
    if reading.root not in {"testsuite", "testsuites"}:
        raise UnreadableReport(f"its root is <{reading.root}>, not <testsuite>")
    document = reading.document
    document.skipped = sum(any(o.tag == "skipped" for o in case.outcomes) for case in document.cases)
    return document


def _refuse(*_: object) -> NoReturn:
    raise UnreadableReport("it declares a document type or entities, which no test tool needs")


class _XmlReading:
    def __init__(self) -> None:
        self.document = JUnitDocument()
        self.root = ""
        self._tags: list[str] = []
        self._case: JunitCase | None = None

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        self.root = self.root or tag
        if len(self._tags) > _DEEPEST:
            raise UnreadableReport("it is nested too deep")
        if tag == "testsuite":
            if "testsuite" not in self._tags and attributes.get("tests", "").isdigit():
                self.document.declared = (self.document.declared or 0) + int(attributes["tests"])
        elif tag == "testcase":
            self._case = JunitCase(attributes)
            self.document.cases.append(self._case)
        elif self._case and tag in _OUTCOMES:
            outcome = CaseOutcome(tag, attributes.get("type", ""), attributes.get("message", ""))
            self._case.outcomes.append(outcome)
        self._tags.append(tag)

    def end(self, tag: str) -> None:
        self._tags.pop()
        if tag == "testcase":
            self._case = None

    def text(self, data: str) -> None:
        if not self._case:
            return
        match self._tags[-1]:
            case "system-out" | "system-err":
                self._case.output += data
            case tag if tag in _OUTCOMES and self._case.outcomes:
                self._case.outcomes[-1].text += data


_JAVA = re.compile(r"^\s+at (?:.*/)?([\w$.]+)\.[\w$<>]+\(([\w$]+\.\w+):(\d+)\)$", re.MULTILINE)
_ANY = re.compile(r"(?<![\w/.(])((?:/|\.{0,2}/)?[\w.@+-]+(?:/[\w.@+-]+)*\.[A-Za-z]\w*):(\d+)\b")
_RAISED = re.compile(
    r"(?:E\s+)?([A-Za-z_][\w.\\:]*(?:Error|Exception|Failure|Failed|Warning|Interrupt|Exit))\b"
)
_ASSERTS = re.compile(r"assert|expectation|comparison|mismatch|multiplefailures|^Failed$", re.IGNORECASE)


def junit_failure(outcome: CaseOutcome, path: str, classname: str, worktree: str, source: str) -> Failure:
    """Why a case failed.

    `source`: the path of another class of the project, made of `{package}` and `{file}`.
    """
    kind = outcome.type or _exception_name(outcome)
    frames = tuple(_frames(outcome.text, path, classname, worktree, source))
    return Failure(
        kind=kind or outcome.tag,
        assertion=outcome.tag == "failure" if not kind else bool(_ASSERTS.search(kind)),
        message=outcome.message.strip() or outcome.text.strip(),
        place=frames[-1] if frames else None,
        frames=frames,
    )


def _exception_name(outcome: CaseOutcome) -> str:
    """Some tools name the exception only at the start of the message."""
    match = _RAISED.match(outcome.message)
    return match[1] if match else ""


def _frames(text: str, path: str, classname: str, worktree: str, source: str) -> Iterator[Place]:
    java = _JAVA.findall(text)
    if java:
        yield from _java_frames(java, path, classname, source)
        return
    places = [_place(file, int(line), path, worktree) for file, line in _ANY.findall(text)]
    frames = [place for place in places if place and not place.path.startswith("/")]
    own = next((i for i, place in enumerate(frames) if place.path == path), 0)
    # Some tools print the innermost frame first, some last. The test's own is the outermost of the project.
    ordered = frames[own:] if own == 0 else [*reversed(frames[: own + 1])]
    yield from dict.fromkeys(ordered)


def _place(file: str, line: int, path: str, worktree: str) -> Place | None:
    if "/" in file:
        return Place(relative(file, worktree), line)
    return Place(path, line) if file == posixpath.basename(path) else None


def _java_frames(
    stack: list[tuple[str, str, str]], path: str, classname: str, source: str
) -> Iterator[Place]:
    """The frames from the test's own down. A class is the project's if its first two package names are."""
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
