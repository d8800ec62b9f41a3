from __future__ import annotations

import pytest

from verdigris.gates.agent_shell.write_failure import is_told, spelled_paths

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    "line",
    [
        "/bin/bash: line 1: /home/u/.x: Read-only file system",
        "touch: cannot touch '/home/u/.x': Read-only file system",
        "mkdir: cannot create directory ‘/home/u/.x’: Read-only file system",
        "OSError: [Errno 30] Read-only file system: '/home/u/.x'",
        "Error: EROFS: read-only file system, open '/home/u/.x'",
        "open /home/u/.x: read-only file system",
        "error: could not lock config file /home/u/.x: Read-only file system",
        "could not create directory: '/home/u/.x'\n\nCaused by:\n    Read-only file system (os error 30)",
        "error: could not write config file /home/u/.x: Device or resource busy",
    ],
)
def test_the_path_is_among_what_the_line_says(line: str) -> None:
    said = f"before\n{line}\nafter\n".encode()
    assert is_told(said)
    known = [word for word in spelled_paths(said) if word.startswith("/")]
    assert known[0] == "/home/u/.x"


def test_other_lines_name_nothing() -> None:
    said = b"cannot open '/a': No such file or directory\n"
    assert not is_told(said)
    assert list(spelled_paths(said)) == []
