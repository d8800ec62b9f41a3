"""Reads Gherkin: `.feature` files and their Markdown dialect, by the parser of the Cucumber project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ToolMissing
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SUFFIX, _MARKDOWN = ".feature", ".feature.md"
INSTALL = "pip install 'verdigris[gherkin]'"


@value
class FeatureScenario:
    rule: str
    """Else the name of the feature."""
    name: str
    first: int
    last: int
    text: str
    """With every background that holds for it, and with its examples; without its tags."""


@value
class Feature:
    title: str = ""
    tags: tuple[str, ...] = ()
    """Without their `@`."""
    scenarios: tuple[FeatureScenario, ...] = ()
    faults: tuple[tuple[int, str], ...] = ()
    """Lines that are no Gherkin; then nothing is read."""


def is_feature(path: str) -> bool:
    return path.casefold().endswith((_SUFFIX, _MARKDOWN))


def read_feature(path: str, lines: Sequence[str]) -> Feature:
    """Raises ToolMissing where the parser is not installed."""
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
        return Feature(faults=tuple(_place(one) for one in error.errors))
    except ParserError as error:
        return Feature(faults=(_place(error),))
    feature: Mapping[str, Any] = document.get("feature") or {}
    if not feature:
        return Feature()
    tags = tuple(tag["name"].strip("`").removeprefix("@") for tag in feature["tags"])
    return Feature(feature["name"], tags, tuple(_Reading(lines, feature).scenarios()))


def _place(error: Exception) -> tuple[int, str]:
    """Where, and what the parser says of it without the place."""
    line = getattr(error, "location", {"line": 1})["line"]
    return line, f"no Gherkin: {str(error).partition(': ')[2] or error}"


class _Reading:
    """One feature; each part of it reaches to where the next one begins."""

    def __init__(self, lines: Sequence[str], feature: Mapping[str, Any]) -> None:
        self._lines = lines
        self._feature = feature
        children = (*_parts(feature), *(part for rule in _rules(feature) for part in _parts(rule)))
        places = [one for child in (*children, *_rules(feature)) for one in (child, *child.get("tags", ()))]
        self._starts = sorted(one["location"]["line"] for one in places)

    def scenarios(self) -> Iterator[FeatureScenario]:
        shared = self._backgrounds(self._feature)
        yield from self._of(self._feature, shared)
        for rule in _rules(self._feature):
            yield from self._of(rule, [*shared, *self._backgrounds(rule)])

    def _of(self, parent: Mapping[str, Any], shared: list[str]) -> Iterator[FeatureScenario]:
        for one in (child["scenario"] for child in parent["children"] if "scenario" in child):
            first, last = self._span(one)
            text = "\n".join((*shared, *self._text(first, last)))
            yield FeatureScenario(parent["name"], one["name"] or f"line {first}", first, last, text)

    def _backgrounds(self, parent: Mapping[str, Any]) -> list[str]:
        found = (self._span(child["background"]) for child in parent["children"] if "background" in child)
        return [line for span in found for line in self._text(*span)]

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
    return [one for child in parent["children"] for kind, one in child.items() if kind != "rule"]
