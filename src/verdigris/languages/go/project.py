"""Finds the stacks, usual places and test directives of a Go project; and holds the demo's repository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from verdigris.core.settings import Stack
from verdigris.languages.conventions import SIDE, Usual, any_of, anywhere, at_root
from verdigris.languages.folders import Folder, FoundStacks, folders_with, holds_suffix, outermost_of
from verdigris.languages.protocol import Project
from verdigris.languages.starter import RequiredTool, Script, Starter, read_texts

PLACES = Usual(
    tests=any_of(
        r"(?:.*/)?[^/]*_test\.go\Z",
        at_root("tests?", "e2e"),
        anywhere("testdata", "__snapshots__", "test_?(?:utils?|helpers?|support)"),
    ),
    runner=anywhere(
        r"vendor/(?:github\.com/(?:stretchr/testify|google/go-cmp|onsi)|gotest\.tools|go\.uber\.org/mock)"
    ),
    transient=anywhere(r"\.gocache"),
    not_source=any_of(r"\.", "_", SIDE, "(?:.*/)?(?:vendor|third_party)/", "(?:bin|build|dist|hack)/"),
)
"""A vendored assertion library belongs to the tests, so it counts as the runner's. `TestMain` needs no entry:
it is in a `_test.go` file."""


_COMMENT = re.compile(r"//.*")
_MODULE = frozenset({"replace", "exclude", "godebug"})
_WORKSPACE = _MODULE | {"use"}
"""`go`, `toolchain` and `require` may change, since `go get` writes them."""


def _directives(text: str, kept: frozenset[str]) -> bytes:
    found = []
    block = ""
    for line in text.split("\n"):
        words = _COMMENT.sub("", line).replace("(", " ( ").split()
        if not words:
            continue
        if words == [")"]:
            block = ""
        elif words[1:] == ["("]:
            block = words[0]
        elif (block or words[0]) in kept:
            found.append(" ".join([block, *words] if block else words))
    return "\n".join(sorted(found)).encode()


_MISSING = "install Go, and have `go` on PATH"
_BROKEN = "mend the installation of Go: `go version` has to work"


class GoProject(Project):
    bare_runner = "go"

    def conventions(self, runner: str) -> Usual:  # noqa: ARG002 - one tool
        return PLACES

    def runner_keys(self, name: str, text: str) -> bytes:
        return _directives(text, _MODULE if name == "go.mod" else _WORKSPACE)

    def detect(self, root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks:  # noqa: ARG002 - a mark is enough
        """Each module is a stack: `./...` does not enter another module, not even in a workspace."""
        modules = folders_with(known, ["go.mod"])
        outer = outermost_of(modules)
        places = [m for m in modules if m in outer or holds_suffix(known, m, ("_test.go",))]
        return FoundStacks(tuple(Stack(root=place, language="go", runner="go") for place in places))

    def starter(self) -> Starter:
        return Starter(_script)


def _script() -> Script:
    texts = read_texts(Path(__file__).with_name("starter.txt"))
    names = ("add", "sub", "stub", "tests", "easy", "asked")
    add, sub, stub, tests, easy, asked = (texts[f"demo/{name}.go"] for name in names)
    return Script(
        files={"go.mod": "module example.invalid/calc\n\ngo 1.21\n", "calc.go": add, "calc_test.go": tests},
        source="calc.go",
        tests="calc_test.go",
        nothing_new="calc_test.go::TestAddZero",
        asked="calc_test.go::TestSub",
        eager=add + sub,
        easy=tests + easy,
        real=tests + asked,
        stub=add + stub,
        weaker=tests + asked.replace("got != 2", "got == 0"),
        careless=add.replace("a + b", "a - b") + sub,
        good=add + sub,
        needs=RequiredTool("go", "version", _MISSING, _BROKEN),
    )
