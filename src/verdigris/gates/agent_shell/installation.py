"""Where Verdigris itself lies, so that an agent can neither change it nor have it load anything else."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("verdigris", "click", "msgspec", "yaml", "rich", "markdown_it", "mdurl", "pygments")
COMMAND = "tdd"
TOOLS = ("/bin/sh", "/usr/bin/timeout")
FOREIGN = ("site-packages", "dist-packages")


def interpreter() -> str:
    """The program itself: a link to it, as in an environment's `bin`, can be made to lead elsewhere."""
    return os.path.realpath(sys.executable)


def import_paths() -> tuple[str, ...]:
    """The folders that our packages are found in when nothing else may be."""
    return tuple(dict.fromkeys(str(folder.parent) for folder in _packages()))


def own() -> tuple[list[str], list[str]]:
    """What is read-only to an agent, and what in it is not: packages that are installed beside ours."""
    library = Path(os.__file__).resolve().parent
    files = [*map(str, _packages()), interpreter(), str(library), *_commands(), *_tools()]
    holes = [str(library / name) for name in FOREIGN if (library / name).is_dir()]
    return [path for path in dict.fromkeys(files) if Path(path).exists()], holes


def _commands() -> list[str]:
    """Those of the environments that our packages are in, and the one that a shell would find."""
    environments = [Path(path).parents[2] for path in import_paths() if Path(path).name in FOREIGN]
    found = [str(environment / "bin" / COMMAND) for environment in environments]
    return [os.path.realpath(path) for path in (*found, shutil.which(COMMAND)) if path]


def _tools() -> list[str]:
    """Programs that are run outside: to root and in a home they are writable."""
    from verdigris.storage.git import program

    found = (os.path.realpath(tool) for tool in (program(os.environ), *TOOLS) if Path(tool).exists())
    return [tool for tool in found if os.access(Path(tool).parent, os.W_OK)]


def _packages() -> list[Path]:
    found = (find_spec(name) for name in PACKAGES)
    return [Path(spec.origin).resolve().parent for spec in found if spec is not None and spec.origin]
