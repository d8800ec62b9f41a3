"""The toolchains and package managers that are known: their variables, their homes, and their caches.

Rooms and agents' shells serve all of them, whether or not the project uses them: a build may call any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from verdigris.core.agents import of_all
from verdigris.core.value import value


@value
class Cache:
    variables: tuple[str, ...]
    """The first that is set names the folder."""
    usual: str
    """Where it is otherwise, in the user's home."""
    parts: tuple[str, ...] = ("",)
    """What in it is a cache; beside those lie programs, settings and start-up scripts."""
    tool: str = ""
    """The program that fills it; empty: many do."""


@value
class Toolchain:
    program: str
    variables: tuple[str, ...] = ()
    """What a run of tests is given of the caller's environment."""
    homes: tuple[tuple[str, str, str], ...] = ()
    """A program that is on PATH from the first folder finds what it starts by the variable, or in the last
    folder. All of them lie in the user's home."""
    caches: tuple[Cache, ...] = ()


_CACHE = ".cache/"
_GRADLE = ("caches", "wrapper", "daemon", "native", "notifications", "workers", "jdks", ".tmp")
TOOLCHAINS = (
    Toolchain(
        "python",
        (
            *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"),
            *("PYTHONPATH", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONHASHSEED"),
            *("PYTHONUTF8", "PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"),
        ),
    ),
    Toolchain("pyenv", ("PYENV_ROOT", "PYENV_VERSION"), ((".pyenv/shims", "PYENV_ROOT", ".pyenv"),)),
    Toolchain("pip", caches=(Cache(("PIP_CACHE_DIR",), ".cache/pip"),)),
    Toolchain("uv", caches=(Cache(("UV_CACHE_DIR",), ".cache/uv"),)),
    Toolchain("poetry", caches=(Cache(("POETRY_CACHE_DIR",), ".cache/pypoetry", ("cache", "artifacts")),)),
    Toolchain("pipenv", caches=(Cache(("PIPENV_CACHE_DIR",), ".cache/pipenv"),)),
    Toolchain("node", ("NVM_DIR", "NODE_PATH")),
    Toolchain("volta", ("VOLTA_HOME",), ((".volta/bin", "VOLTA_HOME", ".volta"),)),
    Toolchain("npm", caches=(Cache(("npm_config_cache", "NPM_CONFIG_CACHE"), ".npm"),)),
    Toolchain(
        "yarn",
        caches=(Cache(("YARN_GLOBAL_FOLDER",), ".yarn/berry"), Cache(("YARN_CACHE_FOLDER",), ".cache/yarn")),
    ),
    Toolchain(
        "pnpm",
        caches=(
            Cache(("PNPM_HOME",), ".local/share/pnpm", ("store",)),
            Cache(("npm_config_store_dir",), ".pnpm-store"),
        ),
    ),
    Toolchain("bun", caches=(Cache(("BUN_INSTALL_CACHE_DIR",), ".bun/install/cache"),)),
    Toolchain("deno", caches=(Cache(("DENO_DIR",), ".cache/deno"),)),
    Toolchain(
        "cargo",
        ("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"),
        ((".cargo/bin", "CARGO_HOME", ".cargo"), (".cargo/bin", "RUSTUP_HOME", ".rustup")),
        (Cache(("CARGO_HOME",), ".cargo", ("registry", "git")),),
    ),
    Toolchain(
        "go",
        ("GOROOT", "GOPATH", "GOMODCACHE"),
        (("go/bin", "GOPATH", "go"),),
        (
            Cache(("GOPATH",), "go", ("pkg",)),
            Cache(("GOMODCACHE",), "go/pkg/mod"),
            Cache(("GOCACHE",), ".cache/go-build"),
        ),
    ),
    Toolchain(
        "golangci-lint",
        caches=(Cache(("GOLANGCI_LINT_CACHE",), ".cache/golangci-lint"),),
    ),
    Toolchain(
        "mvn",
        ("JAVA_HOME", "MAVEN_HOME", "M2_HOME"),
        caches=(Cache((), ".m2", ("repository", "wrapper")),),
    ),
    Toolchain("gradle", caches=(Cache(("GRADLE_USER_HOME",), ".gradle", _GRADLE),)),
    Toolchain("sbt", caches=(Cache((), ".ivy2", ("cache", "local")),)),
    Toolchain(
        "dotnet", caches=(Cache(("NUGET_PACKAGES",), ".nuget/packages"), Cache((), ".local/share/NuGet"))
    ),
    Toolchain("composer", caches=(Cache(("COMPOSER_CACHE_DIR",), ".cache/composer"),)),
    Toolchain("rbenv", ("RBENV_ROOT", "GEM_HOME", "GEM_PATH"), ((".rbenv/shims", "RBENV_ROOT", ".rbenv"),)),
    Toolchain("bundle", caches=(Cache(("BUNDLE_USER_CACHE",), ".bundle/cache"),)),
    Toolchain("dart", caches=(Cache(("PUB_CACHE",), ".pub-cache", ("hosted", "git")),)),
    Toolchain("cabal", caches=(Cache((), ".cabal", ("packages",)),)),
    Toolchain("ccache", caches=(Cache(("CCACHE_DIR",), ".ccache"), Cache((), ".cache/ccache"))),
    Toolchain("sccache", caches=(Cache(("SCCACHE_DIR",), ".cache/sccache"),)),
    Toolchain("asdf", ("ASDF_DIR", "ASDF_DATA_DIR"), ((".asdf/shims", "ASDF_DATA_DIR", ".asdf"),)),
    Toolchain(
        "mise",
        ("MISE_DATA_DIR",),
        ((".local/share/mise/shims", "MISE_DATA_DIR", ".local/share/mise"),),
    ),
)
KEPT = frozenset(
    (
        *("PATH", "LANG", "LANGUAGE", "LOCALE_ARCHIVE", "TZ", "TERM", "COLUMNS", "LINES"),
        *("USER", "LOGNAME", "SHELL", "CI", "NO_COLOR", "FORCE_COLOR"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "NIX_LD", "NIX_LD_LIBRARY_PATH"),
        *(name for toolchain in TOOLCHAINS for name in toolchain.variables),
    )
)
"""Where programs are, how text looks, who runs. `PYTHONPATH` is trusted as far as `PATH` is: both come
from whoever calls `tdd` outside the sandbox, and who could set the one could set the other."""
HOMES = tuple(home for toolchain in TOOLCHAINS for home in toolchain.homes)
"""Programs that look below HOME for what they start: being on PATH from there, they need the real one."""
_OF_LIBRARIES = (
    *("black", "pylint", "ruff", "mypy", "jedi", "matplotlib", "fontconfig", "mesa_shader_cache"),
    *("node-gyp", "typescript", "eslint", "prettier", "turbo", "pnpm", "staticcheck", "gopls", "coursier/v1"),
    *("huggingface/hub", "huggingface/datasets", "torch/hub/checkpoints"),
)
CACHES = (
    *(
        Cache(cache.variables, cache.usual, cache.parts, toolchain.program)
        for toolchain in TOOLCHAINS
        for cache in toolchain.caches
    ),
    *(Cache((), f"{_CACHE}{name}") for name in _OF_LIBRARIES),
)
"""By tool: other folders of `~/.cache` hold what shells, editors and launchers run at their start."""
PROGRAMS = (
    Cache(("UV_CACHE_DIR",), ".cache/uv", ("archive-v0", "environments-v2")),
    Cache(("PRE_COMMIT_HOME",), ".cache/pre-commit"),
    Cache(("COREPACK_HOME",), ".cache/node/corepack"),
    *(Cache((), folder) for folder in of_all(lambda agent: agent.caches)),
)
"""Among caches, and yet run by a person's next `git commit`, `yarn`, or client: not an agent's to write."""
_XDG = "XDG_CACHE_HOME"
VARIABLES = (_XDG, *dict.fromkeys(name for cache in (*CACHES, *PROGRAMS) for name in cache.variables))


def base_of(cache: Cache, environment: Mapping[str, str], home: str) -> str:
    """A list, as `GOPATH` may be, has its cache in the first."""
    usual = f"{home}/{cache.usual}"
    if cache.usual.startswith(_CACHE) and (around := environment.get(_XDG, "")).startswith("/"):
        usual = f"{around.rstrip('/')}/{cache.usual.removeprefix(_CACHE)}"
    given = (environment.get(name, "").partition(":")[0] for name in cache.variables)
    return next((path for path in given if path.startswith("/")), usual).rstrip("/")


def is_made_early(cache: Cache) -> bool:
    """Whether it is made before its tool is seen: many tools lie in the project's environment."""
    return bool(cache.tool) and cache.usual.startswith(_CACHE)


def folders_of(cache: Cache, environment: Mapping[str, str], home: str) -> Iterator[str]:
    base = base_of(cache, environment, home)
    yield from (f"{base}/{part}".rstrip("/") for part in cache.parts)
