"""Loads modules of the environment in advance, and hides them from a run until the run imports them.

A hidden module is neither in `sys.modules`, nor do the marks show that loading it left (`Marks`). An import
gets the hidden module only if loading it now would give the same result. If that is in doubt, the run is
declined: it ends, and the caller repeats it in a fresh process.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import logging
import os
import signal
import sys
import warnings
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from typing import TYPE_CHECKING, Any

from ..preload import installed_imports_only  # noqa: TID252 - the package has another name when injected

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


NEVER = frozenset(("pkg_resources", "setuptools", "distutils", "_distutils_hack", "antigravity", "this"))
"""Modules that are never loaded in advance: loading them inspects `sys.path`, or shows the user something."""


ALL = "+"
"""Stands for a module's name in a refusal, and means: no module should have been loaded in advance."""


class ModuleUnit:
    """One module that was asked for, with all the modules and marks that loading it brought along."""

    def __init__(self, modules: dict[str, ModuleType], marks: Marks, read: dict[str, str | None]) -> None:
        self.modules = modules
        self.filters = marks.filters
        self.finders = marks.finders
        self.read = read

    def find_doubt(self, name: str) -> tuple[str, str]:
        """Returns the module that prevents serving `name`, and the reason; two empty texts if none does."""
        for variable, text in self.read.items():
            if os.environ.get(variable) != text:
                return name, f"{variable} is set otherwise"
        for known, module in self.modules.items():
            if sys.modules.get(known, module) is not module:
                return known, "another one is loaded"
            elsewhere = "." not in known and known not in sys.modules
            if elsewhere and not _is_same_module(module, PathFinder.find_spec(known)):
                return known, "another one is found"
        return "", ""

    def reveal(self) -> None:
        """Makes the unit's modules visible, and sets again the marks that loading them left."""
        sys.modules.update({name: module for name, module in self.modules.items() if name not in sys.modules})
        known = {id(finder) for finder in sys.meta_path}
        sys.meta_path.extend(finder for finder in self.finders if id(finder) not in known)
        add_filters(self.filters)
        seed: Any = getattr(self.modules.get("numpy.random.mtrand"), "seed", None)
        if seed is not None:
            seed()  # else every fork would draw the same random numbers


class HiddenModules:
    """A finder for `sys.meta_path` that serves the modules loaded in advance."""

    def __init__(self) -> None:
        self.units: dict[str, ModuleUnit] = {}
        self.home: dict[str, str] = {}
        """For the name of each module, the name of the unit that loaded it first."""
        self.decline: Callable[[str, str], None] | None = None
        """Set in a run. It takes a module and the doubt about it, and ends the process of the run."""
        self._found_first: list[int] = []

    def load(self, names: Sequence[str], own: frozenset[str], plugins: frozenset[str]) -> dict[str, str]:
        """Loads the modules in order. Returns, by name, why a module could not be loaded in advance.

        If there is such a module, this process cannot be used: it has loaded the module nevertheless.

        `own`: top-level names that the project has itself, or may have. `plugins`: top-level names of
        plugins, which are loaded only if another module imports them.
        """
        refused: dict[str, str] = {}
        with installed_imports_only():
            sys.meta_path[:] = [BuiltinImporter, FrozenImporter, self, PathFinder]
            base = set(sys.modules)
            for name in names:
                top = name.split(".")[0]
                if name in base or top in own | plugins | NEVER or self._is_covered(name):
                    continue
                try:
                    self._load_one(name, base, own)
                except RefusedModule as why:
                    refused[name] = why.why
                    _unload_all_but(base)
        return refused

    @property
    def files(self) -> dict[str, tuple[int, ...] | None]:
        return stamps({name: module for unit in self.units.values() for name, module in unit.modules.items()})

    def serve(self, decline: Callable[[str, str], None]) -> None:
        """Starts to serve hidden modules, immediately before the finder of files is asked.

        It notes the finders that are here now, so that one which is added before us later can be noticed.
        """
        self.decline = decline
        self._found_first = [id(finder) for finder in sys.meta_path]
        sys.meta_path.insert(sys.meta_path.index(PathFinder), self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        home = self.home.get(name)
        if home is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        unit = self.units.get(name) or self.units[home]
        if spec is None or not _is_same_module(unit.modules[name], spec):
            return spec
        served: Any = _HiddenLoader(self, unit, spec.loader)
        spec.loader = served
        return spec

    def decline_doubtful(self, name: str, unit: ModuleUnit) -> bool:
        """Declines the run if the unit cannot serve `name`; returns whether it cannot."""
        if self.decline is None:
            return False
        if self._is_overtaken():
            self.decline(ALL, "something else finds modules first")
            return True
        culprit, why = unit.find_doubt(name)
        if why:
            self.decline(culprit, why)
        return bool(why)

    def _is_overtaken(self) -> bool:
        """Whether a finder before us is newer than our service; that of pytest is expected."""
        before = sys.meta_path[: sys.meta_path.index(self)] if self in sys.meta_path else []
        return any(
            id(finder) not in self._found_first and type(finder).__name__ != "AssertionRewritingHook"
            for finder in before
        )

    def _is_covered(self, name: str) -> bool:
        """Whether a unit has the module already: its own, or that of a package above it."""
        parts = name.split(".")
        above = (".".join(parts[:count]) for count in range(1, len(parts)))
        return name in self.units or any(
            name in self.units[part].modules for part in above if part in self.units
        )

    def _load_one(self, name: str, base: set[str], own: frozenset[str]) -> None:
        marks = Marks()
        with EnvironmentReading() as reading:
            try:
                importlib.import_module(name)
            except BaseException as error:  # noqa: BLE001 - whatever it is, the run itself will meet it again
                raise RefusedModule(f"{type(error).__name__} when it is loaded") from None
        marks.compare()
        if reading.all_of_it or {"HOME", "TMPDIR"} & set(reading.names):
            raise RefusedModule("it looks at the environment")
        new = {known: module for known, module in sys.modules.items() if known not in base}
        if own & {known.split(".")[0] for known in new}:
            raise RefusedModule("it loads what the project may have itself")
        built_in = {known for known, module in new.items() if _is_built_in(module)}
        base |= built_in
        modules = {known: module for known, module in new.items() if known not in built_in}
        for known in modules:
            del sys.modules[known]
            self.home.setdefault(known, name)
        self.units[name] = ModuleUnit(modules, marks, reading.names)


class _HiddenLoader:
    """A loader that returns the hidden module instead of executing the file."""

    def __init__(self, hidden: HiddenModules, unit: ModuleUnit, loader: Any) -> None:
        self._hidden = hidden
        self._unit = unit
        self._loader = loader
        self._given: Any = None

    def create_module(self, spec: ModuleSpec) -> Any:
        if self._hidden.decline_doubtful(spec.name, self._unit):
            spec.loader = self._loader
            return self._loader.create_module(spec)
        self._given = self._unit.modules[spec.name]
        self._spec = self._given.__spec__
        return self._given

    def exec_module(self, module: Any) -> None:
        if self._given is None:
            self._loader.exec_module(module)
            return
        module.__spec__ = self._spec
        self._unit.reveal()

    def __getattr__(self, name: str) -> Any:
        """Lets the real loader answer every other question, such as where the module lies."""
        return getattr(self._loader, name)


def _unload_all_but(base: set[str]) -> None:
    for name in set(sys.modules) - base:
        del sys.modules[name]


def stamps(modules: dict[str, ModuleType]) -> dict[str, tuple[int, ...] | None]:
    return {file: _stamp(file) for file in map(_file, modules.values()) if file is not None}


def has_changed(files: dict[str, tuple[int, ...] | None]) -> bool:
    return any(_stamp(file) != stamp for file, stamp in files.items())


def add_filters(filters: Sequence[Any]) -> None:
    if filters:
        warnings.filters[:0] = filters  # type: ignore[index]  # a list, although its type says a sequence
        getattr(warnings, "_filters_mutated", lambda: None)()


def _file(module: Any) -> str | None:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else None


def _stamp(file: str) -> tuple[int, ...] | None:
    try:
        status = os.stat(file)  # noqa: PTH116 - hundreds of them
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is_same_module(module: Any, spec: ModuleSpec | None) -> bool:
    """Whether loading this spec would give this module. Without a spec nothing would replace the module."""
    known = getattr(module, "__spec__", None)
    if known is None or known.origin is None or spec is None:
        return spec is None or (known is not None and known.origin is spec.origin is None)
    return bool(known.origin == spec.origin)


def _is_built_in(module: Any) -> bool:
    return getattr(getattr(module, "__spec__", None), "origin", None) in {"built-in", "frozen"}


_SIGNAL_NUMBERS = [
    number for number in range(1, signal.NSIG) if number in set(map(int, signal.valid_signals()))
]


class RefusedModule(Exception):
    """A module cannot be loaded in advance. It is raised after the module was loaded."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Marks:
    """Compares the state of the interpreter before and after a module is loaded.

    Filters of warnings and finders can be taken back, and set again later. Any other change is a refusal.
    """

    filters: tuple[Any, ...] = ()
    finders: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self._state = _state()
        self._filters = list(warnings.filters)
        self._finders = list(sys.meta_path)
        self._warned: list[str] = []
        self._show = warnings.showwarning
        warnings.showwarning = self._record_warning
        warnings.simplefilter("always")
        self._loud = list(warnings.filters)

    def _record_warning(self, message: object, *_: object, **__: object) -> None:
        self._warned.append(str(message))

    def compare(self) -> None:
        """Restores filters and finders, and keeps the new ones; refuses the module for any other change."""
        known = list(map(id, self._loud))
        self.filters = tuple(one for one in warnings.filters if id(one) not in known)
        self.finders = tuple(sys.meta_path[len(self._finders) :])
        overtaken = sys.meta_path[: len(self._finders)] != self._finders
        warnings.filters[:] = self._filters  # type: ignore[index]  # a list, although its type says a sequence
        getattr(warnings, "_filters_mutated", lambda: None)()
        warnings.showwarning = self._show
        sys.meta_path[:] = self._finders
        if self._warned:
            raise RefusedModule(f"it warns: {self._warned[0]}")
        if overtaken:
            raise RefusedModule("it finds modules before others do")
        for what, now in _state().items():
            if self._state[what] != now:
                raise RefusedModule(f"it changes {what}")


class EnvironmentReading:
    """Records which environment variables are read inside the `with` block, and their values."""

    def __init__(self) -> None:
        self.names: dict[str, str | None] = {}
        self.all_of_it = False
        self._type: Any = type(os.environ)
        self._get, self._iterate = self._type.__getitem__, self._type.__iter__

    def __enter__(self) -> EnvironmentReading:  # noqa: PYI034 - `Self` is not in every Python that runs this
        get, iterate = self._get, self._iterate

        def get_and_note(environ: Any, name: str) -> Any:
            if isinstance(name, str):
                self.names.setdefault(name, None)
            text = get(environ, name)
            self.names[name] = text
            return text

        def iterate_and_note(environ: Any) -> Any:
            self.all_of_it = True
            return iterate(environ)

        self._type.__getitem__, self._type.__iter__ = get_and_note, iterate_and_note
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
        "signals": [signal.getsignal(number) for number in _SIGNAL_NUMBERS],
        "hooks": (sys.excepthook, sys.displayhook, getattr(sys, "unraisablehook", None), sys.breakpointhook),
        "tracing": (sys.gettrace(), sys.getprofile()),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "the limit of recursion": sys.getrecursionlimit(),
        "the collector": (gc.isenabled(), gc.get_threshold()),
        "logging": (list(root.handlers), root.level, logging.root.manager.disable),
        "built-in names": set(vars(builtins)),
        "how warnings are shown": getattr(warnings, "formatwarning", None),
    }
