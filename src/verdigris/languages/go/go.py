"""The usual places of a Go stack."""

from __future__ import annotations

from verdigris.languages.forms import SIDE, Usual, any_of, anywhere, at_root

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
"""`TestMain` stands in a `_test.go`; vendored, a library that tests assert with is as much theirs."""
