"""How Hypothesis tried a property: settings, inputs that ran to the end, files that rejected inputs."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .names import WorktreeNames  # noqa: TID252 - the package has another name when injected


_SETTINGS = (
    *("max_examples", "phases", "derandomize", "deadline", "stateful_step_count", "suppress_health_check"),
    "backend",
)
_REJECTIONS = frozenset({"UnsatisfiedAssumption", "StopTest"})
_KEY = "_verdigris_property"


class Watch:
    """Counts the inputs of a property while its test runs; `close` removes the counter."""

    def __init__(self, item: Any, names: WorktreeNames) -> None:
        self.names = names
        self.ran = 0
        self.rejecting: set[str] = set()
        self.settings = ""
        self._handle = getattr(getattr(item, "obj", None), "hypothesis", None)
        self._inner = getattr(self._handle, "inner_test", None)
        if callable(self._inner) and not inspect.iscoroutinefunction(self._inner):
            self.settings = _describe_settings(item.obj)
            self._handle.inner_test = self._count_runs(self._inner)  # type: ignore[union-attr]
            setattr(item, _KEY, self)

    def _count_runs(self, inner: Any) -> Any:
        @functools.wraps(inner)
        def counted(*given: Any, **named: Any) -> Any:
            try:
                answer = inner(*given, **named)
            except BaseException as error:
                if type(error).__name__ in _REJECTIONS:
                    self._note_files(error)
                raise
            self.ran += 1
            return answer

        return counted

    def _note_files(self, error: BaseException) -> None:
        """Notes the project's files on the way to a rejected input."""
        trace = error.__traceback__
        while trace is not None:
            path = self.names.path(trace.tb_frame.f_code.co_filename)
            if not path.startswith(("/", "<")):
                self.rejecting.add(path)
            trace = trace.tb_next

    def close(self) -> None:
        if self.settings:
            self._handle.inner_test = self._inner  # type: ignore[union-attr]


def _describe_settings(test: Any) -> str:
    """Returns the settings as one text, without the database of examples, which nobody asks for here."""
    settings = getattr(test, "_hypothesis_internal_use_settings", None)
    if settings is None:
        settings = getattr(type(test), "_hypothesis_internal_use_settings", None)
    told = ((name, getattr(settings, name, None)) for name in _SETTINGS)
    return ", ".join(f"{name} {_plain(value)}" for name, value in told if value is not None) or "unknown"


def _plain(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return "+".join(getattr(one, "name", str(one)) for one in value) or "none"
    return str(value)


def property_facts(item: Any) -> dict[str, Any]:
    watch = getattr(item, _KEY, None)
    if watch is None:
        return {}
    files = sorted(watch.rejecting)
    return {"property": {"settings": watch.settings, "ran": watch.ran, "rejecting": files}}
