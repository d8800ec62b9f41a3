"""Builds what the stacks of a commit need; for Python by uv, from a lock or as of the commit's month."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verdigris.core.errors import ToolMissing
from verdigris.core.languages import runners_of
from verdigris.core.value import replace, value
from verdigris.drivers.answer_keys import key_of
from verdigris.drivers.audit.tree_runs.environment import (
    LOCK,
    BuildRequest,
    InstallCall,
    build_once,
    call_tool,
)
from verdigris.drivers.audit.tree_runs.folder import AuditFolder
from verdigris.drivers.audit.tree_runs.node_packages import install_node
from verdigris.drivers.audit.units import Unit
from verdigris.execution.tools.interpreter import find_interpreter
from verdigris.languages.registry import language_named
from verdigris.runners.registry import kind_of
from verdigris.storage.project import Project, texts_at

_UV = "uv"
_ASKING = re.compile(
    r"(?:pyproject\.toml|setup\.(?:py|cfg)|[\w.-]*requirements[\w./-]*\.(?:txt|in)|requirements/[\w.-]+\.txt)"
)
_UV_LOCK, _PYLOCK, _OTHER_LOCKS = "uv.lock", "pylock.toml", ("poetry.lock", "pdm.lock")
_PYTHON_LOCKS = (_UV_LOCK, _PYLOCK, *_OTHER_LOCKS)
_FOR_TESTS = re.compile(r"tests?|testing|dev|develop(?:ment)?")
_LOCKED = "locked.txt"


@value
class Wishes:
    """The requirements in the files of a commit."""

    texts: Mapping[str, str]
    """By path from the stack's folder; a lock has its name alone, in whichever folder above it lies."""
    date: str = ""
    """No release after this day is taken; empty if there is a lock."""

    @property
    def lock(self) -> str:
        """The lock that decides; empty if there is none."""
        return next((name for name in _PYTHON_LOCKS if name in self.texts), "")


def build_environment(project: Project, folder: AuditFolder, unit: Unit, env: str) -> tuple[Project, str]:
    """Builds what the stacks of a commit need. Returns the project that runs in it, and its key.

    Raises a UserError if it cannot be built.
    """
    stacks, keys = [], []
    lent: tuple[tuple[str, str], ...] = ()
    for stack in project.settings.stacks:
        asked = BuildRequest(project, folder, unit, stack)
        language = language_named(stack.language)
        if language.project.has_interpreter:
            key, python = install_python(asked)
            stacks.append(replace(stack, python=python))
            keys.append(key)
            continue
        stacks.append(stack)
        if env == LOCK and language.project.packages_folder:
            key, packages = install_node(asked)
            keys.append(key)
            lent += tuple(one for one in packages if one not in lent)
    settings = replace(project.settings, stacks=tuple(stacks))
    view = project.view and replace(project.view, lent=lent)
    named = "-".join((env, *(key[:12] for key in dict.fromkeys(keys))))
    return replace(project, settings=settings, view=view), named


def find_uv() -> str:
    found = shutil.which(_UV) or shutil.which(_UV, path=str(Path(sys.executable).parent))
    if found is None:
        raise ToolMissing(
            "Python environments are built with uv, and there is none here",
            hint="`pip install uv`, or leave `--env` out: then the tests run in your present environment",
        )
    return found


def install_python(asked: BuildRequest) -> tuple[str, str]:
    """Returns the key of the environment, and its interpreter."""
    uv = find_uv()
    project = asked.project
    wishes = _read_wishes(asked)
    base = find_interpreter(
        project.root / asked.stack.root,
        project.root,
        None,
        os.environ,
        project.repo.private / "interpreters.json",
    )
    version = base.places.cache_tag if base.places else ""
    key = key_of(wishes.texts, wishes.date, version)
    place = build_once(
        asked.folder, key, lambda place: _fill_python(_Uv(asked, uv, place), wishes, str(base.path))
    )
    return key, str(place / "bin" / "python")


def _read_wishes(asked: BuildRequest) -> Wishes:
    project, tree, home = asked.project, asked.unit.after, asked.home
    paths = {entry.path for entry in project.workspace.files(tree)}
    asking = [path for path in paths if path.startswith(home) and _ASKING.fullmatch(path.removeprefix(home))]
    texts = {path.removeprefix(home): text for path, text in texts_at(project, tree, sorted(asking)).items()}
    locks = (f"{folder}{name}" for folder in asked.upwards() for name in _PYTHON_LOCKS)
    lock = next((path for path in locks if path in paths), None)
    if lock is not None:
        texts |= {lock.rpartition("/")[2]: text for text in texts_at(project, tree, [lock]).values()}
        return Wishes(texts)
    # The end of the month, so that neighbouring commits share an environment.
    date = asked.unit.commit.date
    return Wishes(texts, f"{date[:7]}-28" if date else "")


class _Uv:
    """Runs uv in a room that shows the commit."""

    def __init__(self, asked: BuildRequest, uv: str, place: Path) -> None:
        self.asked = asked
        self.uv = uv
        self.place = place

    def call(self, *words: str) -> str | None:
        """Returns None if it succeeded, else the last line that it printed."""
        cache = self.asked.folder.path / "uv-cache"
        env = {
            "UV_CACHE_DIR": str(cache),
            "UV_PROJECT_ENVIRONMENT": str(self.place),
            "VIRTUAL_ENV": str(self.place),
            "SETUPTOOLS_SCM_PRETEND_VERSION": "0.0.0",
        }
        cwd = self.asked.project.root / self.asked.stack.root
        said = call_tool(
            self.asked.project, InstallCall((self.uv, *words), cwd, env, writable=(self.place, cache))
        )
        return None if said is None else said.splitlines()[-1].strip()


def _fill_python(uv: _Uv, wishes: Wishes, python: str) -> str | None:
    install = ("pip", "install", "--quiet", "--python", str(uv.place / "bin" / "python"))
    until = ("--exclude-newer", wishes.date) if wishes.date else ()
    failed = uv.call("venv", "--quiet", "--allow-existing", "--python", python, str(uv.place))
    if wishes.lock == _UV_LOCK:
        words = ("sync", "--frozen", "--quiet", "--no-install-project", "--python", python)
        failed = failed or uv.call(*words, *_words_for_tests(wishes))
    elif wishes.lock:
        listed = uv.place / _LOCKED
        listed.write_text("".join(f"{line}\n" for line in list_locked(wishes.texts[wishes.lock])), "utf-8")
        failed = failed or uv.call(*install, "--no-deps", "-r", str(listed))
    # A project that does not name the usual test tool may still be tested by it.
    usual = kind_of(runners_of(uv.asked.stack.language)[0]).package
    failed = failed or uv.call(*install, *until, *(() if wishes.lock else list_words(wishes)), usual)
    if not failed and {"pyproject.toml", "setup.py"} & wishes.texts.keys():
        # For its metadata. Its modules come from the commit, so a failure does not matter.
        uv.call(*install, *until, "--no-deps", ".")
    return failed


def list_words(wishes: Wishes) -> list[str]:
    """Returns the options by which uv installs the requirements of the project and of its tests."""
    words: list[str] = []
    if isinstance(_read_toml(wishes.texts.get("pyproject.toml", "")).get("project"), dict):
        words += ["-r", "pyproject.toml"]
    elif "setup.py" in wishes.texts:
        words += ["-r", "setup.py"]
    words += _words_for_tests(wishes)
    for path in wishes.texts:
        stem = re.split(r"[/._-]", path)
        if path.endswith(".txt") and (path == "requirements.txt" or any(map(_FOR_TESTS.fullmatch, stem))):
            words += ["-r", path]
    return words


def _words_for_tests(wishes: Wishes) -> list[str]:
    """Returns options for the extras and groups that a project keeps for its tests."""
    document = _read_toml(wishes.texts.get("pyproject.toml", ""))
    table = document.get("project")
    extras = table.get("optional-dependencies") if isinstance(table, dict) else None
    groups = document.get("dependency-groups")
    words = [w for name in extras or () if _FOR_TESTS.fullmatch(name) for w in ("--extra", name)]
    return words + [w for name in groups or () if _FOR_TESTS.fullmatch(name) for w in ("--group", name)]


def list_locked(text: str) -> list[str]:
    """Returns each package of a lock of Poetry, PDM or PEP 751 as a requirement, since uv does not read them.

    Packages of extras, and packages in folders of the project, are left out.
    """
    document = _read_toml(text)
    packages = document.get("package") or document.get("packages") or ()
    found = (_require(one) for one in packages if isinstance(one, dict) and not one.get("optional"))
    return list(dict.fromkeys(line for line in found if line))


def _require(package: Mapping[str, Any]) -> str:
    name, version = package.get("name"), package.get("version")
    marker = package.get("marker") or package.get("markers")
    under = f" ; {marker}" if isinstance(marker, str) else ""
    match _origin(package):
        case {"path": _} | {"type": "directory" | "file"}:
            return ""
        case {"url": str(url), **rest} if rest.get("type") == "git" or "revision" in rest:
            return f"{name} @ git+{url}@{rest.get('revision') or rest.get('resolved_reference')}{under}"
        case {"url": str(url), "type": "url"}:
            return f"{name} @ {url}{under}"
        case _:
            return f"{name}=={version}{under}" if name and version else ""


def _origin(package: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns where the package comes from, or nothing of use if that is a registry."""
    if "git" in package:
        return {"url": package["git"], "revision": package.get("revision", "HEAD")}
    if isinstance(package.get("vcs"), dict):
        return {"url": package["vcs"].get("url"), "revision": package["vcs"].get("commit-id", "HEAD")}
    told = package.get("source") or package.get("directory") or package
    return told if isinstance(told, dict) else {}


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
