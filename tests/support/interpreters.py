"""Other Python versions that this machine happens to have, with pytest in them."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path


@cache
def with_pytest(version: str) -> str | None:
    """The path of `python<version>` from PATH or $PYENV_ROOT, if it can import pytest 7 or newer."""
    on_path = (shutil.which(f"python{version}", path=folder) for folder in os.get_exec_path())
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    in_pyenv = (str(path) for path in sorted(versions.glob(f"{version}*/bin/python")))
    probe = "import sys, pytest; sys.exit(int(pytest.__version__.split('.')[0]) < 7)"
    for python in filter(None, [*on_path, *in_pyenv]):
        if subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode == 0:
            return python
    return None
