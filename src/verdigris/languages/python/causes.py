"""Reads from an error why the tests of a Python project do not run, and names the cure."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.core.confinement.needs import ELSEWHERE
from verdigris.core.suite_health import AGAIN, Hindrance
from verdigris.languages.python.manifests import is_declared, pytest_setting, settings_of

if TYPE_CHECKING:
    from verdigris.languages.findings import StackFacts

_NO_MODULE = re.compile(r"No module named '?([\w.]+)")
_NO_METADATA = re.compile(r"No package metadata was found for ([\w.-]+)")
_NO_SETTINGS = re.compile(r"DJANGO_SETTINGS_MODULE|settings are not configured")
_NO_DJANGO = "Couldn't import Django"
"""The words of every `manage.py`."""


def find_cause(runner: str, kind: str, text: str, facts: StackFacts) -> Hindrance | None:
    if kind == ELSEWHERE:
        return _copied(text, facts, runner)
    if kind == "NoPytest":
        return _lacks(f"{text.partition(': ')[0]} has no pytest", facts.install("pytest"))
    if _NO_DJANGO in text:
        return _lacks("Django is not installed", facts.install("") or facts.install("django"))
    if kind == "ImproperlyConfigured" or _NO_SETTINGS.search(text):
        return _unconfigured(facts, runner) if (facts.home / "manage.py").is_file() else None
    if match := _NO_METADATA.search(text):
        return _lacks(f"{match[1]} is not installed, and the code asks for its version", facts.install(""))
    missing = (match[1] for match in _NO_MODULE.finditer(text))
    return next(filter(None, (_unresolved(name, facts, runner) for name in missing)), None)


def _lacks(what: str, install: str) -> Hindrance | None:
    return Hindrance(what, f"`{install}`, {AGAIN}") if install else None


def _unconfigured(facts: StackFacts, runner: str) -> Hindrance | None:
    settings = settings_of(facts.home)
    if not settings:
        return None
    cure = "a person writes `runner: django` in tdd.yaml"
    if runner == "pytest":
        line = pytest_setting(facts.home, "DJANGO_SETTINGS_MODULE", (settings,))
        cure = f"write {line}, for pytest-django; or {cure}"
    return Hindrance("no test tool sets up Django here", f"{cure}; {AGAIN}")


def _unresolved(module: str, facts: StackFacts, runner: str) -> Hindrance | None:
    folder = find_folder(module, facts)
    top = module.partition(".")[0]
    if folder is None:
        if not is_declared(facts.home, top):
            return None
        return _lacks(f"{top} is a dependency that is not installed", facts.install(""))
    where = posixpath.normpath(posixpath.join(facts.root, folder))
    what = f"{module} in {'the root' if where == '.' else f'{where}/'} cannot be imported"
    return Hindrance(what, _put_on_path(folder, facts, runner))


def _copied(text: str, facts: StackFacts, runner: str) -> Hindrance | None:
    """An installed copy of the project's module was loaded, so edits of the project show nothing."""
    path = text.rpartition(" instead of ")[2]
    below = "" if facts.root in {"", "."} else f"{facts.root}/"
    if path not in facts.files or not path.startswith(below):
        return None
    folder = posixpath.dirname(path)
    while f"{folder}/__init__.py" in facts.files:
        folder = posixpath.dirname(folder)
    cure = _put_on_path(folder.removeprefix(below.rstrip("/")).strip("/") or ".", facts, runner)
    return Hindrance(f"the tests load {text}", cure, elsewhere=True)


def _put_on_path(folder: str, facts: StackFacts, runner: str) -> str:
    install = facts.install("")
    if runner == "pytest":
        line = f"write {pytest_setting(facts.home, 'pythonpath', (folder,))}"
        return f"{line} (or `{install}`), {AGAIN}" if install else f"{line}, {AGAIN}"
    if install:
        return f"`{install}`, {AGAIN}"
    return f"a person writes `room: {{env: [PYTHONPATH={folder}]}}` in tdd.yaml, {AGAIN}"


def find_folder(module: str, facts: StackFacts) -> str | None:
    """The folder, in the stack, from which a module of the project could be imported; None if it has none."""
    inner = module.replace(".", "/")
    below = "" if facts.root in {"", "."} else f"{facts.root}/"
    own = {f"/{path.removeprefix(below)}" for path in facts.files if path.startswith(below)}
    ends = (f"/{inner}.py", f"/{inner}/__init__.py")
    folders = {path[: -len(end)] for path in own for end in ends if path.endswith(end)}
    if any(path.startswith(f"/src/{inner}/") for path in own):
        folders.add("/src")
    # A file inside a package is no module of its own: there the import is wrong, not the path.
    roots = [folder for folder in folders if f"{folder}/__init__.py" not in own]
    nearest = min(roots, key=lambda folder: (folder.count("/"), folder), default=None)
    return None if nearest is None else nearest[1:] or "."
