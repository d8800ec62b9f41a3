"""Finds the stacks, usual places and test directives of a Go project; and holds the demo's repository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from verdigris.core.settings import Stack
from verdigris.languages.conventions import SIDE, Usual, any_of, anywhere, at_root
from verdigris.languages.folders import Folder, FoundStacks, folders_with, holds_suffix, outermost_of
from verdigris.languages.protocol import Project
from verdigris.languages.starter import RequiredTool, Script, Starter

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


_ADD = "package calc\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n"
_SUB = "\nfunc Sub(a, b int) int {\n\treturn a - b\n}\n"
_STUB = '\nfunc Sub(a, b int) int {\n\tpanic("STUB:TDD")\n}\n'
_TESTS = """\
package calc

import "testing"

func TestAdd(t *testing.T) {
	if got := Add(2, 3); got != 5 {
		t.Errorf("Add(2, 3) = %d, want 5", got)
	}
}
"""
_EASY = """
func TestAddZero(t *testing.T) {
	if got := Add(2, 0); got != 2 {
		t.Errorf("Add(2, 0) = %d, want 2", got)
	}
}
"""
_ASKED = """
func TestSub(t *testing.T) {
	if got := Sub(5, 3); got != 2 {
		t.Errorf("Sub(5, 3) = %d, want 2", got)
	}
}
"""
_REAL = _TESTS + _ASKED

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
    return Script(
        files={"go.mod": "module example.invalid/calc\n\ngo 1.21\n", "calc.go": _ADD, "calc_test.go": _TESTS},
        source="calc.go",
        tests="calc_test.go",
        nothing_new="calc_test.go::TestAddZero",
        asked="calc_test.go::TestSub",
        eager=_ADD + _SUB,
        easy=_TESTS + _EASY,
        real=_REAL,
        stub=_ADD + _STUB,
        weaker=_TESTS + _ASKED.replace("got != 2", "got == 0"),
        careless=_ADD.replace("a + b", "a - b") + _SUB,
        good=_ADD + _SUB,
        needs=RequiredTool("go", "version", _MISSING, _BROKEN),
    )
