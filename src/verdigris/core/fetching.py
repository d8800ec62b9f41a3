"""What to do when a tool did not start because something is not on this machine: a run fetches nothing."""

from __future__ import annotations

import re

_ADVICE = (
    (r"toolchain '?[^\s']+'? is not installed", "`rustup toolchain install`"),
    (
        r"offline mode \(--offline\)|--offline was specified|attempting to make an HTTP request",
        "`cargo fetch`",
    ),
    (r"module lookup disabled by GOPROXY=off|disabled by GOPROXY", "`go mod download`"),
    (r"in offline mode and the artifact|Cannot access \S+ .*in offline mode", "`mvn dependency:go-offline`"),
    (r"Cannot find (?:module|package) '", "install the packages"),
)


def fetching(output: str) -> str | None:
    for pattern, move in _ADVICE:
        if re.search(pattern, output):
            return f"a run of tests fetches nothing: {move}, then again"
    return None
