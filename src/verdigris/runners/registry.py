"""The runners that `tdd.yaml` may name. Those of third parties come by an entry point."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError
from verdigris.core.languages import runners_of
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from verdigris.core.settings import Stack
    from verdigris.runners.protocol import Toolset

    FindTool = Callable[[Stack, Path, Mapping[str, str]], Toolset]

GROUP = "verdigris.runners"
"""Of entry points: each gives a RunnerKind, by the name that `runner:` has in tdd.yaml."""


@value
class RunnerKind:
    """What the kernel must know of a runner before it calls it."""

    name: str
    """As `runner:` names it in tdd.yaml."""
    in_interpreter: bool = False
    """The user's Python interpreter runs it, with our reporter in it."""
    has_marks: bool = False
    """It can select tests by a mark (`-m MARK`)."""
    can_collect: bool = True
    """It can list its tests without running them."""
    takes: str = ""
    """Which files it takes for tests, told to who wrote one that it does not take."""
    loads_modules: bool = True
    """Of Node: what a test imports may be an ES module, whatever its own form."""
    has_templates: bool = False
    """The stack's `junit` keys say what its tool is."""
    is_package: bool = False
    """It is installed beside the project's own packages; else the interpreter brings it."""
    languages: tuple[str, ...] = ()
    """That it runs: of a third party's runner only."""
    find: FindTool | None = None
    """Looks a third party's tool up; ours stand in `verdigris.execution.tools`."""


_KINDS = (
    RunnerKind(
        "pytest",
        in_interpreter=True,
        has_marks=True,
        is_package=True,
        takes="it takes test_*.py and *_test.py, or what `python_files` in its configuration names",
    ),
    RunnerKind(
        "unittest",
        in_interpreter=True,
        takes="it takes test*.py in packages; `runner: pytest` in tdd.yaml takes *_test.py too",
    ),
    RunnerKind("vitest"),
    RunnerKind("jest", loads_modules=False),
    RunnerKind("node-test", can_collect=False),
    RunnerKind("cargo"),
    RunnerKind("go"),
    RunnerKind("junit", has_templates=True),
)
KINDS = {kind.name: kind for kind in _KINDS}


def kind_of(name: str) -> RunnerKind:
    kind = KINDS.get(name) or _find_installed(name)
    if kind is None:
        raise ConfigError(
            f"no runner is called {name!r}",
            hint=f"use {', '.join(KINDS)}, or install the package that brings it",
        )
    return kind


def is_known(name: str) -> bool:
    return name in KINDS or _find_installed(name) is not None


def is_in_interpreter(name: str) -> bool:
    return kind_of(name).in_interpreter


def runs(name: str, language: str) -> bool:
    """Whether a known runner has tests of this language."""
    return name in runners_of(language) or (name not in KINDS and language in kind_of(name).languages)


@cache
def _find_installed(name: str) -> RunnerKind | None:
    """Asked for an unknown name only: to look at all that is installed takes time."""
    from importlib.metadata import entry_points

    found = next(iter(entry_points(group=GROUP, name=name)), None)
    kind = None if found is None else found.load()
    if kind is not None and (not isinstance(kind, RunnerKind) or kind.name != name or kind.find is None):
        raise ConfigError(
            f"the entry point {name!r} of {GROUP} is no runner of that name",
            hint="it must give a `verdigris.runners.registry.RunnerKind` of this name, with `find`",
        )
    return kind
