"""What loading a module may leave behind in its process besides the module: looked at before and after."""

from __future__ import annotations

import builtins
import gc
import logging
import os
import signal
import sys
import warnings
from typing import Any

NUMBERS = [number for number in range(1, signal.NSIG) if number in set(map(int, signal.valid_signals()))]


class Refused(Exception):
    """A module cannot be loaded in advance; and this process has loaded it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Marks:
    """Filters of warnings and finders can be put back, and set again later; anything else is a refusal."""

    filters: tuple[Any, ...] = ()
    finders: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self._state = _state()
        self._filters = list(warnings.filters)
        self._finders = list(sys.meta_path)
        self._warned: list[str] = []
        self._show = warnings.showwarning
        warnings.showwarning = self._hear
        warnings.simplefilter("always")
        self._loud = list(warnings.filters)

    def _hear(self, message: object, *_: object, **__: object) -> None:
        self._warned.append(str(message))

    def compare(self) -> None:
        known = list(map(id, self._loud))
        self.filters = tuple(one for one in warnings.filters if id(one) not in known)
        self.finders = tuple(sys.meta_path[len(self._finders) :])
        overtaken = sys.meta_path[: len(self._finders)] != self._finders
        warnings.filters[:] = self._filters  # type: ignore[index]  # a list, whatever is said of it
        getattr(warnings, "_filters_mutated", lambda: None)()
        warnings.showwarning = self._show
        sys.meta_path[:] = self._finders
        if self._warned:
            raise Refused(f"it warns: {self._warned[0]}")
        if overtaken:
            raise Refused("it finds modules before others do")
        for what, now in _state().items():
            if self._state[what] != now:
                raise Refused(f"it changes {what}")


class Reading:
    """Which variables are read meanwhile, and what they were."""

    def __init__(self) -> None:
        self.names: dict[str, str | None] = {}
        self.all_of_it = False
        self._type: Any = type(os.environ)
        self._get, self._iterate = self._type.__getitem__, self._type.__iter__

    def __enter__(self) -> Reading:  # noqa: PYI034 - `Self` is not in every Python that runs this
        get, iterate = self._get, self._iterate

        def noted(environ: Any, name: str) -> Any:
            if isinstance(name, str):
                self.names.setdefault(name, None)
            text = get(environ, name)
            self.names[name] = text
            return text

        def all_noted(environ: Any) -> Any:
            self.all_of_it = True
            return iterate(environ)

        self._type.__getitem__, self._type.__iter__ = noted, all_noted
        return self

    def __exit__(self, *error: object) -> None:
        self._type.__getitem__, self._type.__iter__ = self._get, self._iterate


def _state() -> dict[str, Any]:
    root = logging.getLogger()
    return {
        "threads": len(os.listdir("/proc/self/task")),  # noqa: PTH208 - names are all that is wanted
        "open files": sorted(os.listdir("/proc/self/fd")),  # noqa: PTH208 - same
        "the environment": dict(os.environ),
        "the folder": os.getcwd(),  # noqa: PTH109 - a name is all that is wanted
        "the path": list(sys.path),
        "the path's hooks": list(sys.path_hooks),
        "signals": [signal.getsignal(number) for number in NUMBERS],
        "hooks": (sys.excepthook, sys.displayhook, getattr(sys, "unraisablehook", None), sys.breakpointhook),
        "tracing": (sys.gettrace(), sys.getprofile()),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "the limit of recursion": sys.getrecursionlimit(),
        "the collector": (gc.isenabled(), gc.get_threshold()),
        "logging": (list(root.handlers), root.level, logging.root.manager.disable),
        "built-in names": set(vars(builtins)),
        "how warnings are shown": getattr(warnings, "formatwarning", None),
    }
