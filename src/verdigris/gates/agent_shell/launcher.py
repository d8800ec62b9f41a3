"""Writes the programs that a client's settings name, and finds the files that they depend on."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from verdigris.core.errors import StorageError
from verdigris.storage.repository import MAIN, Repository

NAME = "shell"
HOOK, HOOKS = "hook", "hook-commands"
PATHS = "TDD_PATHS"
"""Set by the launcher of hooks: where our packages lie."""
PACKAGES = Path(__file__).resolve().parents[3]
ENTRY = PACKAGES / "verdigris" / "gates" / "shell.py"
HOOK_ENTRY = PACKAGES / "verdigris" / "gates" / "entry.py"
LONGEST = 120
"""Of an interpreter in a script's first line; the oldest systems cut it at 127."""


def launcher(repo: Repository) -> Path:
    return repo.private / NAME


def arguments(repo: Repository) -> list[str]:
    """The entry and its first arguments; the command comes after them."""
    place = [str(repo.root), str(repo.private), "\n".join(import_paths())]
    return [interpreter(), "-I", "-S", str(ENTRY), *place]


def program(repo: Repository) -> str:
    """A shell in between costs a tenth of the whole call; some paths cannot do without."""
    python, *_, root, private, paths = arguments(repo)
    load = f"import sys\nsys.path.append({str(PACKAGES)!a})\nfrom verdigris.gates.shell import main\n"
    call = f"main([{root!a}, {private!a}, {paths!a}, *sys.argv[1:]])"
    if len(os.fsencode(python)) > LONGEST or set(python) & set(" \t\n"):
        words = [python, "-I", "-S", "-c", f"{load}del sys.argv[0]\n{call}"]
        return f'#!/bin/sh\nexec {shlex.join(words)} "$0" "$@"\n'
    return f"#!{python} -IS\n{load}{call}\n"


def find_place(launcher: str, root: str, private: str) -> tuple[str, str]:
    """The root and the private folder of the launcher that runs: it may be a copy, or have been moved."""
    here = Path(launcher).resolve().parent
    if here == Path(private):
        return root, private
    common = here.parents[2]
    if here.name != MAIN or common.name != ".git":
        sys.exit(f"verdigris: {launcher} was written for {root}. next: `tdd init` in this worktree")
    return str(common.parent), str(here)


def write_launcher(repo: Repository) -> Path:
    """Writes it again after an upgrade, or a move of the repository."""
    target = launcher(repo)
    write_program(target, program(repo))
    return target


def write_program(path: Path, text: str) -> None:
    """Whole or not at all, since an agent's next call may run it; one that is so already is left alone.

    Not writable, so that a client's file tool fails that is led here by a link.
    """
    data = os.fsencode(text)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != data:
            fresh = path.with_name(f"{path.name}.{os.getpid()}")
            fresh.write_bytes(data)
            fresh.chmod(0o555)
            fresh.replace(path)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror}", hint="look for a full or read-only disk"
        ) from error


def hook_commands(repo: Repository, client: str) -> Path:
    return repo.control / f"{HOOKS}.{client}"


def hook_launcher(repo: Repository) -> Path:
    return repo.control / HOOK


def write_hook_launcher(repo: Repository, client: str, commands: Iterable[str]) -> None:
    """Writes the program that hooks call, and the commands of the client's settings.

    A client may run its hooks through the prefix, too: these commands pass, byte for byte, and run outside.
    """
    hook_commands(repo, client).write_bytes(b"\0".join(map(os.fsencode, commands)))
    write_program(hook_launcher(repo), hook_program())


def hook_program() -> str:
    """One program for all clients: it is called with the client's name and the event.

    Without our entry it ends as a shell that finds no program; python would end with 2, as a refusal.
    """
    call = shlex.join([interpreter(), "-I", "-S", str(HOOK_ENTRY)])
    paths = shlex.quote(os.pathsep.join(import_paths()))
    gone = f"[ -f {shlex.quote(str(HOOK_ENTRY))} ] || exit 127"
    return f'#!/bin/sh\n{gone}\n{PATHS}={paths} exec {call} "$@"\n'


def files_of(repo: Repository, client: str) -> tuple[Path, ...]:
    """What goes with a client; the launchers go with the last one."""
    own = (hook_commands(repo, client), repo.control / HOOKS)
    if set(repo.control.glob(f"{HOOKS}.*")) - set(own):
        return own
    return (*own, hook_launcher(repo), launcher(repo))


OWN_PACKAGES = ("verdigris", "click", "msgspec", "yaml", "rich", "markdown_it", "mdurl", "pygments")
COMMAND = "tdd"
TOOLS = ("/bin/sh", "/usr/bin/timeout")
FOREIGN = ("site-packages", "dist-packages")


def interpreter() -> str:
    """The program itself: a link to it, as in an environment's `bin`, can be made to lead elsewhere."""
    return os.path.realpath(sys.executable)


def import_paths() -> tuple[str, ...]:
    """The folders that our packages are found in when nothing else may be."""
    return tuple(dict.fromkeys(str(folder.parent) for folder in _packages()))


def add_import_paths(environment: Mapping[str, str]) -> bool:
    """Whether the launcher said where our packages lie: no interpreter's own start-up files are asked."""
    named = [path for path in environment.get(PATHS, "").split(os.pathsep) if path]
    sys.path += [path for path in named if path not in sys.path]
    return bool(named)


def own_paths() -> tuple[list[str], list[str]]:
    """What is read-only to an agent, and what in it is not: packages that are installed beside ours."""
    library = Path(os.__file__).resolve().parent
    files = [*map(str, _packages()), interpreter(), str(library), *_commands(), *_tools()]
    holes = [str(library / name) for name in FOREIGN if (library / name).is_dir()]
    return [path for path in dict.fromkeys(files) if Path(path).exists()], holes


def _commands() -> list[str]:
    """The commands of the environments that hold our packages, and the one that a shell would find."""
    from verdigris.storage.git import find_program

    environments = [Path(path).parents[2] for path in import_paths() if Path(path).name in FOREIGN]
    found = [str(environment / "bin" / COMMAND) for environment in environments]
    return [os.path.realpath(path) for path in (*found, find_program(COMMAND, os.get_exec_path())) if path]


def _tools() -> list[str]:
    """Programs that are run outside: to root and in a home they are writable."""
    from verdigris.storage.git import program

    found = (os.path.realpath(tool) for tool in (program(os.environ), *TOOLS) if Path(tool).exists())
    return [tool for tool in found if os.access(Path(tool).parent, os.W_OK)]


@cache
def _packages() -> tuple[Path, ...]:
    found = (find_spec(name) for name in OWN_PACKAGES)
    return tuple(Path(real_path(spec.origin)).parent for spec in found if spec is not None and spec.origin)


@cache
def real_path(path: str) -> str:
    """Answers as `os.path.realpath`, which looks at every folder above each path anew."""
    above, _, name = path.rpartition("/")
    if not name or not path.startswith("/") or "//" in path or os.path.normpath(path) != path:
        return os.path.realpath(path)
    found = f"{real_path(above) if above else ''}/{name}"
    return os.path.realpath(found) if Path(found).is_symlink() else found
