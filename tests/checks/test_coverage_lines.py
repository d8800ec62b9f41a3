from __future__ import annotations

import pytest

from verdigris.checks.coverage import describe_unasked, uncovered_lines
from verdigris.languages.python.tracing import PythonTracing

pytestmark = pytest.mark.quick

PATH = "src/x.py"
OLD = "def old():\n    return 1\n"
NEW = """

def new(items):
    total = 0
    if not items:
        # nothing to add
        log("empty")

        return None
    for item in items:
        total += item
    return total
"""
ALL = frozenset(range(1, 40))


def asked(after: str, executed: frozenset[int], before: str | None = OLD) -> tuple[str, ...]:
    return uncovered_lines({PATH: before}, {PATH: after}, {PATH: executed})


def test_new_lines_that_nothing_ran_are_told_as_ranges() -> None:
    ran = frozenset({1, 5, 6, 7, 12, 13, 14})
    assert asked(OLD + NEW, ran) == ("src/x.py:9-11",)
    assert asked(OLD + NEW, ran - {12, 13}) == ("src/x.py:9-13",)
    assert asked(OLD + NEW, ran - {14}) == ("src/x.py:9-11", "src/x.py:14")


def test_what_ran_and_what_was_there_before_is_not_told() -> None:
    assert asked(OLD + NEW, ALL) == ()
    assert asked("import os\n\n\n" + OLD, frozenset()) == ()


def test_a_file_that_nobody_watched_is_not_judged() -> None:
    assert uncovered_lines({PATH: OLD}, {PATH: OLD + NEW}, {}) == ()


def test_a_new_module_that_no_test_imports_is_uncovered() -> None:
    assert asked("LIMIT = 3\n\n\ndef f():\n    return LIMIT\n", frozenset(), None) == ("src/x.py:1-5",)


@pytest.mark.parametrize(
    ("text", "ran"),
    [
        ("def f(a):\n    return (\n        a\n        + 1\n    )\n", {3}),
        ("def f():\n    with (\n        open('a') as a,\n    ):\n        return a\n", {3, 5}),
        ("def f():\n    while True:\n        return 1\n", {3}),
    ],
    ids=["folded", "with", "while"],
)
def test_a_statement_ran_when_any_of_its_lines_did(text: str, ran: set[int]) -> None:
    assert asked(text, frozenset(ran), "") == ()


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    def f(self):\n        raise NotImplementedError\n",
        "class A:\n    def f(self): ...\n",
        "def f():\n    x: int\n",
        'def f():\n    """Only words."""\n',
        "class P(Protocol):\n    def f(self) -> int:\n        pass\n",
        "class A:\n    @abstractmethod\n    def f(self):\n        'Words.'\n        pass\n",
        "if TYPE_CHECKING:\n    import a\n    X = a\n",
        "if __name__ == '__main__':\n    run()\n",
    ],
)
def test_what_no_test_could_run_is_not_asked_for(text: str) -> None:
    lines = frozenset(n for n, line in enumerate(text.splitlines(), 1) if not line.startswith(" "))
    assert asked(text, lines, "") == ()


@pytest.mark.parametrize(
    "text",
    [
        "if sys.platform == 'win32':\n    a = 1\n",
        "if sys.platform.startswith('win'):\n    a = 1\n",
        "if platform.system().lower() == 'windows':\n    a = 1\n",
        "if sys.version_info >= (3, 99):\n    a = 1\n",
        "if sys.version_info < (3, 99):\n    x()\nelse:\n    a = 1\n",
        "if os.name == 'nt' or not compat.PY3_9:\n    a = 1\n",
        "OLD = sys.version_info < (3,)\nif OLD:\n    a = 1\n",
        "if sys.platform != 'win32':\n    raise OSError\na = 1\n",
        "try:\n    import x\nexcept ImportError:\n    a = None\n",
        "try:\n    import x\n    HAS = True\nexcept ImportError:\n    HAS = False\nif not HAS:\n    a = 1\n",
    ],
)
def test_what_runs_only_on_another_machine_is_a_note(text: str) -> None:
    at = next(n for n, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith("a = "))
    end = len(text.splitlines())
    assert asked(text, frozenset(range(1, end + 1)) - {at}, "") == ()
    tracing = PythonTracing()
    assert at in tracing.foreign_lines({PATH: ""}, {PATH: text})[PATH]


@pytest.mark.parametrize(
    "text",
    [
        "if sys.platform == 'win32' and fast:\n    a = 1\n",
        "if mode == 'win32':\n    a = 1\n",
        "if sys.argv[0] == 'x':\n    a = 1\n",
        "if os.environ.get('CI'):\n    a = 1\n",
        "if TYPE_CHECKING:\n    x()\nelse:\n    a = 1\n",
        "try:\n    work()\nexcept ImportError:\n    a = 1\n",
        "try:\n    import x\nexcept Exception:\n    a = 1\n",
        "def f():\n    if not x:\n        raise OSError\n    a = 1\n",
    ],
)
def test_what_more_than_the_machine_decides_is_asked_for(text: str) -> None:
    at = next(n for n, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith("a = "))
    end = len(text.splitlines())
    assert asked(text, frozenset(range(1, end + 1)) - {at}, "") == (f"src/x.py:{at}",)


def test_a_text_that_does_not_parse_is_told_once() -> None:
    assert asked("def f(:\n", frozenset(), "") == ("src/x.py:1",)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("export_csv", "export_csv"),
        ("export function all(rows: string[]): string { return 3; }", "all"),
        ("func (m Money) Export(rows []string) int { return 3 }", "Export"),
        ("pub fn export(rows: &[u32]) -> u32 {", "export"),
        ("export const all = (rows) => 3;", "all"),
        ("all(rows: string[]) { return 3; }", "all(rows string[])"),
    ],
)
def test_what_no_test_runs_is_named_without_its_body(code: str, name: str) -> None:
    assert describe_unasked("a.x:3", code).startswith(f"unasked: a.x:3 {name}: no test runs it")
