"""The usual places of stacks whose tool writes JUnit XML, by language."""

from __future__ import annotations

from verdigris.core.languages import JVM
from verdigris.languages.forms import SIDE, Usual, any_of, anywhere, at_root, outside

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
_BY_LANGUAGE = {**dict.fromkeys(JVM, _JVM), "php": _PHP, "ruby": _RUBY}


def places(language: str) -> Usual:
    return _BY_LANGUAGE.get(language, _ANY)
