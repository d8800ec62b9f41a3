""""""

from __future__ import annotations

import pytest

from verdigris.core.confinement.protection import (
    FEW,
    MANY,
    is_writable,
    mounts,
    plan_mounts,
    readonly_classes,
)
from verdigris.core.paths import PathClass
from verdigris.core.state import Phase

SOURCE, TEST, OTHER, SWITCH = PathClass.SOURCE, PathClass.TEST, PathClass.OTHER, PathClass.SWITCH
GREEN = readonly_classes(Phase.GREEN)


MANY_TESTS = {f"tests/test_{n}.py": TEST for n in range(FEW + 1)}


def test_a_few_files_of_code_are_mounted_singly_so_that_caches_can_be_made_beside_them() -> None:
    files = {"tests/a.py": TEST, "tests/data/x.txt": TEST, "calc.py": SOURCE, "tdd.yaml": SWITCH}
    assert mounts(files, GREEN) == {"tests": False, "tests/a.py": True, "tests/data": True, "tdd.yaml": True}


def test_a_folder_of_many_tests_is_one_mount() -> None:
    assert mounts({**MANY_TESTS, "tdd.yaml": SWITCH}, GREEN) == {"tests": True, "tdd.yaml": True}


def test_a_folder_that_builds_put_things_into_is_never_one_mount() -> None:
    files = {f"src/t/test_{n}.py": TEST for n in range(FEW + 1)}
    assert mounts(files, GREEN, ["src"]) == {"src": False, "src/t": True}


def test_where_classes_mix_single_files_are_and_the_folders_above_cannot_be_moved() -> None:
    files = {"p/a.py": SOURCE, "p/tests/b.py": TEST, "p/tests/x.html": OTHER}
    assert mounts(files, GREEN) == {"p": False, "p/tests": False, "p/tests/b.py": True}


def test_many_files_among_few_others_are_one_mount_with_holes() -> None:
    files = {f"d/m{n}.py": TEST for n in range(5000)} | {"d/x.txt": OTHER, "d/free/y.txt": OTHER}
    assert mounts(files, GREEN) == {"d": True, "d/x.txt": False, "d/free": False}


def test_a_root_with_many_tests_stays_roomy() -> None:
    files = {f"test_m{n}.py": TEST for n in range(MANY + 1)}
    assert set(mounts(files, GREEN)) == set(files)


def test_source_is_never_read_only() -> None:
    assert mounts({"a.py": SOURCE, "tdd.yaml": SWITCH}, readonly_classes(Phase.RED)) == {"tdd.yaml": True}


def test_off_protects_the_switches_alone() -> None:
    assert mounts({"a.py": SOURCE, "t/test_a.py": TEST, "tdd.yaml": SWITCH}, readonly_classes(Phase.OFF)) == {
        "tdd.yaml": True
    }


REGIONS = {"/tmp": True, "/tmp/a/home": False, "/tmp/a/home/.cache": True, "/home/u/w": True}


@pytest.mark.parametrize(
    ("path", "writable"),
    [
        ("/etc/passwd", False),
        ("/tmp", True),
        ("/tmpfile", False),
        ("/tmp/a/x", True),
        ("/tmp/a/home/.bashrc", False),
        ("/tmp/a/home/.cache/pip/x", True),
        ("/home/u/w2", False),
    ],
)
def test_the_nearest_region_decides(path: str, writable: bool) -> None:
    assert is_writable(path, REGIONS) is writable


def test_a_region_in_the_read_only_rest_is_a_hole_and_nothing_above_it_is_mounted() -> None:
    assert plan_mounts({"/home/u/w": True}) == {"/home/u/w": "hole"}


def test_folders_above_a_read_only_place_in_a_writable_region_cannot_be_moved() -> None:
    planned = plan_mounts(REGIONS)
    assert planned == {
        "/home/u/w": "hole",
        "/tmp": "hole",
        "/tmp/a": "anchor",
        "/tmp/a/home": "readonly",
        "/tmp/a/home/.cache": "hole",
    }
    assert list(planned) == sorted(planned)


def test_what_changes_nothing_is_not_mounted() -> None:
    assert plan_mounts({"/etc": False, "/w": True, "/w/sub": True}) == {"/w": "hole"}


def test_a_writable_region_inside_another_stays_in_place_where_something_in_it_is_read_only() -> None:
    planned = plan_mounts({"/t": True, "/t/w": True, "/t/w/x": False})
    assert planned == {"/t": "hole", "/t/w": "anchor", "/t/w/x": "readonly"}
