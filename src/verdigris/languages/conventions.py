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
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from xml.etree.ElementTree import Element

    from verdigris.core.paths import Where
    from verdigris.core.settings import Settings, Stack


SIDE = "(?:docs?|scripts?|tools?|ci|examples?|samples?|demos?|benchmarks?|bench|notebooks?)/"
"""Folders at a stack's root that hold neither source nor tests."""


@value
class Usual:
    tests: str
    """Matches tests, their helpers and their data; paths are relative to the stack's root."""
    runner: str
    """Matches the runner's configuration anywhere in the worktree: tools also read files above the stack."""
    transient: str
    """Matches installed packages, caches and build output, which are not protected; relative to the root."""
    not_source: str
    """Matches files of the language that are not source; paths are relative to the stack's root."""
    test_names: str = ""
    """Matches tests by the file's name alone, in any folder in which the runner looks for them."""


def at_root(*names: str) -> str:
    """Matches the named files, and the named folders with all that they contain."""
    return rf"(?:{'|'.join(names)})(?:/.*)?\Z"


def anywhere(*names: str) -> str:
    return "(?:.*/)?" + at_root(*names)


def outside(folders: str, regex: str) -> str:
    """Matches `regex`, but nothing below one of these folders."""
    return rf"(?!(?:.*/)?(?:{folders})/){regex}"


def any_of(*regexes: str) -> str:
    return f"(?:{'|'.join(regexes)})"


_OF_THE_LAW = at_root(r"tdd\.yaml", r"\.git") + "|" + anywhere(*of_all(lambda agent: agent.settings))
"""Matches `tdd.yaml`, git's own data, and the clients' settings: these turn hooks on and off, and name
servers that a client starts outside of any sandbox. A client reads its settings from the folder in which it
is started, so they count at any depth."""
_RUN_OUTSIDE = anywhere(
    *of_all(lambda agent: agent.extensions),
    *(r"\.husky", r"\.pre-commit-(?:config|hooks)\.ya?ml", r"\.?lefthook(?:-local)?(?:\.[a-z]+)?"),
    *(r"\.lintstagedrc(?:\.[a-z]+)?", r"lint-staged\.config\.[a-z]+", r"\.overcommit\.yml"),
    *(r"\.?simple-git-hooks\.[a-z]+", r"\.envrc", r"\.?mise(?:\.[a-z]+)*\.toml", r"\.mise"),
    r"HEAD",  # the file by which git takes a folder for a repository
    *(r"\.vscode", r"[^/]+\.code-workspace", r"\.idea", r"\.devcontainer(?:\.json)?"),
)
"""Matches files by which git's hooks, shells, editors and clients decide what to run for a person."""
SWITCHES = f"{_OF_THE_LAW}|{_RUN_OUTSIDE}"


def decides_verdicts(switch: str) -> bool:
    """Whether a switch is frozen with the oracle; editors write others of them at any time."""
    return re.fullmatch(_OF_THE_LAW, switch, re.DOTALL) is not None


def transient_pattern() -> str:
    """Matches what tools write beside the tests during a run, but no file that a language could import."""
    code = "|".join(map(re.escape, known_suffixes()))
    return rf"(?!.*(?:{code})\Z)" + anywhere(*map(re.escape, CACHES))


def canonical(keys: Mapping[str, Any]) -> bytes:
    """Bytes that are the same whatever the spacing and order; empty if nothing was found."""
    stated = {key: value for key, value in keys.items() if value is not None}
    return json.dumps(stated, sort_keys=True, default=str).encode() if stated else b""


def at(document: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def only(table: Any, keys: Collection[str]) -> dict[str, Any] | None:
    """The part of a table that has these keys; None if it has none of them."""
    kept = {key: value for key, value in table.items() if key in keys} if isinstance(table, dict) else {}
    return kept or None


def test_scripts(document: Any) -> dict[str, Any] | None:
    """The entries of `scripts` whose name begins with `test`, `pretest` or `posttest`."""
    scripts = at(document, "scripts")
    names = [str(name) for name in scripts] if isinstance(scripts, dict) else []
    return only(
        scripts, [name for name in names if name.removeprefix("pre").removeprefix("post")[:4] == "test"]
    )


_OURS = r"\.tdd/(?:plans?|logs|evidence|cycle|holdout)/.*\Z"
"""Folders in which the drivers write for people; their files are never protected, whatever their names."""


def compile_classes(
    settings: Settings, detected: Mapping[Where, Detected], usual: Callable[[Stack], Usual]
) -> Classes:
    """Compiles the patterns of each path class. `usual`: returns the conventions of a stack's language."""
    unprotected = [transient_pattern(), _OURS]
    tests = [usual(stack).runner for stack in settings.stacks]
    tests += map(compile_glob, settings.oracle_include)
    source = []
    for stack in settings.stacks:
        layout, prefix, places = (
            detected.get(where(stack), Detected(flat=True)),
            _prefix(stack.root),
            usual(stack),
        )
        unprotected += [
            prefix + regex for regex in (*map(compile_glob, layout.environments), places.transient)
        ]
        unprotected += [prefix + compile_glob(glob) for glob in (*stack.generated, *layout.generated)]
        tests += [prefix + regex for regex in _tests(stack, layout, places)]
        source += [_not_inner(stack, settings) + prefix + regex for regex in _source(stack, layout, places)]
    rules = (
        (PathClass.SWITCH, SWITCHES),
        (PathClass.OTHER, _join_regexes(unprotected)),
        (PathClass.TEST, _join_regexes(tests)),
        (PathClass.SPEC, _join_regexes(map(compile_glob, settings.spec))),
        (PathClass.SOURCE, _join_regexes(source)),
    )
    return Classes(tuple((cls, regex) for cls, regex in rules if regex))


def _tests(stack: Stack, layout: Detected, places: Usual) -> list[str]:
    regexes = [places.tests, *map(compile_glob, (*stack.test, *layout.tests))]
    if not places.test_names:
        return regexes
    # A suite that the user configured may name other places than the runner's configuration does.
    own_suite = any(not words.startswith("-") for words in stack.suite)
    skipped = "" if own_suite else "|".join(map(compile_glob, layout.uncollected))
    return [*regexes, f"(?!{skipped}){places.test_names}" if skipped else places.test_names]


def _source(stack: Stack, layout: Detected, places: Usual) -> list[str]:
    of_language = rf"(?=.*(?:{'|'.join(map(re.escape, suffixes_of(stack.language)))})\Z)"
    if stack.source:
        return [_source_glob(glob, of_language) for glob in stack.source]
    roots = [_source_glob(root + "/", of_language) for root in layout.source]
    # The patterns also match modules and packages that do not exist yet.
    flat = rf"{of_language}(?!{places.not_source}).*\Z"
    return [*roots, flat] if layout.flat else roots


def _source_glob(glob: str, of_language: str) -> str:
    """A glob that ends in a suffix means those files; any other means the language's files in a folder."""
    names_files = re.search(r"\.\w+\Z", glob) is not None
    return compile_glob(glob) if names_files else of_language + compile_glob(glob)


def _not_inner(outer: Stack, settings: Settings) -> str:
    """Excludes stacks of the same language inside this one: each decides for itself what its source is."""
    same = (s for s in settings.stacks if suffixes_of(s.language) == suffixes_of(outer.language))
    inner = [_prefix(stack.root) for stack in same if stack.root not in {outer.root, "."}]
    within = [prefix for prefix in inner if prefix.startswith(_prefix(outer.root))]
    return f"(?!{'|'.join(within)})" if within else ""


def _prefix(root: str) -> str:
    return "" if root == "." else re.escape(root) + "/"


def _join_regexes(regexes: Iterable[str]) -> str:
    return "|".join(dict.fromkeys(regexes))


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
    """Canonical bytes of what the test tool reads in a build file; empty for a file of any other name."""
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
    keys = {key: at(document, key) for key in ("require-dev", "autoload-dev")}
    return canonical({**keys, "scripts": test_scripts(document)})


def pom(text: str) -> bytes:
    """Keeps the build, the properties about tests, and dependencies of test scope; others may change."""
    from xml.etree import ElementTree as ET

    try:
        root = ET.fromstring(text)  # noqa: S314 - expat bounds what entities grow to
    except ET.ParseError as error:
        raise ValueError(str(error)) from None
    return json.dumps(parts).encode() if (parts := list(_parts(root))) else b""


def _parts(root: Element) -> Iterator[Any]:
    for child in root:
        name = _name(child)
        if name in _WHOLE:
            yield _as_list(child)
        elif name == "properties":
            yield from (_as_list(each) for each in child if _PROPERTY.search(_name(each)))
        elif name in _LISTS:
            yield from (_as_list(each) for each in child.iter() if _is_for_tests(each))


def _is_for_tests(element: Element) -> bool:
    scopes = (child.text for child in element if _name(child) == "scope")
    return _name(element) == "dependency" and any((scope or "").strip() == "test" for scope in scopes)


def _as_list(element: Element) -> list[Any]:
    return [_name(element), (element.text or "").strip(), [_as_list(child) for child in element]]


def _name(element: Element) -> str:
    """Returns the element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]
