"""The usual places of a stack, and the path classes that a project's settings and conventions compile to."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from verdigris.core.agents import of_all
from verdigris.core.languages import known_suffixes, suffixes_of
from verdigris.core.paths import CACHES, Classes, Detected, PathClass, compile_glob, where
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from verdigris.core.paths import Where
    from verdigris.core.settings import Settings, Stack


SIDE = "(?:docs?|scripts?|tools?|ci|examples?|samples?|demos?|benchmarks?|bench|notebooks?)/"
"""Folders beside the source, at a stack's root."""


@value
class Usual:
    tests: str
    """Tests, helpers and data, from the stack's root."""
    runner: str
    """What configures the runner, anywhere in the worktree: a tool also reads what lies above its stack."""
    transient: str
    """Installed packages, caches and what a build makes, from the stack's root: nobody's to protect."""
    not_source: str
    """Of the language's files, from the stack's root: what is beside the source."""


def at_root(*names: str) -> str:
    """The named file, or the named folder with all below it."""
    return rf"(?:{'|'.join(names)})(?:/.*)?\Z"


def anywhere(*names: str) -> str:
    return "(?:.*/)?" + at_root(*names)


def outside(folders: str, regex: str) -> str:
    """`regex`, but not below one of these folders."""
    return rf"(?!(?:.*/)?(?:{folders})/){regex}"


def any_of(*regexes: str) -> str:
    return f"(?:{'|'.join(regexes)})"


SWITCHES = at_root(r"tdd\.yaml", r"\.git") + "|" + anywhere(*of_all(lambda agent: agent.settings))
"""The configuration, the repository's own data, what turns an agent's hooks on and off, and servers that a
client starts outside of any sandbox.
Clients read their settings from the folder they are started in, so those count at any depth."""


def transient() -> str:
    """What tools write beside the tests while they run: never a file that a language could import."""
    code = "|".join(map(re.escape, known_suffixes()))
    return rf"(?!.*(?:{code})\Z)" + anywhere(*map(re.escape, CACHES))


def canonical(found: Mapping[str, Any]) -> bytes:
    """Spacing and order do not count; nothing found is no bytes."""
    said = {key: value for key, value in found.items() if value is not None}
    return json.dumps(said, sort_keys=True, default=str).encode() if said else b""


def at(document: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def only(table: Any, keys: Collection[str]) -> dict[str, Any] | None:
    """These keys of a table alone; None where it has none of them."""
    found = {key: value for key, value in table.items() if key in keys} if isinstance(table, dict) else {}
    return found or None


def test_scripts(document: Any) -> dict[str, Any] | None:
    """Scripts of a package manager that are about tests."""
    scripts = at(document, "scripts")
    names = [str(name) for name in scripts] if isinstance(scripts, dict) else []
    return only(
        scripts, [name for name in names if name.removeprefix("pre").removeprefix("post")[:4] == "test"]
    )


_OURS = r"\.tdd/(?:plans?|logs|evidence|cycle|holdout)/.*\Z"
"""What the drivers write for people, whatever the files there are called."""


def compile_classes(
    settings: Settings, detected: Mapping[Where, Detected], usual: Callable[[Stack], Usual]
) -> Classes:
    """`usual`: the conventions of a stack's language."""
    unprotected = [transient(), _OURS]
    tests = [usual(stack).runner for stack in settings.stacks]
    tests += map(compile_glob, settings.oracle_include)
    source = []
    for stack in settings.stacks:
        found, prefix, places = (
            detected.get(where(stack), Detected(flat=True)),
            _prefix(stack.root),
            usual(stack),
        )
        unprotected += [
            prefix + regex for regex in (*map(compile_glob, found.environments), places.transient)
        ]
        unprotected += [prefix + compile_glob(glob) for glob in (*stack.generated, *found.generated)]
        tests += [prefix + regex for regex in (places.tests, *map(compile_glob, (*stack.test, *found.tests)))]
        source += [_not_inner(stack, settings) + prefix + regex for regex in _source(stack, found, places)]
    rules = (
        (PathClass.SWITCH, SWITCHES),
        (PathClass.OTHER, _any(unprotected)),
        (PathClass.TEST, _any(tests)),
        (PathClass.SPEC, _any(map(compile_glob, settings.spec))),
        (PathClass.SOURCE, _any(source)),
    )
    return Classes(tuple((cls, regex) for cls, regex in rules if regex))


def _source(stack: Stack, found: Detected, places: Usual) -> list[str]:
    of_language = rf"(?=.*(?:{'|'.join(map(re.escape, suffixes_of(stack.language)))})\Z)"
    if stack.source:
        return [_source_glob(glob, of_language) for glob in stack.source]
    roots = [_source_glob(root + "/", of_language) for root in found.source]
    # Also modules and packages that do not exist yet.
    flat = rf"{of_language}(?!{places.not_source}).*\Z"
    return [*roots, flat] if found.flat else roots


def _source_glob(glob: str, of_language: str) -> str:
    """A folder holds the files of its language; a glob that ends in a suffix means just that."""
    names_files = re.search(r"\.\w+\Z", glob) is not None
    return compile_glob(glob) if names_files else of_language + compile_glob(glob)


def _not_inner(outer: Stack, settings: Settings) -> str:
    """A stack inside another of the same language decides for itself what its source is."""
    same = (s for s in settings.stacks if suffixes_of(s.language) == suffixes_of(outer.language))
    inner = [_prefix(stack.root) for stack in same if stack.root not in {outer.root, "."}]
    within = [prefix for prefix in inner if prefix.startswith(_prefix(outer.root))]
    return f"(?!{'|'.join(within)})" if within else ""


def _prefix(root: str) -> str:
    return "" if root == "." else re.escape(root) + "/"


def _any(regexes: Iterable[str]) -> str:
    return "|".join(dict.fromkeys(regexes))
