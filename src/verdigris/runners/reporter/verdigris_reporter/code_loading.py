"""Decides which text of a file the interpreter runs: never an outdated cache, and withheld texts from memory.

Python trusts a byte code cache if the size of the source and its modification time, in whole seconds, have
not changed. So it misses an edit of the same size within that second, and a verdict would be about the old
code. Such a cache was written in the same second as its source: it is not used. A verdict (`fresh`) uses no
cache at all, since whoever can write the project's folders can write other code under a valid header.

Withheld test files are emptied before code of the project is loaded, so that it cannot read them. Their texts
are kept in memory until they are imported.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
from typing import Any

INSTALLED = tuple(
    f"{spelling}/{folder}/"
    for prefix in (sys.prefix, sys.base_prefix)
    for spelling in (prefix, os.path.realpath(prefix))
    for folder in ("lib", "lib64")
)


class OwnFiles:
    """The files below a folder, as given and with links resolved, except installed packages.

    Nobody edits those. Comparing text is cheap for hundreds of other modules.
    """

    def __init__(self, root: str) -> None:
        self.roots = tuple({name.rstrip("/") + "/" for name in (root, os.path.realpath(root))})

    def has(self, path: str) -> bool:
        return path.startswith(self.roots) and not path.startswith(INSTALLED)

    def relative(self, path: str) -> str:
        """The path from the folder; empty for a file outside it."""
        return next((path[len(root) :] for root in self.roots if path.startswith(root)), "")


def distrust(root: str, *, fresh: bool = False) -> None:
    """Ignores doubtful caches of the files below `root`."""
    own = OwnFiles(root)
    external: Any = importlib.import_module("importlib._bootstrap_external")
    original = external.cache_from_source

    def cache_from_source(path: str, *args: Any, **kwargs: Any) -> str:
        cached = str(original(path, *args, **kwargs))
        if own.has(path) and (fresh or _is_doubtful(path, cached)):
            raise NotImplementedError  # the import system reads this as "there is no cache"
        return cached

    external.cache_from_source = cache_from_source
    if fresh:
        sys.dont_write_bytecode = True
        _refuse_sourceless(external.SourcelessFileLoader, own)


def _refuse_sourceless(loader: Any, own: OwnFiles) -> None:
    original = loader.get_code

    def get_code(self: Any, name: str) -> Any:
        if own.has(self.path):
            raise ImportError(f"{self.path} is bytecode without its source: no verdict runs that", name=name)
        return original(self, name)

    loader.get_code = get_code


def distrust_rewritten(root: str, rewrite: Any, *, fresh: bool = False) -> None:
    """Does the same for pytest's own cache of rewritten tests and plugins.

    A verdict reads nothing of it. An installed plugin that would have to be rewritten is loaded as it is:
    rewriting takes longer than many suites, and only improves the messages of the plugin's own assertions.
    """
    own = OwnFiles(root)
    original = getattr(rewrite, "_read_pyc", None)
    if original is None:
        return

    def read(source: Any, pyc: Any, *args: Any, **kwargs: Any) -> Any:
        if fresh or (own.has(str(source)) and _is_doubtful(str(source), str(pyc))):
            return None
        return original(source, pyc, *args, **kwargs)

    rewrite._read_pyc = read  # noqa: SLF001 - the only place where the cache is read
    _rewrite_no_installed(rewrite, fresh=fresh)


def _rewrite_no_installed(rewrite: Any, *, fresh: bool) -> None:
    hook = rewrite.AssertionRewritingHook
    original = hook.find_spec

    def find_spec(self: Any, name: str, path: Any = None, target: Any = None) -> Any:
        spec = original(self, name, path, target)
        if spec is None or not str(spec.origin).startswith(INSTALLED):
            return spec
        return None if fresh or not _is_rewritten(spec.origin, rewrite) else spec

    hook.find_spec = find_spec


def _is_rewritten(source: str, rewrite: Any) -> bool:
    from pathlib import Path

    file = Path(source)
    cached: Path = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
    return cached.exists()


def _is_doubtful(source: str, cached: str) -> bool:
    """Whether the cache is not newer than its source by a whole second."""
    try:
        return int(os.stat(cached).st_mtime) <= int(os.stat(source).st_mtime)  # noqa: PTH116
    except OSError:
        return False


TEXTS: dict[str, bytes] = {}
"""The withheld texts that were not imported yet, by absolute path."""


def withhold_texts(settings: dict[str, Any]) -> None:
    """Takes the withheld texts into memory and empties their files. The tree must be disposable."""
    for path in settings.pop("withheld", ()):
        name = os.path.join(settings["worktree"], path)  # noqa: PTH118 - as everywhere here
        with open(name, "r+b") as file:  # noqa: PTH123
            TEXTS[os.path.realpath(name)] = file.read()
            file.truncate(0)
    if TEXTS:
        external: Any = importlib.import_module("importlib._bootstrap_external")
        _give_to_loader(external.FileLoader)


def give_to_pytest(rewrite: Any, settings: dict[str, Any]) -> None:
    """Gives withheld texts to pytest, which reads test files itself to rewrite their assertions.

    That happens in this process, or in one that is forked from it.
    """
    original = getattr(rewrite, "_rewrite_test", None)  # the only place where pytest reads tests
    if original is None or not (TEXTS or "withheld" in settings):
        return

    def rewrite_test(fn: Any, config: Any) -> Any:
        source = TEXTS.pop(os.path.realpath(fn), None)
        if source is None:
            return original(fn, config)
        tree = ast.parse(source, filename=str(fn))
        rewrite.rewrite_asserts(tree, source, str(fn), config)
        return os.stat(fn), compile(tree, str(fn), "exec", dont_inherit=True)  # noqa: PTH116

    rewrite._rewrite_test = rewrite_test  # noqa: SLF001 - same


def _give_to_loader(loader: Any) -> None:
    original = loader.get_data

    def get_data(self: Any, path: str) -> bytes:
        source = TEXTS.pop(os.path.realpath(path), None)
        return original(self, path) if source is None else source

    loader.get_data = get_data
