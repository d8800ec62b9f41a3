"""The parts of `pom.xml` and `composer.json` by which tests are found, built and run."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from verdigris.languages.forms_runnerkeys import at, canonical, test_scripts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

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
