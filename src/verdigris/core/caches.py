"""Which folders tools keep their caches in, as their own variables say; nothing in them runs by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@value
class Cache:
    tool: str
    """The program that fills it; empty: many do."""
    variables: tuple[str, ...]
    """The first that is set names the folder."""
    usual: str
    """Where it is otherwise, in the user's home."""
    parts: tuple[str, ...] = ("",)
    """What in it is a cache; beside those lie programs, settings and start-up scripts."""


CACHES = (
    Cache("", ("XDG_CACHE_HOME",), ".cache"),
    Cache("npm", ("npm_config_cache", "NPM_CONFIG_CACHE"), ".npm"),
    Cache("yarn", ("YARN_GLOBAL_FOLDER",), ".yarn/berry"),
    Cache("yarn", ("YARN_CACHE_FOLDER",), ".cache/yarn"),
    Cache("pnpm", ("PNPM_HOME",), ".local/share/pnpm", ("store",)),
    Cache("pnpm", ("npm_config_store_dir",), ".pnpm-store"),
    Cache("bun", ("BUN_INSTALL_CACHE_DIR",), ".bun/install/cache"),
    Cache("deno", ("DENO_DIR",), ".cache/deno"),
    Cache("pip", ("PIP_CACHE_DIR",), ".cache/pip"),
    Cache("uv", ("UV_CACHE_DIR",), ".cache/uv"),
    Cache("poetry", ("POETRY_CACHE_DIR",), ".cache/pypoetry"),
    Cache("pipenv", ("PIPENV_CACHE_DIR",), ".cache/pipenv"),
    Cache("cargo", ("CARGO_HOME",), ".cargo", ("registry", "git")),
    Cache("go", ("GOPATH",), "go", ("pkg",)),
    Cache("go", ("GOMODCACHE",), "go/pkg/mod"),
    Cache("go", ("GOCACHE",), ".cache/go-build"),
    Cache("mvn", (), ".m2", ("repository", "wrapper")),
    Cache(
        "gradle",
        ("GRADLE_USER_HOME",),
        ".gradle",
        ("caches", "wrapper", "daemon", "native", "notifications", "workers", "jdks", ".tmp"),
    ),
    Cache("sbt", (), ".ivy2", ("cache", "local")),
    Cache("dotnet", ("NUGET_PACKAGES",), ".nuget/packages"),
    Cache("dotnet", (), ".local/share/NuGet"),
    Cache("composer", ("COMPOSER_CACHE_DIR",), ".cache/composer"),
    Cache("bundle", ("BUNDLE_USER_CACHE",), ".bundle/cache"),
    Cache("dart", ("PUB_CACHE",), ".pub-cache", ("hosted", "git")),
    Cache("cabal", (), ".cabal", ("packages",)),
    Cache("ccache", ("CCACHE_DIR",), ".ccache"),
    Cache("sccache", ("SCCACHE_DIR",), ".cache/sccache"),
)
PROGRAMS = (
    Cache("", ("PRE_COMMIT_HOME",), ".cache/pre-commit"),
    Cache("", ("COREPACK_HOME",), ".cache/node/corepack"),
    *(Cache("", (), f".cache/{client}") for client in ("claude", "codex", "gemini", "opencode", "qwen")),
)
"""Among caches, and yet run by a person's next `git commit`, `yarn`, or client: not an agent's to write."""
VARIABLES = tuple(dict.fromkeys(name for cache in (*CACHES, *PROGRAMS) for name in cache.variables))


def base_of(cache: Cache, environment: Mapping[str, str], home: str) -> str:
    """A list, as `GOPATH` may be, has its cache in the first."""
    given = (environment.get(name, "").partition(":")[0] for name in cache.variables)
    return next((path for path in given if path.startswith("/")), f"{home}/{cache.usual}").rstrip("/")


def folders_of(cache: Cache, environment: Mapping[str, str], home: str) -> Iterator[str]:
    base = base_of(cache, environment, home)
    yield from (f"{base}/{part}".rstrip("/") for part in cache.parts)
