"""How files and tests are called from the worktree's root, where a test is defined, which are asked for."""

from __future__ import annotations

import linecache
import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType

    import pytest


class WorktreeNames:
    def __init__(self, worktree: str, rootdir: str) -> None:
        self._roots = tuple({worktree.rstrip("/") + "/", os.path.realpath(worktree).rstrip("/") + "/"})
        self._rootdir = rootdir
        self._known: dict[str, str] = {}

    def path(self, path: str) -> str:
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._relative(os.path.abspath(path))  # noqa: PTH100 - keeps links
        return known

    def _relative(self, path: str) -> str:
        for spelling in (path, os.path.realpath(path)):
            for root in self._roots:
                if spelling.startswith(root):
                    return spelling[len(root) :]
        return path

    def item(self, item: pytest.Item) -> str:
        import pytest  # here: unittest's own names are made without it

        names = []
        for node in reversed(item.listchain()):
            if isinstance(node, (pytest.File, pytest.Session)):
                break
            names.append(node.name)
        return "::".join([self.path(str(item.path)), *reversed(names)])

    def nodeid(self, nodeid: str) -> str:
        """Where only pytest's own id is known: in xdist's controller, and for what cannot be collected."""
        path, separator, rest = nodeid.partition("::")
        return self.path(os.path.join(self._rootdir, path)) + separator + rest  # noqa: PTH118 - text in, text out


def code_of(function: Any) -> Any:
    """The code that the author wrote, below wrappers."""
    for _ in range(50):
        inner = getattr(getattr(function, "hypothesis", None), "inner_test", None)
        inner = inner or getattr(function, "__wrapped__", None) or getattr(function, "__func__", None)
        if inner is None:
            break
        function = inner
    return getattr(function, "__code__", None)


def definition(
    names: WorktreeNames, path: str, line: int, name: str, code: CodeType | None
) -> dict[str, Any]:
    """`path`, `line`, `name`: as the tool tells them. `code`: what the author wrote, if there is any."""
    if code is None or code.co_filename == path:
        return {"line": code.co_firstlineno if code else line, "in": names.path(path)}
    pattern = rf"^\s*(async\s+)?def\s+{re.escape(name)}\b"
    if re.search(pattern, "".join(linecache.getlines(path)), re.MULTILINE):
        return {"line": line, "in": names.path(path)}
    return {"line": code.co_firstlineno, "in": names.path(code.co_filename)}


_PARENTS = re.compile(r"/|::|\[")


class AskedTests:
    def __init__(self, wanted: list[str]) -> None:
        self.wanted = {entry if "::" in entry else entry.rstrip("/") for entry in wanted}
        self._everything = bool(self.wanted & {"", "."})

    def keeps(self, test_id: str) -> bool:
        """A folder, file or class stands for all that is in it, a parametrized function for its cases."""
        if self._everything or test_id in self.wanted:
            return True
        return any(test_id[: part.start()] in self.wanted for part in _PARENTS.finditer(test_id))
