from __future__ import annotations

from verdigris.core.paths import PathClass
from verdigris.core.protection import FEW, MANY, mounts, readonly_classes
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
