"""Names files and tests from the worktree's root; says where a test is defined, and whether it is wanted."""

from __future__ import annotations

import linecache
import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType

    import pytest


class WorktreeNames:
    """Makes paths relative to the worktree, and test ids of pytest's items. `rootdir` is pytest's."""

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

        names = []  # not pytest's own id: that is relative to its root folder
        for node in reversed(item.listchain()):
            if isinstance(node, (pytest.File, pytest.Session)):
                break
            names.append(node.name)
        return "::".join([self.path(str(item.path)), *reversed(names)])

    def nodeid(self, nodeid: str) -> str:
        """Makes a test id of pytest's own id.

        Only that is known in xdist's controller, and of a collection error.
        """
        path, separator, rest = nodeid.partition("::")
        return self.path(os.path.join(self._rootdir, path)) + separator + rest  # noqa: PTH118 - text in, text out


def code_of(function: Any) -> Any:
    """The code object of the function that the author wrote, below decorators and wrappers."""
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
    """Where a test is defined.

    `path`, `line`, `name`: as the test tool reports them. `code`: of the function that the author wrote, if
    any.
    """
    if code is None or code.co_filename == path:
        return {"line": code.co_firstlineno if code else line, "in": names.path(path)}
    pattern = rf"^\s*(async\s+)?def\s+{re.escape(name)}\b"
    if re.search(pattern, "".join(linecache.getlines(path)), re.MULTILINE):
        return {"line": line, "in": names.path(path)}
    return {"line": code.co_firstlineno, "in": names.path(code.co_filename)}


_PARENTS = re.compile(r"/|::|\[")


class AskedTests:
    """The tests that a run was asked for: ids, files, folders or classes. None of them means all tests."""

    def __init__(self, wanted: list[str]) -> None:
        self.wanted = {entry if "::" in entry else entry.rstrip("/") for entry in wanted}
        self._everything = bool(self.wanted & {"", "."})

    def keeps(self, test_id: str) -> bool:
        """Whether a test was asked for, by its id or by a folder, file, class or function around it."""
        if self._everything or test_id in self.wanted:
            return True
        return any(test_id[: part.start()] in self.wanted for part in _PARENTS.finditer(test_id))
