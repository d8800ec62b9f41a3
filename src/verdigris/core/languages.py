"""The known languages: plain facts of each, such as its file endings and test tools.

Code that reads a language stands in `verdigris.languages`, one folder each. A language of a third party
brings its facts with it, and the registry adds them here by `register`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from verdigris.core.value import field, value

STUB_MARK = "STUB:TDD"
"""Marks a declaration that does no work, in every language."""
JUNIT = "junit"
DEFAULT_LANGUAGE = "python"
"""Of a stack that names none; a file without a known ending, such as a script, is read as one of it."""


@value
class Facts:
    name: str
    suffixes: tuple[str, ...]
    runners: tuple[str, ...] = ()
    """Test tools, the usual one first; any language may also be tested by a tool that writes JUnit XML."""
    aliases: tuple[str, ...] = ()
    """Other names that a person may use."""
    grammars: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Of each ending that tree-sitter reads: the package of the grammar, and the function that gives it."""
    has_stubs: bool = False
    """Its stubs can be recognised and written."""
    compiled: bool = False
    """A test does not load until every name in it is declared."""
    loads_singly: bool = False
    """Each test file loads alone; elsewhere one file that does not compile hides all tests of its package."""
    case_mark: str | None = None
    """What begins a case in a test's id."""
    family: tuple[str, ...] = ()
    """Languages that one build mixes, so that a stack of one of them may hold files of the others."""
    manifests: tuple[str, ...] = ()
    """Names of mixed files: a part of each configures the test runner."""
    build_locks: tuple[str, ...] = ()
    """Names of lock files without which a build refuses a package that its manifest names."""
    keeps_bytecode: bool = False
    """Its interpreter writes a cache into the folder of each file that it loads."""
    tests_in_source: bool = False
    """Tests may stand among the source of a file."""
    error_codes: str = ""
    """How its compiler names errors, as a regex."""
    import_codes: frozenset[str] = frozenset()
    """Those of the codes that report an import, a path or a module that does not exist."""


_TSX = ("tree_sitter_typescript", "language_tsx")
_JVM = ("java", "kotlin", "scala", "groovy")
_BUILT_IN = (
    Facts(
        "python",
        (".py", ".pyi", ".pyx"),
        ("pytest", "unittest", "django"),
        ("py",),
        dict.fromkeys((".py", ".pyi"), ("tree_sitter_python", "language")),
        has_stubs=True,
        loads_singly=True,
        case_mark="[",
        keeps_bytecode=True,
        manifests=("pyproject.toml", "setup.cfg", "tox.ini"),
    ),
    # JavaScript and TypeScript are one language here: one tool chain runs both.
    Facts(
        "node",
        (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"),
        ("vitest", "jest", "node-test"),
        ("js", "javascript", "ts", "typescript", "nodejs"),
        # The grammar of TSX reads all of JavaScript, types that are written in comments included.
        {
            **dict.fromkeys((".ts", ".mts", ".cts"), ("tree_sitter_typescript", "language_typescript")),
            **dict.fromkeys((".tsx", ".js", ".jsx", ".mjs", ".cjs"), _TSX),
        },
        has_stubs=True,
        loads_singly=True,
        manifests=(
            "package.json",
            *("tsconfig.json", "tsconfig.base.json", "tsconfig.test.json", "tsconfig.spec.json"),
            "jsconfig.json",
        ),
    ),
    Facts(
        "rust",
        (".rs",),
        ("cargo",),
        ("rs",),
        {".rs": ("tree_sitter_rust", "language")},
        has_stubs=True,
        manifests=("Cargo.toml",),
        build_locks=("Cargo.lock",),
        tests_in_source=True,
        error_codes=r"E\d{4}|error",
        import_codes=frozenset({"E0432", "E0433", "E0463", "E0583"}),
    ),
    Facts(
        "go",
        (".go",),
        ("go",),
        ("golang",),
        {".go": ("tree_sitter_go", "language")},
        has_stubs=True,
        case_mark="/",
        manifests=("go.mod", "go.work"),
        build_locks=("go.sum",),
    ),
    Facts("java", (".java",), compiled=True, family=_JVM, manifests=("pom.xml",)),
    Facts("kotlin", (".kt", ".kts"), compiled=True, family=_JVM),
    Facts("scala", (".scala",), compiled=True, family=_JVM),
    Facts("groovy", (".groovy",), compiled=True, family=_JVM),
    Facts("php", (".php",), manifests=("composer.json",)),
    Facts("ruby", (".rb",), aliases=("rb",)),
    Facts("csharp", (".cs",), aliases=("c#",), compiled=True),
    Facts("swift", (".swift",), compiled=True),
    Facts("elixir", (".ex", ".exs")),
)
FACTS = {facts.name: facts for facts in _BUILT_IN}
_BY_SUFFIX = {suffix: facts for facts in _BUILT_IN for suffix in facts.suffixes}
_BY_MANIFEST = {name: facts for facts in _BUILT_IN for name in facts.manifests}
READ_LANGUAGES = tuple(facts.name for facts in _BUILT_IN if facts.has_stubs)
"""Those that have a folder of their own in `verdigris.languages`."""
_UNKNOWN = Facts("", (), loads_singly=True)
_SUFFIX = re.compile(r"\.\w+(?=::)")


def register(facts: Facts) -> None:
    """Adds a language of a third party; a known one stays as it is."""
    if facts.name not in FACTS:
        FACTS[facts.name] = facts
        for suffix in facts.suffixes:
            _BY_SUFFIX.setdefault(suffix, facts)
        for name in facts.manifests:
            _BY_MANIFEST.setdefault(name, facts)


def facts_of(path: str) -> Facts | None:
    """The facts of the language that a file's ending names."""
    _, dot, end = path.rpartition("/")[2].rpartition(".")
    return _BY_SUFFIX.get(dot + end)


def facts_named(name: str) -> Facts | None:
    return FACTS.get(name)


def language_of(path: str) -> str | None:
    facts = facts_of(path)
    return None if facts is None else facts.name


def known_languages() -> tuple[str, ...]:
    return tuple(FACTS)


def known_suffixes() -> tuple[str, ...]:
    """The endings of code files, in any language."""
    return tuple(_BY_SUFFIX)


def case_mark(path: str) -> str | None:
    """The mark that begins a case in a test's id; in a file of no known language, the default's."""
    return (facts_of(path) or FACTS[DEFAULT_LANGUAGE]).case_mark


def is_loaded_singly(path: str) -> bool:
    return (facts_of(path) or _UNKNOWN).loads_singly


def declaration_hint(path: str) -> str:
    """How to declare the names that a test of this source needs to load."""
    facts = facts_of(path) or _UNKNOWN
    if facts.has_stubs:
        return f"tdd stub declares what a test needs to load, with bodies that fail, marked {STUB_MARK}"
    if facts.compiled:
        return (
            f"no grammar tells stubs in {facts.name} from code, so what it needs to compile is a person's to "
            "declare, between tdd off and tdd on"
        )
    return ""


def family_of(language: str) -> tuple[str, ...]:
    """The languages whose files a stack of this one holds."""
    facts = FACTS.get(language, _UNKNOWN)
    return facts.family or (language,)


def suffixes_of(language: str) -> tuple[str, ...]:
    """The endings of the files that a stack of this language holds."""
    return tuple(suffix for name in family_of(language) for suffix in FACTS.get(name, _UNKNOWN).suffixes)


def runners_of(language: str) -> tuple[str, ...]:
    """The usual one first."""
    return (*FACTS.get(language, _UNKNOWN).runners, JUNIT)


def manifest_names() -> frozenset[str]:
    return frozenset(_BY_MANIFEST)


def facts_of_manifest(name: str) -> Facts | None:
    """The facts of the language whose tools read a file of this name."""
    return _BY_MANIFEST.get(name)


def declares_packages(path: str) -> bool:
    """Whether the file declares the packages that a build takes in."""
    name = path.rpartition("/")[2]
    return name in _BY_MANIFEST or any(name in facts.build_locks for facts in FACTS.values())


def has_tests_in_source(path: str) -> bool:
    """Whether tests may stand among the source of a file with this ending."""
    return (facts_of(path) or _UNKNOWN).tests_in_source


def keeps_bytecode(path: str) -> bool:
    """Whether an interpreter may write a cache beside the file."""
    return (facts_of(path) or _UNKNOWN).keeps_bytecode


def suffixes_with_tests() -> tuple[str, ...]:
    """Endings of source that may hold tests."""
    return tuple(suffix for facts in FACTS.values() if facts.tests_in_source for suffix in facts.suffixes)


def compiler_of(path: str, kind: str) -> Facts | None:
    """The language whose compiler uses this error code; for a file of no known language, any such."""
    own = language_of(path)
    fitting = (facts for facts in FACTS.values() if facts.error_codes and own in {None, facts.name})
    return next((facts for facts in fitting if re.fullmatch(facts.error_codes, kind)), None)


def file_end(test_id: str) -> int:
    """Where the path of an id ends: a path may hold `::` too, so a file ending is looked for first."""
    for suffix in _SUFFIX.finditer(test_id):
        if suffix[0] in _BY_SUFFIX:
            return suffix.end()
    return test_id.find("::")
