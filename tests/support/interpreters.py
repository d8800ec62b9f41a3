"""Other Python versions that this machine happens to have."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

WITH_PYTEST = "import sys, pytest; sys.exit(int(pytest.__version__.split('.')[0]) < 7)"


@cache
def other_python(version: str, probe: str = WITH_PYTEST) -> str:
    """`python<version>` from PATH or $PYENV_ROOT in which the probe succeeds; skips the test without one.

    A shim of pyenv stands for an interpreter that may not be there.
    """
    on_path = (shutil.which(f"python{version}", path=folder) for folder in os.get_exec_path())
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    in_pyenv = (str(path) for path in sorted(versions.glob(f"{version}*/bin/python")))
    for python in filter(None, [*on_path, *in_pyenv]):
        if subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode == 0:
            return python
    wanted = " with pytest 7 or newer" if probe == WITH_PYTEST else ""
    pytest.skip(f"no python{version}{wanted} on PATH or in $PYENV_ROOT")
