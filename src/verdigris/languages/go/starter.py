"""The demo's repository in Go."""

from __future__ import annotations

from verdigris.languages.starter import Program, Script

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


def script() -> Script:
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
        needs=Program("go", "version", _MISSING, _BROKEN),
    )
