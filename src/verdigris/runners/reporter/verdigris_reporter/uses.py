"""Records which functions of the project each test ran, and which other files the run read.

A function is named by its file and first line. What runs outside of every test, or in a fixture that several
tests share, is reported apart. A test is reported as unsure if it does something that cannot be followed
here: a child process, a thread, another tracer, random inputs.
"""

from __future__ import annotations

import gc
import os
import sys
from functools import _lru_cache_wrapper
from typing import TYPE_CHECKING, Any

from . import audit_events, tracing  # noqa: TID252 - the package has another name when injected
from .code_loading import INSTALLED, OwnFiles  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_UNSEEN = frozenset(
    (
        "subprocess.Popen",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "os.exec",
        "sys.monitoring.register_callback",
    )
)
_DISTURBING = frozenset(("_thread.start_new_thread", "sys.settrace", "sys.setprofile"))
"""Events that are a problem only before Python 3.12, where one profiler a thread hears of calls (`_Profile`).
"""
_LISTS = frozenset(("os.listdir", "os.scandir"))
_OWN = (f"{os.sep}_pytest{os.sep}", f"{os.sep}verdigris_reporter{os.sep}", "<frozen importlib", "doctest.py")
"""Parts of the file names of code that reads files only to find and load modules and tests."""
_RESTORING = (f"{os.sep}doctest.py", f"{os.sep}verdigris_reporter{os.sep}tracing.py")
_SHUFFLERS = ("randomly", "random_order", "random-order", "xdist", "dsession", "pytest_parallel")
_PORTION = 200
SHARED = ""
"""The key for what belongs to no single test.

What the tests of one file share has the file's path as its key.
"""


class Uses:
    """The recorder. It must `start` before code of the project is loaded.

    `only`: the traced files, where only their functions are to be recorded.
    """

    def __init__(self, worktree: str, only: list[str]) -> None:
        self._own = OwnFiles(worktree)
        self._only = frozenset(only)
        self._places: list[tuple[str, int]] = []
        self._known: dict[Any, int] = {}
        self._alive: list[Any] = []
        self._common: dict[str, set[int]] = {SHARED: set()}
        self._seen = self._common[SHARED]
        self._at = SHARED
        self._unsure: set[str] = set()
        self._files: set[str] = set()
        self._read: set[str] = set()
        self._loaded: set[str] = set()
        self._listed: set[str] = set()
        self._wrappers: list[tuple[Any, int]] = []
        self._counts: list[tuple[int, int]] = []
        self._threads = 0
        self._sets: dict[frozenset[int], int] = {}
        self._tests: dict[str, tuple[int, list[int], list[int]]] = {}
        self._watch: _Watch = _Watch(self)
        self.problem = ""

    def start(self) -> None:
        early = _Traced if self._only else _Profile
        self._watch = (_Monitor if hasattr(sys, "monitoring") else early)(self)
        self._watch.start()
        audit_events.listen(
            {**dict.fromkeys(self._watch.unseen, self._note_unseen), "exec": self._number_functions}
        )
        if not self._only:
            audit_events.listen({"open": self._on_open, **dict.fromkeys(_LISTS, self._on_list)})

    def note_call(self, code_id: int) -> None:
        number = self._known.get(code_id)
        if number is not None:
            self._seen.add(number)

    def _note_unseen(self, _args: Any) -> None:
        if not self._watch.busy and not _restores_tracer(sys._getframe(2)):  # noqa: SLF001 - as `inspect`
            self._unsure.add(self._at)

    def begin_tests(self, config: Any = None) -> None:
        """Call it when all tests are collected; `config` is pytest's."""
        if config is not None and any(config.pluginmanager.hasplugin(name) for name in _SHUFFLERS):
            self.problem = "tests run in an order of their own"
        wrappers = (one for one in gc.get_objects() if type(one) is _lru_cache_wrapper)
        known = ((one, self._known.get(id(getattr(one.__wrapped__, "__code__", None)))) for one in wrappers)
        self._wrappers = [(one, number) for one, number in known if number is not None]

    def begin_test(self, test: str, function: Any, *, example: bool = False) -> None:
        """`example`: the test is a doctest; it has no function, and its text is known by its name."""
        self._counts, self._threads = self._count(), len(sys._current_frames())  # noqa: SLF001 - without a module
        self._watch.gather()
        self._seen, self._at = set(), test
        if (function is None and not example) or getattr(function, "is_hypothesis_test", False):
            self._unsure.add(test)
        self._watch.renew()

    def end_test(self) -> None:
        self._watch.gather()
        test, found = self._at, frozenset(self._seen)
        self._seen, self._at = self._common[SHARED], SHARED
        if not self._watch.is_undisturbed() or len(sys._current_frames()) > self._threads:  # noqa: SLF001 - same
            self._unsure.add(test)
        self._watch.renew()
        after = self._count()
        pairs = [(pair[1], old, new) for pair, old, new in zip(self._wrappers, self._counts, after)]  # noqa: B905
        hits = [n for n, old, new in pairs if new[0] != old[0]]
        fills = [n for n, old, new in pairs if new[1] != old[1]]
        self._tests[test] = (self._sets.setdefault(found, len(self._sets)), hits, fills)

    def shared_window(self, path: str) -> Generator[None, Any, None]:
        """Records for `path` while a fixture is made that the tests of a file, or of all files, share."""
        seen, at = self._seen, self._at
        self._watch.gather()
        self._seen, self._at = self._common.setdefault(path, set()), path
        self._watch.renew()
        try:
            yield
        finally:
            self._watch.gather()
            self._seen, self._at = seen, at
            self._watch.renew()

    def report(self, send: Callable[..., None]) -> None:
        self._watch.stop()
        common = {
            path: self._sets.setdefault(frozenset(s), len(self._sets)) for path, s in self._common.items()
        }
        sets = [sorted(one) for one in self._sets]
        for first in range(0, len(self._places), _PORTION):
            send("use-places", places=self._places[first : first + _PORTION])
        for first in range(0, len(sets), _PORTION):
            send("use-sets", sets=sets[first : first + _PORTION])
        tests = [
            [test, number, hits, fills, not self._unsure.isdisjoint((test, test.partition("::")[0]))]
            for test, (number, hits, fills) in self._tests.items()
        ]
        for first in range(0, len(tests), _PORTION):
            send("use-tests", tests=tests[first : first + _PORTION])
        problem = self.problem or ("unseen work outside of tests" if SHARED in self._unsure else "")
        send(
            "use-files",
            files=sorted(self._files),
            read=sorted(self._read),
            known=sorted(self._loaded),
            listed=sorted(self._listed),
            common=common,
            problem=problem,
        )

    def _count(self) -> list[tuple[int, int]]:
        return [one.cache_info()[:2] for one, _ in self._wrappers]

    def _number_functions(self, args: Any) -> None:
        """Gives a number to each function of a module that is about to run."""
        code = args[0]
        name = getattr(code, "co_filename", "")
        path = self._relative(name) if isinstance(name, str) else ""
        if not path or (self._only and path not in self._only):
            return
        self._files.add(path)
        self._alive.append(code)
        left = [one for one in code.co_consts if hasattr(one, "co_consts")]
        if code.co_name != "<module>":
            left.append(code)
        while left:
            one = left.pop()
            left += [inner for inner in one.co_consts if hasattr(inner, "co_consts")]
            self._known[id(one)] = len(self._places)
            self._places.append((path, one.co_firstlineno))
            self._watch.add(one)

    def _on_open(self, args: Any) -> None:
        name = args[0]
        if not isinstance(name, (str, bytes)) or not (path := self._relative(_absolute(name))):
            return
        code = path.endswith((".py", ".pyc"))
        loads = (code or self._at == SHARED) and _is_for_loading(sys._getframe(2))  # noqa: SLF001 - as `inspect`
        (self._loaded if loads else self._read).add(path)

    def _on_list(self, args: Any) -> None:
        name = args[0]
        path = _absolute("." if name is None else name) if not isinstance(name, int) else ""
        if self._own.has(path + "/") and not _is_for_loading(sys._getframe(2)):  # noqa: SLF001 - same
            self._listed.add(self._relative(path + "/") or ".")

    def _relative(self, path: str) -> str:
        return self._own.relative(path) if self._own.has(path) else ""


RECORDER: Uses | None = None
"""The recorder of this process; None if nobody asked for its uses."""


def begin(settings: dict[str, Any]) -> None:
    global RECORDER  # noqa: PLW0603 - the plugin needs it too, and pytest loads that
    if "uses" in settings:
        RECORDER = Uses(settings["worktree"], settings["uses"])
        RECORDER.start()


def report(send: Callable[..., None]) -> None:
    if RECORDER is not None:
        RECORDER.report(send)


class _Watch:
    """How the recorder hears of calls."""

    busy = False
    unseen = _UNSEEN | _DISTURBING

    def __init__(self, uses: Uses) -> None:
        self._uses = uses

    def start(self) -> None:
        pass

    def add(self, code: Any) -> None:
        pass

    def renew(self) -> None:
        """Lets each function be heard of once more."""

    def gather(self) -> None:
        """Notes the calls so far, before the recorder notes for another test."""

    def is_undisturbed(self) -> bool:
        """Whether no other tool took our place."""
        return True

    def stop(self) -> None:
        pass


class _Monitor(_Watch):
    """Listens to all threads by `sys.monitoring` (Python 3.12 and newer): only code of the project pays."""

    unseen = _UNSEEN

    def start(self) -> None:
        self._api: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore] # typed for 3.11
        self._tool = next(number for number in (4, 3, 0, 2) if self._api.get_tool(number) is None)
        self.busy = True
        self._api.use_tool_id(self._tool, "verdigris-uses")
        events = self._api.events
        self._events = events.PY_START | events.PY_RESUME
        ran, enough = self._uses.note_call, self._api.DISABLE

        def heard(code: Any, _offset: int) -> Any:
            ran(id(code))
            return enough

        for event in (events.PY_START, events.PY_RESUME):
            self._api.register_callback(self._tool, event, heard)
        self.busy = False

    def add(self, code: Any) -> None:
        self._api.set_local_events(self._tool, code, self._events)

    def renew(self) -> None:
        self._api.restart_events()

    def is_undisturbed(self) -> bool:
        return bool(self._api.get_tool(self._tool) == "verdigris-uses")

    def stop(self) -> None:
        self._api.free_tool_id(self._tool)


class _Traced(_Watch):
    """Hears before Python 3.12 of what the tracer sees anyway, in all threads."""

    unseen = _UNSEEN | {"sys.settrace"}

    def start(self) -> None:
        tracing.TRACER.hear = self._uses.note_call

    def is_undisturbed(self) -> bool:
        return not tracing.TRACER.has_lost()


class _Profile(_Watch):
    """Listens before Python 3.12, by the profiler of the standard library: it counts calls without running
    Python.

    It does not follow other threads. Those call a function of ours for every call.
    """

    def start(self) -> None:
        import threading
        from _lsprof import Profiler

        ran = self._uses.note_call

        def heard(frame: Any, event: str, _argument: Any) -> None:
            if event == "call":
                ran(id(frame.f_code))

        class RestorableProfiler(Profiler):
            """A profiler that a test may replace by `sys.setprofile` and later set again as a function."""

            def __call__(self, *_event: Any) -> None:
                self.enable()

        threading.setprofile(heard)
        self._profiler: Any = RestorableProfiler(subcalls=False, builtins=False)
        self._listen()

    def renew(self) -> None:
        if not self.is_undisturbed():
            self._listen()

    def gather(self) -> None:
        ours = self.is_undisturbed()
        if ours:
            self._stop_listening()  # this also counts the calls that have not returned yet
        for entry in self._profiler.getstats():
            self._uses.note_call(id(entry[0]))
        self._profiler.clear()
        if ours:
            self._listen()

    def is_undisturbed(self) -> bool:
        return sys.getprofile() is self._profiler

    def stop(self) -> None:
        self.gather()
        self._stop_listening()

    def _listen(self) -> None:
        self.busy = True
        self._profiler.enable()
        self.busy = False

    def _stop_listening(self) -> None:
        self.busy = True
        self._profiler.disable()
        self.busy = False


def _restores_tracer(frame: Any) -> bool:
    """Whether doctest or our own tracer sets a tracer again that was there before an example or a test."""
    return bool(frame.f_code.co_filename.endswith(_RESTORING))


def _is_for_loading(frame: Any) -> bool:
    """Whether the first caller that is not installed is the import system, pytest or our reporter."""
    while frame is not None:
        name = frame.f_code.co_filename
        if any(part in name for part in _OWN):
            return True
        if not name.startswith(INSTALLED) and not name.startswith("<"):
            return False
        frame = frame.f_back
    return False


def _absolute(name: Any) -> str:
    return os.path.abspath(os.fsdecode(name))  # noqa: PTH100 - start-up time
