"""The play in Rust: the tests stand in the source file, where only their module is frozen."""

from __future__ import annotations

from verdigris.languages.script import Program, Script

_MANIFEST = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n'
_LOCK = 'version = 3\n\n[[package]]\nname = "calc"\nversion = "0.1.0"\n'
_ADD = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"
_SUB = "\npub fn sub(a: i32, b: i32) -> i32 {\n    a - b\n}\n"
_STUB = "\npub fn sub(_a: i32, _b: i32) -> i32 {\n    todo!() // STUB:TDD\n}\n"
_MODULE = """
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(2, 3), 5);
    }
"""
_EASY = "\n    #[test]\n    fn adds_zero() {\n        assert_eq!(add(2, 0), 2);\n    }\n"
_ASKED = "\n    #[test]\n    fn subtracts() {\n        assert_eq!(sub(5, 3), 2);\n    }\n"
_TESTS = _MODULE + "}\n"
_REAL = _MODULE + _ASKED + "}\n"
_WEAKER = _REAL.replace("assert_eq!(sub(5, 3), 2)", "assert!(sub(5, 3) > 0)")
_FILE = "src/lib.rs"

_MISSING = "install Rust (rustup), and have `cargo` on PATH"
_BROKEN = "`rustup default stable` installs a toolchain; `cargo --version` has to work"


def script() -> Script:
    return Script(
        files={
            "Cargo.toml": _MANIFEST,
            "Cargo.lock": _LOCK,
            ".gitignore": "/target\n",
            _FILE: _ADD + _TESTS,
        },
        source=_FILE,
        tests=_FILE,
        nothing_new=f"{_FILE}::tests::adds_zero",
        asked=f"{_FILE}::tests::subtracts",
        eager=_ADD + _SUB + _TESTS,
        easy=_ADD + _MODULE + _EASY + "}\n",
        real=_ADD + _REAL,
        stub=_ADD + _STUB + _REAL,
        weaker=_ADD + _STUB + _WEAKER,
        careless=_ADD.replace("a + b", "a - b") + _SUB + _REAL,
        good=_ADD + _SUB + _REAL,
        needs=Program("cargo", "--version", _MISSING, _BROKEN),
    )
