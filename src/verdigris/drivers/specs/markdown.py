"""Reads the lines of a spec: Markdown's front matter, headings and lists, and Gherkin's features."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from verdigris.core.errors import ToolMissing
from verdigris.core.value import value

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\]\*?[ \t]+)?(\S.*)$")
_BOLD_PAIR = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\*\*([^*:]+):?\*\*\s*:?\s*(.*)$")
_PLAIN_PAIR = re.compile(r"([A-Z][\w ]{0,30}):[ \t]+(\S.*)$")
_MARKER = "---"
_TAB = 4


@value
class TextLine:
    number: int
    text: str
    """Empty inside a fence."""
    level: int = 0
    """Of a heading; 0 if it is none."""
    title: str = ""
    """Of a heading: without emphasis and closing `#`."""

    @property
    def indent(self) -> int:
        expanded = self.text.expandtabs(_TAB)
        return len(expanded) - len(expanded.lstrip())


@value
class ListItem:
    """An item of a list, with the lines that belong to it."""

    first: int
    last: int
    text: str
    """Without its bullet or number; continued lines joined by line ends."""


@value
class SkippedLine:
    """A line that could not be read."""

    line: int
    why: str


@value
class MarkdownPage:
    """A Markdown text, read once."""

    lines: tuple[TextLine, ...]
    """Those after the front matter."""
    metadata: Mapping[str, object]
    """Keys in lower case; of several front-matter blocks the first wins."""
    blocks: tuple[int, ...] = ()
    """The first line of each front-matter block."""
    skipped: tuple[SkippedLine, ...] = ()


def read_page(text: str) -> MarkdownPage:
    """Reads any text; a byte order mark and CRLF are tolerated."""
    raw = split_lines(text)
    start, metadata, blocks, skipped = _read_front_matter(raw)
    lines = tuple(_read_lines(raw, start))
    pairs = dict(_read_pairs(lines))
    return MarkdownPage(lines, {**pairs, **metadata}, blocks, skipped)


def split_lines(text: str) -> list[str]:
    """Splits at any line end, and drops a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _read_front_matter(
    raw: Sequence[str],
) -> tuple[int, dict[str, object], tuple[int, ...], tuple[SkippedLine, ...]]:
    pairs: dict[str, object] = {}
    blocks: list[int] = []
    skipped: list[SkippedLine] = []
    at = 0
    while True:
        first = next((n for n in range(at, len(raw)) if raw[n].strip()), None)
        if first is None or raw[first].rstrip() != _MARKER:
            break
        end = next((n for n in range(first + 1, len(raw)) if raw[n].rstrip() in {_MARKER, "..."}), None)
        block = _parse_block(raw[first + 1 : end]) if end is not None else None
        if end is None or (block is None and blocks):
            break
        if block is None:
            skipped.append(SkippedLine(first + 1, "this front matter is not a YAML mapping"))
        blocks.append(first + 1)
        pairs = {**(block or {}), **pairs}
        at = end + 1
    return at, pairs, tuple(blocks), tuple(skipped)


class _Loader(yaml.SafeLoader):
    """Refuses aliases: a few lines of them can stand for more than fits into memory."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def _parse_block(lines: Sequence[str]) -> dict[str, object] | None:
    try:
        document = yaml.load("\n".join(lines), _Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if document is None:
        return {}
    return (
        {str(key).casefold(): text for key, text in document.items()} if isinstance(document, dict) else None
    )


def _read_lines(raw: Sequence[str], start: int) -> Iterator[TextLine]:
    fence = ""
    for number, text in enumerate(raw[start:], start + 1):
        found = _FENCE.match(text)
        if fence:
            is_end = found and found[1].startswith(fence) and not found[2].strip()
            fence = "" if is_end else fence
            yield TextLine(number, "")
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            yield TextLine(number, "")
        else:
            yield TextLine(number, text, *_read_heading(text))


def _read_heading(text: str) -> tuple[int, str]:
    match = _HEADING.match(text)
    if match is None:
        return 0, ""
    words = f" {match[2] or ''}".rstrip()
    closed = words.rstrip("#")
    return len(match[1]), strip_emphasis(closed if closed.endswith((" ", "\t")) else words)


def strip_emphasis(text: str) -> str:
    """Takes off `*`, `_` and backticks around the whole of it."""
    text = text.strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "*_`":
        text = text[1:-1].strip()
    return text


def _read_pairs(lines: Sequence[TextLine]) -> Iterator[tuple[str, str]]:
    """`**Key**: value` and `Key: value` before the first heading of level two."""
    for line in lines:
        if line.level == 2:  # noqa: PLR2004 - an H2 ends the header
            return
        match = _BOLD_PAIR.match(line.text) or _PLAIN_PAIR.match(line.text)
        if match and not line.level and match[2].strip():
            yield match[1].strip().casefold(), strip_emphasis(match[2])


def list_items(lines: Sequence[TextLine]) -> Iterator[ListItem]:
    """Yields the top-level items of the lists in these lines; the lines have no heading."""
    top: int | None = None
    open_: list[TextLine] = []
    for line in lines:
        match = _ITEM.match(line.text)
        if match and (top is None or line.indent <= top):
            if open_:
                yield _make_item(open_)
            top, open_ = line.indent if top is None else min(top, line.indent), [line]
        elif open_ and (not line.text.strip() or line.indent > (top or 0) or open_[-1].text.strip()):
            open_.append(line)
        elif open_:
            yield _make_item(open_)
            open_ = []
    if open_:
        yield _make_item(open_)


def _make_item(lines: Sequence[TextLine]) -> ListItem:
    kept = list(lines)
    while not kept[-1].text.strip():
        kept.pop()
    match = _ITEM.match(kept[0].text)
    head = match[2] if match else kept[0].text
    text = "\n".join((head, *(line.text.strip() for line in kept[1:])))
    return ListItem(kept[0].number, kept[-1].number, text.strip())


_SUFFIX, _MARKDOWN = ".feature", ".feature.md"
INSTALL = "pip install 'verdigris[gherkin]'"


@value
class FeatureScenario:
    rule: str
    """The name of its rule, else of the feature."""
    name: str
    first: int
    last: int
    text: str
    """Its steps and examples, with every background that applies; without its tags."""


@value
class Feature:
    title: str = ""
    tags: tuple[str, ...] = ()
    """Without their `@`."""
    scenarios: tuple[FeatureScenario, ...] = ()
    faults: tuple[SkippedLine, ...] = ()
    """Lines that are no Gherkin; if there are any, nothing is read."""


def is_feature(path: str) -> bool:
    return path.casefold().endswith((_SUFFIX, _MARKDOWN))


def read_feature(path: str, lines: Sequence[str]) -> Feature:
    """Raises ToolMissing if the parser is not installed."""
    try:
        from gherkin.errors import CompositeParserException, ParserError
        from gherkin.parser import Parser
        from gherkin.token_matcher import TokenMatcher
        from gherkin.token_matcher_markdown import GherkinInMarkdownTokenMatcher
        from gherkin.token_scanner import TokenScanner
    except ImportError:
        raise ToolMissing(
            f"{path} is Gherkin, and the parser for it is not installed.",
            hint=f"`{INSTALL}`, where tdd is installed",
        ) from None
    is_markdown = path.casefold().endswith(_MARKDOWN)
    matcher = GherkinInMarkdownTokenMatcher() if is_markdown else TokenMatcher()
    try:
        document = Parser().parse(TokenScanner("\n".join(lines) + "\n"), matcher)
    except CompositeParserException as error:
        return Feature(faults=tuple(_place(fault) for fault in error.errors))
    except ParserError as error:
        return Feature(faults=(_place(error),))
    feature: Mapping[str, Any] = document.get("feature") or {}
    if not feature:
        return Feature()
    tags = tuple(tag["name"].strip("`").removeprefix("@") for tag in feature["tags"])
    return Feature(feature["name"], tags, tuple(_FeatureReading(lines, feature).scenarios()))


def _place(error: Exception) -> SkippedLine:
    """Returns the line, and the parser's message without the place."""
    line = getattr(error, "location", {"line": 1})["line"]
    return SkippedLine(line, f"no Gherkin: {str(error).partition(': ')[2] or error}")


class _FeatureReading:
    """Reads one feature; each part of it ends where the next one begins."""

    def __init__(self, lines: Sequence[str], feature: Mapping[str, Any]) -> None:
        self._lines = lines
        self._feature = feature
        children = (*_parts(feature), *(part for rule in _rules(feature) for part in _parts(rule)))
        places = [n for child in (*children, *_rules(feature)) for n in (child, *child.get("tags", ()))]
        self._starts = sorted(n["location"]["line"] for n in places)

    def scenarios(self) -> Iterator[FeatureScenario]:
        shared = self._backgrounds(self._feature)
        yield from self._of(self._feature, shared)
        for rule in _rules(self._feature):
            yield from self._of(rule, [*shared, *self._backgrounds(rule)])

    def _of(self, parent: Mapping[str, Any], shared: list[str]) -> Iterator[FeatureScenario]:
        for scenario in (child["scenario"] for child in parent["children"] if "scenario" in child):
            first, last = self._span(scenario)
            text = "\n".join((*shared, *self._text(first, last)))
            yield FeatureScenario(parent["name"], scenario["name"] or f"line {first}", first, last, text)

    def _backgrounds(self, parent: Mapping[str, Any]) -> list[str]:
        backgrounds = (
            self._span(child["background"]) for child in parent["children"] if "background" in child
        )
        return [line for span in backgrounds for line in self._text(*span)]

    def _span(self, part: Mapping[str, Any]) -> tuple[int, int]:
        first = part["location"]["line"]
        end = next((start for start in self._starts if start > first), len(self._lines) + 1) - 1
        while end > first and (not (line := self._lines[end - 1].strip()) or line.startswith("# ")):
            end -= 1
        return first, end

    def _text(self, first: int, last: int) -> list[str]:
        return [line.rstrip() for line in self._lines[first - 1 : last]]


def _rules(feature: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [child["rule"] for child in feature["children"] if "rule" in child]


def _parts(parent: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [n for child in parent["children"] for kind, n in child.items() if kind != "rule"]
