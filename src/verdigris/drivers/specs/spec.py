"""Reads a spec: its status, and its scenarios with ids and hashes, from the formats that teams use.

OpenSpec, spec-kit, Kiro, BMAD and ForgePlan files are read unchanged. A scenario has one of three forms: a
heading that begins with `Scenario:`, an item of a list below "Acceptance Scenarios" or "Acceptance Criteria",
or a scenario of a `.feature` file. Lines that look like a scenario and were not read are reported.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

from verdigris.core.value import replace, value
from verdigris.drivers.specs.markdown import (
    ListItem,
    MarkdownPage,
    SkippedLine,
    TextLine,
    is_feature,
    list_items,
    read_feature,
    read_page,
    split_lines,
    strip_emphasis,
)

DRAFT, ACTIVE, SUPERSEDED, DEPRECATED, STALE = "draft", "active", "superseded", "deprecated", "stale"
STATUSES = (DRAFT, ACTIVE, SUPERSEDED, DEPRECATED, STALE)
UNCLEAR = "[NEEDS CLARIFICATION"
_SCENARIO = re.compile(r"scenario(?:\s+\d+)?\s*[:\uff1a]\s*(.*)", re.IGNORECASE)
_ACCEPTANCE = re.compile(
    r"(?:\d+(?:\.\d+)*[.)]?\s+)?acceptance\s+(?:scenarios?|criteria)\s*:?", re.IGNORECASE
)
_REQUIREMENT = re.compile(r"requirement(?:\s+[\w.-]+)?\s*[:\uff1a]\s*(.*)", re.IGNORECASE)
_LIKE_SCENARIO = re.compile(r"scenario\b(?!(?:\s+\d+)?\s*[:\uff1a]).*", re.IGNORECASE)
_STEP = re.compile(r"\W*(given|when|then|and|but)\b", re.IGNORECASE)
_MATRIX = re.compile(r"\|\s*scenario\s*\|", re.IGNORECASE)
_LOOSE_STEP = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s\W*(?i:given|when)|(?:GIVEN|WHEN))\b")
_REQUIREMENT_LEVEL = 3
_DEEPEST = 6
_LONGEST, _HASH = 60, 6
_OPENSPEC, _CHANGES, _FILES = "specs", "changes", frozenset({"spec", "requirements", "story"})


@value
class Scenario:
    requirement: str
    name: str
    line: int
    last_line: int
    text: str
    """Its heading or first line, and its body, normalized."""
    id: str = ""
    """`<spec>#<requirement>/<scenario>`, each part a slug."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@value
class Spec:
    path: str
    id: str
    title: str
    status: str
    """In lower case; a spec without a status is a draft."""
    scenarios: tuple[Scenario, ...]
    digest: str
    """The hash of the normalized file, which ForgePlan calls `spec_hash`."""
    metadata: Mapping[str, object]
    unclear: tuple[int, ...] = ()
    """Lines with an open question."""
    blocks: tuple[int, ...] = ()
    """The first line of each front-matter block; there should be one at most."""
    skipped: tuple[SkippedLine, ...] = ()


def normalized_digest(data: bytes) -> str:
    """Hashes the text without CR before LF, blanks at line ends, and empty lines at the end."""
    lines = [line.rstrip(b" \t") for line in data.replace(b"\r\n", b"\n").split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def read_spec(path: str, data: bytes) -> Spec:
    """`path` is relative to the repository's root; any bytes can be read."""
    page = read_page(data.decode("utf-8", "replace"))
    if is_feature(path):
        return _read_feature(path, data, page)
    scenarios = sorted((*_by_headings(page), *_by_lists(page)), key=lambda s: s.line)
    spec_id = _id_of(path, page.metadata)
    title = next((line.title for line in page.lines if line.level), "") or spec_id
    return Spec(
        path,
        spec_id,
        str(page.metadata.get("title") or title),
        str(page.metadata.get("status") or DRAFT).strip().casefold(),
        tuple(_with_ids(spec_id, scenarios)),
        normalized_digest(data),
        page.metadata,
        tuple(line.number for line in page.lines if UNCLEAR.casefold() in line.text.casefold()),
        page.blocks,
        tuple(_find_skipped(page, scenarios)),
    )


def _read_feature(path: str, data: bytes, page: MarkdownPage) -> Spec:
    """Id and status come from tags, `@id:SPEC-001 @active`; in Markdown also from front matter."""
    first = page.lines[0].number if page.lines else 1
    lines = split_lines(data.decode("utf-8", "replace"))
    feature = read_feature(path, [*("" for _ in range(1, first)), *lines[first - 1 :]])
    pairs = dict(tag.split(":", 1) for tag in feature.tags if ":" in tag)
    tagged = {"status": next((tag for tag in feature.tags if tag.casefold() in STATUSES), DRAFT), **pairs}
    metadata = {**tagged, **(page.metadata if page.blocks else {})}
    spec_id = str(metadata.get("id") or _id_of(path, {}))
    scenarios = [
        Scenario(outline.rule, outline.name, outline.first, outline.last, outline.text)
        for outline in feature.scenarios
    ]
    return Spec(
        path,
        spec_id,
        str(metadata.get("title") or feature.title or spec_id),
        str(metadata["status"] or DRAFT).strip().casefold(),
        tuple(_with_ids(spec_id, sorted(scenarios, key=lambda s: s.line))),
        normalized_digest(data),
        metadata,
        tuple(n for n, line in enumerate(lines, 1) if UNCLEAR.casefold() in line.casefold()),
        page.blocks,
        feature.faults,
    )


def slug(text: str) -> str:
    """Joins words in lower case by `-`; letters of every alphabet stay. A long slug ends in a hash."""
    joined = "-".join(re.findall(r"\w+", text.casefold()))
    if len(joined) > _LONGEST:
        end = "-" + hashlib.sha256(joined.encode()).hexdigest()[:_HASH]
        cut = joined[: _LONGEST + 1 - len(end)]
        joined = (cut.rpartition("-")[0] or cut[:-1]) + end
    return joined or "unnamed"


def _id_of(path: str, metadata: Mapping[str, object]) -> str:
    """Returns the front matter's id, else the name of the file, or of its folder if it is `spec.md`."""
    if metadata.get("id"):
        return str(metadata["id"]).strip()
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    if stem.casefold() not in _FILES or not folders:
        return stem
    if "openspec" in folders and _OPENSPEC in folders:
        at = len(folders) - 1 - folders[::-1].index(_OPENSPEC)
        return "/".join(folders[at + 1 :]) or stem
    return folders[-1]


def _by_headings(page: MarkdownPage) -> Iterator[Scenario]:
    lines = page.lines
    for at, line in enumerate(lines):
        match = _SCENARIO.fullmatch(line.title)
        if not match:
            continue
        end = next((n for n in range(at + 1, len(lines)) if lines[n].level), len(lines))
        body = lines[at:end]
        yield _scenario(_requirement_above(lines, at), match[1] or f"line {line.number}", body)


def _by_lists(page: MarkdownPage) -> Iterator[Scenario]:
    lines = page.lines
    for at, line in enumerate(lines):
        if not _is_acceptance(line):
            continue
        for start, end in _acceptance_parts(lines, at):
            requirement = _requirement_above(lines, start)
            for group in _group_steps(tuple(list_items(lines[start:end]))):
                first, last = group[0], group[-1]
                body = [line for line in lines if first.first <= line.number <= last.last]
                yield _scenario(requirement, first.text.partition("\n")[0], body)


def _acceptance_parts(lines: Sequence[TextLine], at: int) -> Iterator[tuple[int, int]]:
    """Yields where lists are read: up to the next heading or bold line, and below each heading within."""
    level = lines[at].level or _DEEPEST
    below = [n for n in range(at + 1, len(lines)) if lines[n].level]
    end = next((n for n in below if lines[n].level <= level), len(lines))
    starts = [at, *(n for n in below if n < end)]
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        if start == at or not (_is_acceptance(lines[start]) or _is_scenario(lines[start])):
            yield start + 1, next((n for n in range(start + 1, stop) if _is_bold_line(lines[n])), stop)


def _is_scenario(line: TextLine) -> bool:
    return _SCENARIO.fullmatch(line.title) is not None


def _is_acceptance(line: TextLine) -> bool:
    if line.level:
        return _ACCEPTANCE.fullmatch(line.title) is not None
    text = line.text.strip()
    bare = strip_emphasis(text.rstrip(":").strip()).rstrip(":").strip()
    return text.startswith("**") and _ACCEPTANCE.fullmatch(bare) is not None


def _is_bold_line(line: TextLine) -> bool:
    text = line.text.strip()
    return text.startswith("**") and text.rstrip(":").endswith("**") and "**" not in text[2:-3]


def _group_steps(items: Sequence[ListItem]) -> Iterator[tuple[ListItem, ...]]:
    """Yields each item alone; items of one step each are a scenario until a Given or When follows a Then."""
    open_: list[ListItem] = []
    has_then = False
    for item in items:
        step = _single_step(item)
        if step is None or (step in {"given", "when"} and has_then):
            if open_:
                yield tuple(open_)
            open_, has_then = [], False
        if step is None:
            yield (item,)
            continue
        open_.append(item)
        has_then = has_then or step == "then"
    if open_:
        yield tuple(open_)


def _single_step(item: ListItem) -> str | None:
    """Returns the keyword of an item that is one step of a scenario; None if it is a whole scenario."""
    words = [match[1].casefold() for match in re.finditer(r"\b(given|when|then)\b", item.text, re.IGNORECASE)]
    begins = _STEP.match(item.text)
    return begins[1].casefold() if begins and len(set(words)) <= 1 else None


def _requirement_above(lines: Sequence[TextLine], at: int) -> str:
    for line in reversed(lines[:at]):
        if 0 < line.level <= _REQUIREMENT_LEVEL and not _is_acceptance(line) and not _is_scenario(line):
            return requirement_name(line.title)
    return ""


def requirement_name(heading: str) -> str:
    """Takes off `Requirement:` or `Requirement 1:`."""
    match = _REQUIREMENT.fullmatch(heading)
    return (match[1] if match and match[1] else heading).strip()


def _scenario(requirement: str, name: str, body: Sequence[TextLine]) -> Scenario:
    texts = [line.text.rstrip() for line in body]
    while texts and not texts[-1]:
        texts.pop()
    last = body[len(texts) - 1].number if texts else body[0].number
    plain = strip_emphasis(name).replace("**", "")
    return Scenario(requirement, plain, body[0].number, last, "\n".join(texts))


def _with_ids(spec_id: str, scenarios: Sequence[Scenario]) -> Iterator[Scenario]:
    taken: dict[str, int] = {}
    for scenario in scenarios:
        section = slug(scenario.requirement) if scenario.requirement else "spec"
        base = f"{spec_id}#{section}/{slug(scenario.name)}"
        taken[base] = number = taken.get(base, 0) + 1
        yield replace(scenario, id=base if number == 1 else f"{base}-{number}")


def _find_skipped(page: MarkdownPage, scenarios: Sequence[Scenario]) -> Iterator[SkippedLine]:
    yield from page.skipped
    read = {number for s in scenarios for number in range(s.line, s.last_line + 1)}
    section, last = 0, -1
    for line in page.lines:
        section = line.number if line.level else section
        if line.number in read:
            continue
        if _MATRIX.search(line.text):
            yield SkippedLine(line.number, "a table of cases is not read as scenarios")
        elif _LIKE_SCENARIO.fullmatch(line.title):
            yield SkippedLine(line.number, "a heading `Scenario` needs a colon and a name")
        elif _LOOSE_STEP.match(line.text) and last != section:
            last = section
            yield SkippedLine(line.number, "steps below a heading that announces no scenario")
