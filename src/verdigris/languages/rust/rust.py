"""The usual places of a Rust stack; tests inside source files are told apart by their text, not here."""

from __future__ import annotations

from verdigris.languages.forms import SIDE, Usual, any_of, anywhere, at_root, outside

PLACES = Usual(
    tests=any_of(
        at_root("testdata", "test_data", "fixtures"),
        anywhere("tests", "proptest-regressions", r"[^/]*\.snap(?:\.new)?"),
        outside("src", anywhere("benches")),
        r"(?:.*/)?(?:tests|[^/]+_tests?)\.rs\Z",
    ),
    runner=any_of(
        anywhere(r"\.cargo/config(?:\.toml)?", r"rust-toolchain(?:\.toml)?", r"\.config/nextest\.toml"),
        outside("src", r"(?:.*/)?build\.rs\Z"),
    ),
    transient=at_root("target"),
    not_source=any_of(r"\.", SIDE, "(?:xtask|fuzz)/"),
)
"""`mod tests;` leads to a file of that name. A build script says how all that tests run is built."""
