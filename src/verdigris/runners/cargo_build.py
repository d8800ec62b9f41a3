"""What cargo itself said in its JSON lines: which test binaries it made, and what did not compile."""

from __future__ import annotations

import json
import posixpath
from typing import TYPE_CHECKING, Any

from verdigris.core.report import CollectError
from verdigris.core.value import value
from verdigris.runners.results import relative

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SUMS = ("aborting due to", "could not compile")


@value
class Build:
    errors: tuple[CollectError, ...] = ()
    binaries: frozenset[str] = frozenset()
    """Test executables, as absolute paths."""
    text: str = ""
    """What a person would have read."""


def read_build(output: bytes, worktree: str, stack_root: str) -> Build:
    errors: dict[CollectError, None] = {}
    binaries: set[str] = set()
    text: list[str] = []
    for line, message in _lines(output):
        match message:
            case {"reason": "compiler-artifact", "executable": str(made), "profile": {"test": True}}:
                binaries.add(made)
            case {"reason": "compiler-message", "message": {"rendered": str(rendered)} as told}:
                text.append(rendered.rstrip("\n"))
                if told.get("level", "").startswith("error") and not told["message"].startswith(_SUMS):
                    folder = posixpath.dirname(str(message.get("manifest_path", "")))
                    errors[_error(told, folder, worktree, stack_root)] = None
            case {"reason": _}:
                continue
            case _:
                text.append(line)
    return Build(tuple(errors), frozenset(binaries), "\n".join(text))


def _lines(output: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for line in output.decode("utf-8", "replace").split("\n"):
        message = None
        if line.startswith('{"'):
            try:
                message = json.loads(line)
            except ValueError:
                message = None
        yield line, message if isinstance(message, dict) else {}


def _error(told: Mapping[str, Any], package: str, worktree: str, stack_root: str) -> CollectError:
    code = (told.get("code") or {}).get("code", "error")
    spans = sorted(told.get("spans", ()), key=lambda span: not span["is_primary"])
    if not spans:
        return CollectError("", code, told["message"])
    base = _compiled_in(spans[0]["file_name"], package, worktree, stack_root)
    path = relative(spans[0]["file_name"], worktree, base)
    return CollectError(path, code, f"{path}:{spans[0]['line_start']}: {told['message']}")


def _compiled_in(file: str, package: str, worktree: str, stack_root: str) -> str:
    """Cargo compiles in its workspace's root, which it does not tell: the uppermost that leads there."""
    folder = worktree
    steps = posixpath.relpath(package, worktree).split("/") if package.startswith(worktree) else []
    for step in [*steps, ""]:
        if posixpath.join(folder, file).startswith(package + "/"):
            return folder
        folder = posixpath.join(folder, step)
    return posixpath.join(worktree, stack_root)
