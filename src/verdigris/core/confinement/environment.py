"""Chooses the environment variables of a run: what it needs to work, and none of the user's secrets."""

from __future__ import annotations

TYPE_CHECKING = False  # no `typing`: loaded before a head start
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

KEPT = frozenset(
    (
        *("PATH", "LANG", "LANGUAGE", "LOCALE_ARCHIVE", "TZ", "TERM", "COLUMNS", "LINES"),
        *("USER", "LOGNAME", "SHELL", "CI", "NO_COLOR", "FORCE_COLOR"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "NIX_LD", "NIX_LD_LIBRARY_PATH"),
        *("PYTHONPATH", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONHASHSEED"),
        *("PYTHONUTF8", "PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"),
        *("ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "PYENV_ROOT", "PYENV_VERSION", "RBENV_ROOT"),
        *("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "GOROOT", "GOPATH", "GOMODCACHE"),
        *("JAVA_HOME", "MAVEN_HOME", "M2_HOME", "NVM_DIR", "VOLTA_HOME", "NODE_PATH", "GEM_HOME", "GEM_PATH"),
    )
)
"""Where programs are, how text looks, who runs. `PYTHONPATH` is trusted as far as `PATH` is: both come
from whoever calls `tdd` outside the sandbox, and who could set the one could set the other."""

_HOMES = (
    (".cargo/bin", "CARGO_HOME", ".cargo"),
    (".cargo/bin", "RUSTUP_HOME", ".rustup"),
    (".asdf/shims", "ASDF_DATA_DIR", ".asdf"),
    (".local/share/mise/shims", "MISE_DATA_DIR", ".local/share/mise"),
    (".pyenv/shims", "PYENV_ROOT", ".pyenv"),
    (".rbenv/shims", "RBENV_ROOT", ".rbenv"),
    (".volta/bin", "VOLTA_HOME", ".volta"),
    ("go/bin", "GOPATH", "go"),
)
"""Programs that look below HOME for what they start: being on PATH from there, they need the real one."""


def surroundings(environ: Mapping[str, str], given: Sequence[str], *, home: str, tmp: str) -> dict[str, str]:
    """`given` are `NAME`, handed on where it is set, and `NAME=VALUE`; they have the last word.

    `XDG_*` is dropped, not set: its defaults lie below the new HOME, also for a test that moves HOME.
    """
    made = {name: text for name, text in environ.items() if name in KEPT or name.startswith("LC_")}
    for name, text in _left_behind(environ):
        made.setdefault(name, text)
    made["HOME"] = home
    made["TMPDIR"] = tmp
    for entry in given:
        name, assigned, text = entry.partition("=")
        if assigned:
            made[name] = text
        elif name in environ:
            made[name] = environ[name]
    return made


def _left_behind(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What is found below the real HOME, for those who look for it there."""
    real = environ.get("HOME", "").rstrip("/")
    if not real:
        return
    yield "PYTHONUSERBASE", f"{real}/.local"
    folders = environ.get("PATH", "").split(":")
    for on_path, name, folder in _HOMES:
        if f"{real}/{on_path}" in folders:
            yield name, f"{real}/{folder}"
