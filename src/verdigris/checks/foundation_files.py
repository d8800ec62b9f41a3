"""Lists the files that run below the tests: of the interpreter, of test tools, of loaded packages."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError, ToolMissing
from verdigris.core.paths import PathClass
from verdigris.languages.folders import walk_tree
from verdigris.languages.registry import language_for, language_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.core.paths import Entry
    from verdigris.core.settings import Stack
    from verdigris.execution.interpreter import InterpreterPlaces
    from verdigris.storage.project import Project


RUNNER = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "exceptiongroup", "tomli")
"""Modules of the runner's distribution and of what it needs to start."""
CUSTOM = ("sitecustomize", "usercustomize")
_START_UP = ("__editable__", *(f"{name}." for name in CUSTOM))
_CODE = (".py", ".so", ".pyd", ".pyc")
_PLUGINS = "[pytest11]"


TICK = 100_000_000
"""Nanoseconds within which a path may change twice and show one stamp."""
_KNOWN: dict[tuple[object, ...], tuple[dict[str, tuple[int, ...] | None], frozenset[str]]] = {}
"""Answers that this process has given, with the stamps of all that each of them rests on."""


def interpreter_files(places: InterpreterPlaces, env: Mapping[str, str]) -> frozenset[str]:
    """One command asks several times: nothing is listed again whose folders and files are as they were."""
    on_path = tuple(entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry)
    key = (places.prefix, places.library, *places.packages, places.cache_tag, on_path)
    known = _KNOWN.get(key)
    if known is not None and all(_stamp(path) == stamp for path, stamp in known[0].items()):
        return known[1]
    look = _Look()
    found = frozenset(_interpreter_files(look, places, on_path))
    if look.is_settled():
        _KNOWN[key] = look.stamps, found
    return found


class _Look:
    """Reads files and folders, and records their stamps before it does."""

    def __init__(self) -> None:
        self.stamps: dict[str, tuple[int, ...] | None] = {}

    def names(self, folder: str) -> list[str]:
        self._record(folder)
        try:
            return os.listdir(folder)  # noqa: PTH208 - hundreds of names, and only names are wanted
        except OSError:
            return []

    def entries(self, folder: str) -> list[os.DirEntry[str]]:
        self._record(folder)
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return []
        for entry in entries:
            if entry.is_symlink():
                self._record(entry.path)
        return entries

    def lines(self, file: str) -> list[str]:
        self._record(file)
        try:
            with open(file, encoding="utf-8", errors="surrogateescape") as opened:  # noqa: PTH123 - as above
                return [line.strip() for line in opened]
        except OSError:
            return []

    def is_settled(self) -> bool:
        """No program can set a change time; one that is fresh could stand for two changes."""
        now = time.time_ns()
        return all(stamp is None or stamp[0] < now - TICK for stamp in self.stamps.values())

    def _record(self, path: str) -> None:
        self.stamps.setdefault(path, _stamp(path))


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - hundreds of them
    except OSError:
        return None
    return status.st_ctime_ns, status.st_mtime_ns, status.st_ino, status.st_dev, status.st_size


def _interpreter_files(look: _Look, places: InterpreterPlaces, on_path: tuple[str, ...]) -> set[str]:
    found = {f"{places.prefix}/pyvenv.cfg"}
    modules = set(RUNNER)
    started = [*on_path, places.library]
    for folder in places.packages:
        names = look.names(folder)
        found.update(f"{folder}/{n}" for n in names if n.endswith(".pth") or n.startswith(_START_UP))
        modules.update(
            _plugins(look, (f"{folder}/{n}/entry_points.txt" for n in names if n.endswith("-info")))
        )
        started += [folder, *_pth_folders(look, folder, names)]
    for folder in started:
        found.update(f"{folder}/{name}{end}" for name in CUSTOM for end in (".py", "/__init__.py"))
    found.update(_code(look, f"{places.library}/unittest", places.cache_tag))
    for folder in places.packages:
        for module in modules:
            found.update(_code(look, f"{folder}/{module}", places.cache_tag))
    return found


def _plugins(look: _Look, files: Iterable[str]) -> Iterator[str]:
    """Top-level modules of the plugins that the runner loads by itself."""
    for file in files:
        within = False
        for line in look.lines(file):
            if line.startswith("["):
                within = line == _PLUGINS
            elif within and "=" in line:
                yield line.partition("=")[2].strip().split(":")[0].split(".")[0]


def _pth_folders(look: _Look, folder: str, names: Iterable[str]) -> Iterator[str]:
    """Folders that `.pth` files put on the path, where start-up modules are looked for too."""
    for name in names:
        if name.endswith(".pth"):
            yield from (
                os.path.join(folder, line)  # noqa: PTH118 - text in, text out
                for line in look.lines(f"{folder}/{name}")
                if line and not line.startswith(("#", "import ", "import\t"))
            )


def package_files(module: str) -> Iterator[str]:
    """A module's file, or all code of a package, whichever is there."""
    yield from (path for path in (f"{module}.py",) if os.path.isfile(path))  # noqa: PTH113 - text in, text out
    yield from _package(_Look(), module, "")


def _code(look: _Look, module: str, cache_tag: str) -> Iterator[str]:
    """A module's file, or all of a package's; bytecode only as this interpreter would load it."""
    yield f"{module}.py"
    folder, _, name = module.rpartition("/")
    yield from _caches(look, folder, cache_tag, only=f"{name}.")
    yield from _package(look, module, cache_tag)


def _package(look: _Look, folder: str, cache_tag: str) -> Iterator[str]:
    for entry in look.entries(folder):
        if entry.name == "__pycache__":
            yield from _caches(look, folder, cache_tag) if cache_tag else ()
        elif entry.is_dir():
            yield from _package(look, entry.path, cache_tag)
        elif entry.name.endswith(_CODE):
            yield entry.path


def _caches(look: _Look, folder: str, cache_tag: str, only: str = "") -> Iterator[str]:
    """Lists cached byte code but what pytest rewrote: a verdict does not read that."""
    for name in look.names(f"{folder}/__pycache__"):
        if name.startswith(only) and f".{cache_tag}." in name and "-pytest-" not in name:
            yield f"{folder}/__pycache__/{name}"


_PACKAGE_CODE = (".js", ".cjs", ".mjs", ".json", ".node", ".wasm")
_MODULES = "node_modules"
_KEPT = (".pnpm", ".bin")
_COMPILERS = ("cargo", "rustc", "rustdoc")


def tool_files(stack: Stack, root: Path, environ: Mapping[str, str]) -> frozenset[str]:
    """None where the tool is missing; dependencies of the project itself are not among them."""
    from verdigris.execution.tools.call import find_tool
    from verdigris.runners.cargo import CargoRunner
    from verdigris.runners.gotest import GoRunner

    try:
        tools = find_tool(stack, root, environ)
    except (ConfigError, ToolMissing):
        return frozenset()
    programs = {path for path in tools.programs[:1] if os.access(path, os.X_OK)}
    if tools.package:
        return frozenset(programs.union(_packages(Path(tools.package), root)))
    match tools.runner:
        case CargoRunner():
            return frozenset(programs.union(_rust(tools.env)))
        case GoRunner(go=go):
            return frozenset(programs.union(_go(Path(go).resolve().parents[1])))
    return frozenset(programs)


def _packages(script: Path, root: Path) -> Iterator[str]:
    """The runner's package and all that it depends on, each where node would find it."""
    waiting = [_package_of(script)]
    seen: set[str] = set()
    while waiting:
        package = waiting.pop()
        if package in seen:
            continue
        seen.add(package)
        yield from package_code(package)
        waiting += filter(None, (found_package(name, package, str(root)) for name in _dependencies(package)))


def _package_of(script: Path) -> str:
    return os.path.realpath(next(folder for folder in script.parents if folder.parent.name == _MODULES))


def _dependencies(package: str) -> Iterable[str]:
    try:
        described = json.loads(Path(package, "package.json").read_bytes())
        return [*described.get("dependencies", {}), *described.get("optionalDependencies", {})]
    except (OSError, ValueError, AttributeError, TypeError):
        return ()


def found_package(name: str, package: str, root: str) -> str | None:
    """Looks in its own folder, and in those above it, up to the worktree's root."""
    folder = package
    while True:
        beside = folder if folder.endswith(f"/{_MODULES}") else f"{folder}/{_MODULES}"
        if os.path.isdir(f"{beside}/{name}"):  # noqa: PTH112 - thousands of them
            return os.path.realpath(f"{beside}/{name}")
        if folder in {root, "/"}:
            return None
        folder = os.path.dirname(folder)  # noqa: PTH120 - as above


def package_code(top: str) -> Iterator[str]:
    for folder, folders, files in walk_tree(top):
        folders[:] = [name for name in folders if name != _MODULES]
        for path in (f"{folder}/{name}" for name in files):
            if path.endswith(_PACKAGE_CODE) or (
                "." not in path.rpartition("/")[2] and os.access(path, os.X_OK)
            ):
                yield path


def arrivals(project: Project, since: int) -> frozenset[str]:
    """Code in a Node stack's packages that came or changed since: whatever source imports, it finds there."""
    homes = {
        project.root / stack.root
        for stack in project.settings.stacks
        if language_named(stack.language).packages_folder
    }
    folders = {f"{home}/{_MODULES}" for folder in homes for home in (folder, project.root)}
    return frozenset(path for folder in folders for path in _newer_code(folder, since))


def _newer_code(top: str, since: int) -> Iterator[str]:
    """Leaves out folders of tools' caches, which a verdict does not see."""
    for folder, folders, files in walk_tree(top):
        folders[:] = [name for name in folders if not name.startswith(".") or name in _KEPT]
        for path in (f"{folder}/{name}" for name in files if name.endswith(_PACKAGE_CODE)):
            if os.lstat(path).st_ctime_ns > since:
                yield path


def _rust(env: Mapping[str, str]) -> Iterator[str]:
    """Lists every toolchain: folders and variables decide which one runs."""
    if home := env.get("CARGO_HOME"):
        yield from (f"{home}/{name}" for name in ("config", "config.toml"))
    if rustup := env.get("RUSTUP_HOME"):
        yield f"{rustup}/settings.toml"
        for toolchain in sorted(Path(rustup, "toolchains").glob("*")):
            yield from (f"{toolchain}/bin/{name}" for name in _COMPILERS)


def _go(installed: Path) -> Iterator[str]:
    yield f"{installed}/VERSION"
    yield from map(str, installed.glob("pkg/tool/*/*"))
    yield from map(str, installed.glob("src/testing/**/*.go"))


_IMPORTED = re.compile(rb"""\b(?:from|import|require)\s*\(?\s*["']((?:@[\w.-]+/)?[a-z\d][\w.-]*)["'/]""")
_MANIFEST = "package.json"


def asserted_packages(project: Project, known: dict[str, Any]) -> frozenset[str]:
    """Files by path. `known`: packages that a test file imports, by its blob; what is new is added."""
    if not any(language_named(stack.language).packages_folder for stack in project.settings.stacks):
        return frozenset()
    tree = project.workspace.snapshot()
    entries = project.workspace.files(tree)
    tests = [entry for entry in entries if _is_test(project, entry)]
    unread = {entry.path: entry.blob for entry in tests if entry.blob not in known}
    for path, data in project.workspace.read_many(tree, unread).items():
        known[unread[path]] = sorted({name.decode() for name in _IMPORTED.findall(data or b"")})
    for blob in known.keys() - {entry.blob for entry in tests}:
        del known[blob]
    manifests = [entry.path for entry in entries if f"/{entry.path}".endswith(f"/{_MANIFEST}")]
    needed = frozenset(
        name
        for data in project.workspace.read_many(tree, manifests).values()
        for name in _imported_names(data)
    )
    asked = {(entry.path.rpartition("/")[0], name) for entry in tests for name in known[entry.blob]}
    root = str(project.root)
    folders = {
        found_package(name, f"{root}/{folder}".rstrip("/"), root)
        for folder, name in asked
        if name not in needed
    }
    return frozenset(path for folder in folders - {None} if folder for path in package_code(folder))


def _is_test(project: Project, entry: Entry) -> bool:
    language = language_for(entry.path)
    if language is None or not language.packages_folder:
        return False
    return project.classify(entry.path) is PathClass.TEST


def _imported_names(data: bytes | None) -> Iterator[str]:
    """Includes what source imports: such packages come and go while going green."""
    try:
        document = json.loads(data or b"{}")
        yield from document.get("dependencies", {})
    except (ValueError, AttributeError, TypeError):
        return


_STARTS = re.compile(rb"^(?:from|import)\s+([A-Za-z_]\w*)", re.MULTILINE)
_SCRIPT = 1 << 14
"""Bytes beyond which a program is none that an installer wrote."""


def programs(stack: Stack, root: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Files by path: what a command's words lead to outside of git's sight, a script's package with it."""
    folder = os.path.normpath(root / stack.root)
    for command in (stack.check, stack.format, stack.verify):
        for word in _words(command or ""):
            found = _find_program(word, folder, environ.get("PATH", os.defpath))
            if found is not None:
                yield found
                yield from _started_modules(Path(found))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command.replace(";", " ; "), comments=True)
    except ValueError:
        return command.split()


def _find_program(word: str, folder: str, path: str) -> str | None:
    if "/" not in word:
        return shutil.which(word, path=path)
    found = os.path.normpath(os.path.join(folder, word))  # noqa: PTH118 - text in, text out
    return found if os.path.isfile(found) and os.access(found, os.X_OK) else None  # noqa: PTH113 - same


def _started_modules(program: Path) -> Iterator[str]:
    """The modules that an environment's script, such as `mypy`, imports first."""
    try:
        with program.open("rb") as file:
            text = file.read(_SCRIPT)
    except OSError:
        return
    if not text.startswith(b"#!"):
        return
    for packages in program.parent.parent.glob("lib/python*/site-packages"):
        for name in {found.decode() for found in _STARTS.findall(text)}:
            yield from package_files(f"{packages}/{name}")
