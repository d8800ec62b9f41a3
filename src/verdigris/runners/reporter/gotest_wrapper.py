"""Stands between `go test` and one package's test binary: tells which file holds which test, and selects.

Go starts it by `-exec`. It becomes the binary, so that its output and its end are the binary's own.
"""

# ruff: noqa: PTH109, PTH113, PTH118, PTH120, PTH123, PTH208 - one start per package; pathlib would be half of it
from __future__ import annotations

import json
import os
import os.path as paths
import re
import sys

TYPE_CHECKING = False  # importing typing would cost as much as all the rest
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SETTINGS = "VERDIGRIS_GOTEST"
MARK = "--verdigris-select"
"""What stands after it are names for us, not for the binary."""
_FUNCTION = re.compile(r"^func ((?!TestMain\()(?:Test|Example|Fuzz)(?![a-z])\w*)\(", re.MULTILINE)
_MODULE = re.compile(r'^module\s+"?([^\s"]+)', re.MULTILINE)
_META = re.compile(r"([\\.+*?()|\[\]{}^$])")


def main(arguments: Sequence[str]) -> None:
    settings = json.loads(os.environ.pop(SETTINGS))
    own, asked = _cut(arguments)
    folder = paths.relpath(os.getcwd(), paths.realpath(settings["worktree"]))
    tests = {name: (paths.normpath(paths.join(folder, file)), line) for name, file, line in _declared()}
    chosen = wanted(tests, asked, folder) if asked else None
    record = {"package": _package(), "folder": folder, "tests": tests, "chosen": chosen}
    with open(paths.join(settings["folder"], f"{os.urandom(8).hex()}.go"), "x", encoding="ascii") as file:
        json.dump(record, file)
    for path in settings.get("withheld", ()):  # compiled already
        os.truncate(paths.join(settings["worktree"], path), 0)
    if settings["list"] or chosen == []:
        return
    if chosen is not None:
        flags = next((i for i, one in enumerate(own[1:], 1) if not one.startswith("-test.")), len(own))
        own.insert(flags, f"-test.run={pattern(chosen)}")
    os.execv(own[0], own)  # noqa: S606 - that is what `-exec` asks for


def pattern(names: Sequence[str]) -> str:
    """Matched level by level, each alternative on its own, so that nothing else is run."""
    return "|".join("/".join(f"^{_META.sub(_ESCAPED, level)}$" for level in n.split("/")) for n in names)


_ESCAPED = r"\\\1"


def wanted(tests: Mapping[str, tuple[str, int]], asked: Sequence[str], folder: str) -> list[str]:
    """The names, with subtests, of those asked for that this package holds."""
    found: dict[str, None] = {}
    for one in asked:
        path, marked, name = one.partition(".go::")
        path = paths.normpath(path + ".go" if marked else one)
        if marked:
            if tests.get(name.partition("/")[0], ("", 0))[0] == path:
                found[name] = None
        else:
            within = path in {".", folder} or folder.startswith(path + "/")
            found |= {test: None for test, (file, _) in tests.items() if within or file == path}
    return list(found)


def _cut(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    own = list(arguments)
    if MARK not in own:
        return own, []
    at = len(own) - 1 - own[::-1].index(MARK)
    return own[:at], own[at + 1 :]


def _declared() -> Iterator[tuple[str, str, int]]:
    for file in sorted(os.listdir(".")):
        if file.endswith("_test.go") and paths.isfile(file):
            with open(file, encoding="utf-8", errors="replace", newline="") as opened:
                text = opened.read()
            for found in _FUNCTION.finditer(text):
                yield found[1], file, text.count("\n", 0, found.start()) + 1


def _package() -> str:
    """The import path; empty outside a module."""
    here = folder = os.getcwd()
    while not paths.isfile(paths.join(folder, "go.mod")):
        if paths.dirname(folder) == folder:
            return ""
        folder = paths.dirname(folder)
    with open(paths.join(folder, "go.mod"), encoding="utf-8", errors="replace") as told:
        module = _MODULE.search(told.read())
    inner = paths.relpath(here, folder)
    name = module[1] if module else ""
    return name if inner == "." else f"{name}/{inner}"


if __name__ == "__main__":
    main(sys.argv[1:])
