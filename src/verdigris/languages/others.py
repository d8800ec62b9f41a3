"""Languages that nothing here reads: their usual places, and what their build files say of tests."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from verdigris.languages.conventions import (
    SIDE,
    Usual,
    any_of,
    anywhere,
    at,
    at_root,
    canonical,
    outside,
    test_scripts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

_ASIDE = any_of(r"\.", SIDE)
_JVM = Usual(
    tests=any_of(
        r"(?:.*/)?src/(?:test|it|[^/]*[Tt]est[^/]*)/.*\Z",
        outside("src/main", r"(?:.*/)?[^/]*(?:Tests?|TestCase|IT|Spec)\.(?:java|kts?|scala|groovy)\Z"),
    ),
    runner=anywhere(
        r"(?:build|settings)\.gradle(?:\.kts)?",
        r"gradle\.properties",
        r"gradle/wrapper",
        r"gradlew(?:\.bat)?",
        r"mvnw(?:\.cmd)?",
        r"\.mvn",
        r"junit-platform\.properties",
        r"testng[^/]*\.xml",
    ),
    transient=outside("src", anywhere("target", "build", "out", r"\.gradle")),
    not_source=_ASIDE,
)
_PHP = Usual(
    tests=any_of(anywhere("[Tt]ests?"), r"(?:.*/)?[^/]*(?:Test|Cest)\.php\Z"),
    runner=anywhere(r"phpunit[^/]*\.xml[^/]*", r"behat\.ya?ml", r"codeception\.yml"),
    transient=at_root("vendor", r"\.phpunit\.[^/]*"),
    not_source=_ASIDE,
)
_RUBY = Usual(
    tests=any_of(at_root("spec", "test", "features"), r"(?:.*/)?[^/]*_(?:spec|test)\.rb\Z"),
    runner=anywhere(r"\.rspec[^/]*", r"\.simplecov", r"cucumber\.yml"),
    transient=at_root("vendor", "coverage", "tmp", "log"),
    not_source=any_of(_ASIDE, "bin/"),
)
_ANY = Usual(
    tests=any_of(
        anywhere("[Tt]ests?", "spec", r"[^/]*\.(?:Unit|Integration)?Tests?"),
        r"(?:.*/)?[^/]*(?:Tests?|Spec|_tests?|_spec)\.\w+\Z",
    ),
    runner=anywhere(r"[^/]*\.runsettings", r"xunit\.runner\.json"),
    transient=outside("src|[Ss]ources", anywhere("bin", "obj", "deps", r"_build", r"\.build")),
    not_source=_ASIDE,
)
_BY_LANGUAGE = {**dict.fromkeys(("java", "kotlin", "scala", "groovy"), _JVM), "php": _PHP, "ruby": _RUBY}


def places(language: str) -> Usual:
    return _BY_LANGUAGE.get(language, _ANY)


def runner_keys(name: str, text: str) -> bytes:
    """What the test tool reads in a build file; nothing where the file's name is not known here."""
    match name:
        case "pom.xml":
            return pom(text)
        case "composer.json":
            return composer(text)
        case _:
            return b""


_WHOLE = frozenset({"build", "profiles", "parent"})
_PROPERTY = re.compile("test|surefire|failsafe|junit|argline|skip", re.IGNORECASE)
_LISTS = frozenset({"dependencies", "dependencyManagement"})


def composer(text: str) -> bytes:
    document: Any = json.loads(text)
    found = {key: at(document, key) for key in ("require-dev", "autoload-dev")}
    return canonical({**found, "scripts": test_scripts(document)})


def pom(text: str) -> bytes:
    """The build, what properties say of tests, and libraries of test scope; others come and go."""
    from xml.etree import ElementTree as ET

    try:
        root = ET.fromstring(text)  # noqa: S314 - expat bounds what entities grow to
    except ET.ParseError as error:
        raise ValueError(str(error)) from None
    return json.dumps(found).encode() if (found := list(_parts(root))) else b""


def _parts(root: Element) -> Iterator[Any]:
    for child in root:
        name = _name(child)
        if name in _WHOLE:
            yield _plain(child)
        elif name == "properties":
            yield from (_plain(each) for each in child if _PROPERTY.search(_name(each)))
        elif name in _LISTS:
            yield from (_plain(each) for each in child.iter() if _is_for_tests(each))


def _is_for_tests(element: Element) -> bool:
    scopes = (child.text for child in element if _name(child) == "scope")
    return _name(element) == "dependency" and any((scope or "").strip() == "test" for scope in scopes)


def _plain(element: Element) -> list[Any]:
    return [_name(element), (element.text or "").strip(), [_plain(child) for child in element]]


def _name(element: Element) -> str:
    """Without its namespace."""
    return str(element.tag).rpartition("}")[2]
