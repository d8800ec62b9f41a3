"""JUnit XML as plain test cases; a document that declares entities, or is cut short, is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

_OUTCOMES = frozenset({"failure", "error", "skipped", "rerunFailure", "flakyFailure", "flakyError"})
_DEEPEST = 64


class UnreadableReport(ValueError):
    """Never leaves the runner: it becomes a CollectError."""


@dataclass(slots=True)
class Outcome:
    tag: str
    type: str = ""
    message: str = ""
    text: str = ""


@dataclass(slots=True)
class Case:
    attributes: dict[str, str]
    suites: tuple[str, ...]
    """Names of the suites around it, outermost first."""
    outcomes: list[Outcome] = field(default_factory=list)
    output: str = ""


@dataclass(slots=True)
class Document:
    cases: list[Case] = field(default_factory=list)
    declared: int | None = None
    """How many tests the outermost suites say that they have."""
    skipped: int = 0


def read_junit(xml: bytes) -> Document:
    """Raises UnreadableReport."""
    reading = _Reading()
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


class _Reading:
    def __init__(self) -> None:
        self.document = Document()
        self.root = ""
        self._tags: list[str] = []
        self._suites: list[str] = []
        self._case: Case | None = None

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        self.root = self.root or tag
        if len(self._tags) > _DEEPEST:
            raise UnreadableReport("it is nested too deep")
        if tag == "testsuite":
            if "testsuite" not in self._tags and attributes.get("tests", "").isdigit():
                self.document.declared = (self.document.declared or 0) + int(attributes["tests"])
            self._suites.append(attributes.get("name", ""))
        elif tag == "testcase":
            self._case = Case(attributes, tuple(self._suites))
            self.document.cases.append(self._case)
        elif self._case and tag in _OUTCOMES:
            told = Outcome(tag, attributes.get("type", ""), attributes.get("message", ""))
            self._case.outcomes.append(told)
        self._tags.append(tag)

    def end(self, tag: str) -> None:
        self._tags.pop()
        if tag == "testsuite":
            self._suites.pop()
        elif tag == "testcase":
            self._case = None

    def text(self, data: str) -> None:
        if not self._case:
            return
        match self._tags[-1]:
            case "system-out" | "system-err":
                self._case.output += data
            case tag if tag in _OUTCOMES and self._case.outcomes:
                self._case.outcomes[-1].text += data
