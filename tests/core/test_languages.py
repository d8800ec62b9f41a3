from __future__ import annotations

import pytest

from verdigris.core.languages import declares_packages


@pytest.mark.parametrize("path", ["go.sum", "go.mod", "app/Cargo.lock", "Cargo.toml", "pyproject.toml"])
def test_manifests_and_the_locks_that_a_build_reads_declare_packages(path: str) -> None:
    assert declares_packages(path)


@pytest.mark.parametrize("path", ["uv.lock", "main.go", "src/lib.rs", "not-go.sum"])
def test_other_files_declare_none(path: str) -> None:
    assert not declares_packages(path)
