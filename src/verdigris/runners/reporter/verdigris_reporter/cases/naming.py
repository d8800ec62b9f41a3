"""How each test is called: `<file>::<class>::<method>`, as pytest calls it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.util import strclass

from ..definition import definition  # noqa: TID252 - the package has another name when injected
from ..names import code_of  # noqa: TID252 - same

if TYPE_CHECKING:
    from types import CodeType, ModuleType

    from ..names import Names  # noqa: TID252 - same

_GENERIC = {"doctest", "unittest.case"}
"""Where classes live whose name says nothing about the test."""


class Case(NamedTuple):
    test: Any
    """Kept alive: it is known by its identity."""
    id: str
    holder: str
    """Its class, as unittest names it."""
    module: str
    path: str
    method: str
    code: CodeType | None

    def definition(self, names: Names) -> dict[str, Any]:
        line = self.code.co_firstlineno if self.code is not None else 0
        return definition(names, self.path, line, self.method, self.code)


class Naming:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._seen: Counter[str] = Counter()

    def case(self, test: Any, module: ModuleType, path: str) -> Case:
        """`module`, `path`: what it was loaded from. Of several with one name all but one are numbered."""
        kind = type(test)
        method = getattr(test, "_testMethodName", "")
        function = getattr(test, "_testFunc", None) or getattr(test, method, None)
        if kind.__module__ in _GENERIC or not method:
            name = method = str(test.id() if hasattr(test, "id") else test)
        else:
            name = f"{_class(kind, module)}::{method}"
        found = f"{self._names.path(path)}::{name}"
        self._seen[found] += 1
        number = self._seen[found]
        return Case(
            test=test,
            id=found if number == 1 else f"{found}[{number}]",
            holder=strclass(kind),
            module=kind.__module__,
            path=path,
            method=method,
            code=code_of(function),
        )


def _class(kind: type, module: ModuleType) -> str:
    """As the module calls it, else as it calls itself."""
    if getattr(module, kind.__name__, None) is kind:
        return str(kind.__name__)
    known = (name for name, value in vars(module).items() if value is kind)
    return next(known, kind.__qualname__.rpartition("<locals>.")[2].replace(".", "::"))
