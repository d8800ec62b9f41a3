"""Where toolchains keep their caches, and what beside them is no cache."""

from __future__ import annotations

import pytest

from verdigris.core.confinement.toolchains import CACHES, PROGRAMS, VARIABLES, folders_of


def folders(environment: dict[str, str]) -> set[str]:
    return {path for cache in CACHES for path in folders_of(cache, environment, "/home/u")}


@pytest.mark.parametrize(
    "path",
    [".cache/pip", ".npm", ".cargo/registry", ".cargo/git", "go/pkg", ".m2/repository", ".gradle/caches"],
)
def test_usual_caches_lie_in_the_home(path: str) -> None:
    assert f"/home/u/{path}" in folders({})


@pytest.mark.parametrize(
    "path",
    [
        ".cargo",
        ".cargo/bin",
        "go",
        "go/bin",
        ".m2",
        ".gradle",
        ".gradle/init.d",
        ".local/share/pnpm",
        ".cache",
        ".cache/nvim",
    ],
)
def test_programs_and_settings_beside_them_are_none(path: str) -> None:
    assert f"/home/u/{path}" not in folders({})


def test_a_variable_of_the_tools_own_wins() -> None:
    found = folders({"CARGO_HOME": "/data/cargo/", "XDG_CACHE_HOME": "/data/cache", "GOCACHE": "off"})
    assert {"/data/cargo/registry", "/data/cache/pip", "/data/cache/go-build"} <= found
    assert "/home/u/.cargo/registry" not in found


def test_what_a_commit_or_a_client_runs_is_told_from_a_cache() -> None:
    programs = {path for cache in PROGRAMS for path in folders_of(cache, {"PRE_COMMIT_HOME": "/p"}, "/h")}
    assert {"/p", "/h/.cache/node/corepack", "/h/.cache/claude"} <= programs


def test_all_variables_are_known_once() -> None:
    assert len(set(VARIABLES)) == len(VARIABLES)
    assert {"XDG_CACHE_HOME", "GOCACHE", "PRE_COMMIT_HOME"} <= set(VARIABLES)
