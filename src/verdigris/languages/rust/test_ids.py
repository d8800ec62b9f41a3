"""How a Rust test is called: modules lead to its file, and a table of cases adds modules at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.test_ids import split_id

if TYPE_CHECKING:
    from verdigris.core.report import TestResult


def case_of(name: str, path: str, result: TestResult) -> str | None:
    """What follows the name of a marked test; None where it is another test."""
    function = split_id(result.native_id).function
    for around in modules(path):
        whole = f"{around}{name}"
        if function == whole or function.startswith(whole + "::"):
            return function[len(whole) :]
    return None


def modules(path: str) -> tuple[str, ...]:
    """What may stand before the name of a test of this file, the likeliest first."""
    *parts, name = path.removesuffix(".rs").split("/")
    if name in {"lib", "main"}:
        return ("",)
    if name != "mod":
        parts.append(name)
    likely = len(parts) - _after_root(parts)
    lengths = sorted(range(len(parts) + 1), key=lambda length: (length != likely, length))
    return tuple("".join(f"{part}::" for part in parts[len(parts) - length :]) for length in lengths)


def _after_root(parts: list[str]) -> int:
    """Where the modules begin: behind the last `src`, or behind the file of `tests/` that is a crate."""
    for index in range(len(parts) - 1, -1, -1):
        if parts[index] == "src":
            inside = parts[index + 1 : index + 2]
            return min(index + (3 if inside == ["bin"] else 1), len(parts))
        if parts[index] in {"tests", "benches", "examples"}:
            return min(index + 2, len(parts))
    return len(parts)
