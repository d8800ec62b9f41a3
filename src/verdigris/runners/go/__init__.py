"""`go test`: its facts."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from verdigris.runners.protocol import Harness, RunnerKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_FAILED = r"^ *--- FAIL: (\S+)"
_UNBUILT = r"^FAIL\t(\S+) \[(build failed|setup failed)\]"


def read_log(text: str) -> Iterator[tuple[str, str]]:
    """The innermost tests: a test that fails because a part of it does adds nothing."""
    names = {found[1] for found in re.finditer(_FAILED, text, re.MULTILINE)}
    for name in names:
        if not any(other.startswith(f"{name}/") for other in names):
            yield name, "panic" if f"panic: test {name}" in text else ""
    yield from ((found[1], found[2]) for found in re.finditer(_UNBUILT, text, re.MULTILINE))


def _harness_command(files: Collection[str]) -> str:
    packages = {"./" + file.rpartition("/")[0] for file in files}
    return f"go test -v {shlex.join(sorted(packages))}"


KINDS = (
    RunnerKind(
        "go",
        oldest_program=(1, 21),
        version_word="version",
        read_log=read_log,
        downloads=((r"module lookup disabled by GOPROXY=off|disabled by GOPROXY", "`go mod download`"),),
        harness=Harness(
            "parse_log_gotest",
            lambda native: native.partition("::")[2],
            _harness_command,
            "golang:1",
            ("go mod download",),
        ),
    ),
)
