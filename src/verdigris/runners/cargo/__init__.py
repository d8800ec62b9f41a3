"""`cargo test`: its facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.runners.protocol import Harness, RunnerKind

if TYPE_CHECKING:
    from collections.abc import Iterator

_FAILED = r"^test (\S+)(?: - should panic)? \.\.\. FAILED$"
_COMPILER_ERROR = r"^error\[(E\d+)\]:.*\n +--> ([^:\n]+)"


def read_log(text: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(_FAILED, text, re.MULTILINE):
        asserted = re.search(
            rf"thread '{re.escape(found[1])}'[^\n]* panicked at[^\n]*\n?[^\n]*assertion", text
        )
        yield found[1], "assertion" if asserted else "panic"
    yield from ((found[2], found[1]) for found in re.finditer(_COMPILER_ERROR, text, re.MULTILINE))


def _is_doc_test(test_id: str) -> bool:
    from verdigris.runners.cargo.libtest_output import is_doc_id

    return is_doc_id(test_id)


KINDS = (
    RunnerKind(
        "cargo",
        oldest_program=(1, 70),
        read_log=read_log,
        downloads=(
            (r"toolchain '?[^\s']+'? is not installed", "`rustup toolchain install`"),
            (
                r"offline mode \(--offline\)|--offline was specified|attempting to make an HTTP request",
                "`cargo fetch`",
            ),
        ),
        is_doc_test=_is_doc_test,
        harness=Harness(
            "parse_log_cargo",
            lambda native: native.partition("::")[2],
            lambda _: "cargo test --no-fail-fast",
            "rust:1",
            ("cargo fetch",),
        ),
    ),
)
