"""Installs the Node packages that a commit's own files name, with the tool that wrote its lock."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from verdigris.core.errors import ToolMissing
from verdigris.core.value import value
from verdigris.drivers.answer_keys import key_of
from verdigris.drivers.audit.tree_runs.environment import BuildRequest, InstallCall, build_once, call_tool
from verdigris.execution.process import Command, run
from verdigris.execution.tools.node import NODE
from verdigris.execution.tools.registry import program
from verdigris.storage.project import texts_at

_MANIFEST, _FOLDER = "package.json", "node_modules"
_TELLING = frozenset({_MANIFEST, "pnpm-workspace.yaml", ".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml"})
_CLASSIC = "# yarn lockfile v1"
_NODE_LOCKS = (
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
)
_SCRIPTLESS = "--ignore-scripts"
"""A project's own install script may need all of its files, and would then depend on each of them."""
_CODE = re.compile(r"^(?:npm )?(?:error|ERR!) ?(?:code [A-Z0-9]+)?$|complete log of this run")
_ERROR = re.compile(r"(?:npm )?(?:error|ERR!)|ERR_|\berror\b", re.IGNORECASE)
_PROMPT = 10.0


@value
class Installer:
    """The tool of a lock file."""

    tool: str
    install: tuple[str, ...]
    rebuild: tuple[str, ...] = ()
    """Runs the install scripts of packages, and not those of the project."""


def choose_installer(lock: str, text: str, date: str) -> Installer:
    """`text`: of the lock. Without a lock, releases up to that date are taken."""
    npm = ("--no-audit", "--no-fund", _SCRIPTLESS)
    match lock:
        case "pnpm-lock.yaml":
            return Installer("pnpm", ("install", "--frozen-lockfile", _SCRIPTLESS), ("rebuild",))
        case "yarn.lock" if _CLASSIC in text:
            return Installer("yarn", ("install", "--frozen-lockfile", "--non-interactive", _SCRIPTLESS))
        case "yarn.lock":
            return Installer("yarn", ("install", "--immutable", "--mode=skip-build"), ("rebuild",))
        case "bun.lock" | "bun.lockb":
            return Installer("bun", ("install", "--frozen-lockfile", _SCRIPTLESS))
        case "":
            before = ("--before", date) if date else ()
            return Installer("npm", ("install", "--no-package-lock", *before, *npm), ("rebuild",))
        case _:
            return Installer("npm", ("ci", *npm), ("rebuild",))


def install_node(asked: BuildRequest) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Returns the key of the environment, and its folders, each with the path at which a run finds it."""
    node = program("node", os.environ, NODE)
    project, tree = asked.project, asked.unit.after
    paths = sorted(entry.path for entry in project.workspace.files(tree))
    home, lock = find_lock(asked, paths)
    telling = [path for path in paths if path.startswith(home) and path.rpartition("/")[2] in _TELLING]
    texts = texts_at(project, tree, [*telling, *([f"{home}{lock}"] if lock else [])])
    date = asked.unit.commit.date
    installer = choose_installer(lock, texts.get(f"{home}{lock}", ""), "" if lock else f"{date[:7]}-28")
    key = key_of(home, texts, installer.install, _version(node, project.root))
    members = list_members(home, telling, texts)
    place = build_once(asked.folder, key, lambda place: _fill_node(asked, installer, home, members, place))
    made = ((str(place / member / _FOLDER), f"{member}{_FOLDER}") for member in members)
    return key, tuple((folder, path) for folder, path in made if any(Path(folder).iterdir()))


def find_lock(asked: BuildRequest, paths: Iterable[str]) -> tuple[str, str]:
    """Returns folder and name of the nearest lock file; without one, the nearest folder with a manifest."""
    known = frozenset(paths)
    for folder in asked.upwards():
        for name in _NODE_LOCKS:
            if f"{folder}{name}" in known:
                return folder, name
    return next((folder for folder in asked.upwards() if f"{folder}{_MANIFEST}" in known), asked.home), ""


def list_members(home: str, telling: Iterable[str], texts: Mapping[str, str]) -> tuple[str, ...]:
    """Returns folders that may get their own packages: the lock's, and those of its workspace."""
    try:
        shared = "workspaces" in json.loads(texts.get(f"{home}{_MANIFEST}", "{}"))
    except ValueError:
        shared = False
    if not shared and f"{home}pnpm-workspace.yaml" not in texts:
        return (home,)
    manifests = (path for path in telling if path.rpartition("/")[2] == _MANIFEST)
    return tuple(dict.fromkeys((home, *(path.removesuffix(_MANIFEST) for path in manifests))))


def _fill_node(
    asked: BuildRequest, installer: Installer, home: str, members: tuple[str, ...], place: Path
) -> str | None:
    tool = shutil.which(installer.tool)
    if tool is None:
        raise ToolMissing(
            f"its environment cannot be built: its lock file is one of {installer.tool}, which is not here",
            hint=f"install {installer.tool}, or leave `--env` out: then the worktree has the packages",
        )
    root = asked.project.root
    for member in members:
        (place / member / _FOLDER).mkdir(parents=True)
    placed = tuple((str(place / member / _FOLDER), str(root / member / _FOLDER)) for member in members)
    cache = asked.folder.path / "node-cache"
    env = {
        "npm_config_cache": str(cache / "npm"),
        "npm_config_store_dir": str(cache / "pnpm"),
        "YARN_CACHE_FOLDER": str(cache / "yarn"),
        "YARN_GLOBAL_FOLDER": str(cache / "berry"),
        "YARN_ENABLE_GLOBAL_CACHE": "false",
        "YARN_NODE_LINKER": "node-modules",
        "BUN_INSTALL_CACHE_DIR": str(cache / "bun"),
        "CI": "true",
    }
    # A room has another HOME.
    settings = Path(os.environ.get("HOME", ""), ".npmrc")
    given = {"npm_config_userconfig": str(settings)} if settings.is_file() else {}
    call = InstallCall((tool, *installer.install), root / home, env | given, (cache,), placed)
    said = call_tool(asked.project, call)
    if said is None and installer.rebuild:
        # Without the user's configuration, so that scripts of packages find no key to a registry.
        call = InstallCall((tool, *installer.rebuild), root / home, env, (cache,), placed)
        said = call_tool(asked.project, call)
    return None if said is None else tell_failure(installer.tool, said)


def tell_failure(tool: str, said: str) -> str:
    """Returns the line that names the error; npm begins with a code and ends with the path of its log."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if _ERROR.search(line) and not _CODE.search(line)]
    line = (telling or lines)[0]
    return line if tool in line else f"{tool}: {line}"


def _version(node: str, root: Path) -> str:
    done = run(Command((node, "--version"), root, dict(os.environ)), timeout=_PROMPT)
    return done.output.decode("utf-8", "replace").strip()
