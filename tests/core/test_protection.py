from __future__ import annotations

from verdigris.core.pathclass import PathClass
from verdigris.core.protection import FEW, MANY, mounts, protected_classes
from verdigris.core.state import Phase

SOURCE, TEST, OTHER, SWITCH = PathClass.SOURCE, PathClass.TEST, PathClass.OTHER, PathClass.SWITCH
RED, GREEN = protected_classes(Phase.RED), protected_classes(Phase.GREEN)


MANY_TESTS = {f"tests/test_{n}.py": TEST for n in range(FEW + 1)}
MANY_MODULES = {f"src/pkg/in/m{n}.py": SOURCE for n in range(FEW + 1)}


def test_a_few_files_of_code_are_mounted_singly_so_that_caches_can_be_made_beside_them() -> None:
    files = {"tests/a.py": TEST, "tests/data/x.txt": TEST, "calc.py": SOURCE, "tdd.yaml": SWITCH}
    assert mounts(files, GREEN) == {"tests": False, "tests/a.py": True, "tests/data": True, "tdd.yaml": True}


def test_a_folder_of_many_tests_is_one_mount() -> None:
    assert mounts({**MANY_TESTS, "tdd.yaml": SWITCH}, GREEN) == {"tests": True, "tdd.yaml": True}


def test_a_package_is_one_mount_and_the_root_that_it_lies_in_is_none() -> None:
    files = {"src/pkg/__init__.py": SOURCE, **MANY_MODULES, "src/one.py": SOURCE, "b.py": SOURCE}
    assert mounts(files, RED, ["src"]) == {"b.py": True, "src": False, "src/one.py": True, "src/pkg": True}


def test_source_without_a_package_is_mounted_by_file() -> None:
    assert mounts({"ns/a.py": SOURCE}, RED) == {"ns": False, "ns/a.py": True}


def test_where_classes_mix_single_files_are_and_the_folders_above_cannot_be_moved() -> None:
    files = {"p/__init__.py": SOURCE, "p/q/a.py": SOURCE, "p/q/t.html": OTHER, "p/tests/b.py": TEST}
    assert mounts(files, RED) == {"p": False, "p/__init__.py": True, "p/q": False, "p/q/a.py": True}


def test_many_files_among_few_others_are_one_mount_with_holes() -> None:
    files = {f"d/m{n}.py": SOURCE for n in range(5000)} | {"d/x.txt": OTHER, "d/free/y.txt": OTHER}
    assert mounts(files, RED) == {"d": True, "d/x.txt": False, "d/free": False}


def test_a_root_with_many_modules_stays_roomy() -> None:
    files = {f"m{n}.py": SOURCE for n in range(MANY + 1)}
    assert set(mounts(files, RED)) == set(files)


def test_off_protects_the_switches_alone() -> None:
    assert mounts(
        {"a.py": SOURCE, "t/test_a.py": TEST, "tdd.yaml": SWITCH}, protected_classes(Phase.OFF)
    ) == {"tdd.yaml": True}
