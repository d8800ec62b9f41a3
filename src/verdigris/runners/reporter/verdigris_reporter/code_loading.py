"""Which text of a file the interpreter runs: no outdated cache, and a withheld text from memory.

Python takes a cache for valid when source size and modification time, in whole seconds, are as they were. An
edit of the same size within that second goes unseen, and a verdict would be about the code before. Such a
cache was written within the same second as its source: it is not used. A verdict (`fresh`) uses none at all,
since whoever writes the project's folders can write other code under the header of the right one.

Withheld test files are emptied before code of the project is loaded, which is not to read them. Their texts
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


def distrust(root: str, *, fresh: bool = False) -> None:
    """Distrusts what lies below `root`, except installed packages, whose files are not edited by hand."""
    below = _spellings(root)
    external: Any = importlib.import_module("importlib._bootstrap_external")
    original = external.cache_from_source

    def cache_from_source(path: str, *args: Any, **kwargs: Any) -> str:
        cached = str(original(path, *args, **kwargs))
        if _is_edited_by_hand(path, below) and (fresh or _doubtful(path, cached)):
            raise NotImplementedError  # which the import system takes for "there is no cache"
        return cached

    external.cache_from_source = cache_from_source
    if fresh:
        sys.dont_write_bytecode = True
        _refuse_sourceless(external.SourcelessFileLoader, below)


def _refuse_sourceless(loader: Any, below: tuple[str, ...]) -> None:
    original = loader.get_code

    def get_code(self: Any, name: str) -> Any:
        if _is_edited_by_hand(self.path, below):
            raise ImportError(f"{self.path} is bytecode without its source: no verdict runs that", name=name)
        return original(self, name)

    loader.get_code = get_code


def distrust_rewritten(root: str, rewrite: Any, *, fresh: bool = False) -> None:
    """The same for pytest's own cache of rewritten tests and plugins.

    A verdict reads none of it. Plugins of the environment, where they would have to be rewritten anew, load
    as all other modules do: it takes longer than many a suite, for the wording of their own assertions.
    """
    below = _spellings(root)
    original = getattr(rewrite, "_read_pyc", None)
    if original is None:
        return

    def read(source: Any, pyc: Any, *args: Any, **kwargs: Any) -> Any:
        if fresh or (_is_edited_by_hand(str(source), below) and _doubtful(str(source), str(pyc))):
            return None
        return original(source, pyc, *args, **kwargs)

    rewrite._read_pyc = read  # noqa: SLF001 - the only place where it is read
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


def _spellings(root: str) -> tuple[str, ...]:
    """A plain comparison will do, and costs nothing for the hundreds of modules that lie elsewhere."""
    return tuple({name.rstrip("/") + "/" for name in (root, os.path.realpath(root))})


def _is_edited_by_hand(path: str, below: tuple[str, ...]) -> bool:
    return path.startswith(below) and not path.startswith(INSTALLED)


def _doubtful(source: str, cached: str) -> bool:
    try:
        return int(os.stat(cached).st_mtime) <= int(os.stat(source).st_mtime)  # noqa: PTH116
    except OSError:
        return False


TEXTS: dict[str, bytes] = {}
"""By absolute path; those that were not imported yet."""


def take(settings: dict[str, Any]) -> None:
    """The tree must be disposable."""
    for path in settings.pop("withheld", ()):
        name = os.path.join(settings["worktree"], path)  # noqa: PTH118 - as everywhere here
        with open(name, "r+b") as file:  # noqa: PTH123
            TEXTS[os.path.realpath(name)] = file.read()
            file.truncate(0)
    if TEXTS:
        external: Any = importlib.import_module("importlib._bootstrap_external")
        _give_to_loader(external.FileLoader)


def give_to_pytest(rewrite: Any, settings: dict[str, Any]) -> None:
    """It reads the tests itself, to rewrite their assertions: here, or in a process that branches off."""
    original = getattr(rewrite, "_rewrite_test", None)  # the only place where they are read
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
