"""What follows from the files that a run used."""

from __future__ import annotations

import pytest

from verdigris.checks.file_use import (
    EXPECTED,
    UNSEEN,
    FilesOfRun,
    Objections,
    mentioned_files,
    objections,
    read_by_tests,
    without,
)
from verdigris.core.paths import FEW, Classes, PathClass, classify, with_frozen
from verdigris.core.report import FileUse

pytestmark = pytest.mark.quick

CLASSES = Classes(
    (
        (PathClass.OTHER, r"build/.*\Z"),
        (PathClass.TEST, r"tests/.*\Z"),
        (PathClass.SOURCE, r"src/.*\.py\Z"),
    )
)


def cls(path: str) -> PathClass:
    return classify(path, CLASSES)


def asked(*uses: FileUse, changed: tuple[str, ...] = (), known: tuple[str, ...] = ()) -> Objections:
    seen = ("src/a.py", "tests/t.py", "data/x.json", "data/y.dat")
    return objections(uses, CLASSES, cls, FilesOfRun(seen, changed, known))


def test_only_what_test_code_read_and_nobody_wrote_is_the_oracles() -> None:
    uses = (
        FileUse("data/x.json", "read", "tests/t.py"),
        FileUse("data/y.dat", "read", "src/a.py"),
        FileUse("data/z.txt", "read", "tests/t.py"),
        FileUse("data/z.txt", "wrote"),
        FileUse("build/out.txt", "read", "tests/t.py"),
        FileUse("pyproject.toml", "read", "tests/t.py"),
        FileUse("src/a.py", "read", "tests/t.py"),
        FileUse("data/nobody.json", "read", ""),
    )
    assert read_by_tests(uses, CLASSES, cls) == ["data/x.json"]


def test_what_nobody_tells_is_the_oracles_where_tests_call_it_by_name() -> None:
    text = b"""const want = load('expected'), table = read("fixtures/cases.csv"); let other = data.total"""
    opened = [
        "f/expected.json",
        "f/cases.csv",
        "f/data.json",
        "package.json",
        "tests/x.txt",
        "build/cases.csv",
    ]
    assert mentioned_files(opened, [text], CLASSES, cls) == ["f/expected.json", "f/cases.csv"]
    assert mentioned_files(opened, [], CLASSES, cls) == []


def test_frozen_files_are_tests_and_others_are_what_they_were() -> None:
    frozen = with_frozen(CLASSES, ["data/x.json", "src/a.py"])
    assert classify("data/x.json", frozen) is PathClass.TEST
    assert classify("data/x.json.bak", frozen) is PathClass.OTHER
    assert classify("src/a.py", frozen) is PathClass.SOURCE
    assert with_frozen(CLASSES, []) is CLASSES


def test_of_many_the_folders_are_frozen() -> None:
    frozen = with_frozen(CLASSES, [f"golden/{n}.txt" for n in range(FEW)] + ["one.txt"])
    assert classify("golden/new.txt", frozen) is PathClass.TEST
    assert classify("golden/deep/new.txt", frozen) is PathClass.OTHER
    assert classify("two.txt", frozen) is PathClass.OTHER


def test_what_a_person_leaves_out_is_left_out() -> None:
    assert without(["docs/a.md", "data/x.json"], ["docs/**"]) == ("data/x.json",)


def test_executed_files_of_no_snapshot_make_a_verdict_broken_unless_they_are_as_before() -> None:
    use = FileUse("lib.so", "executed", "src/a.py")
    assert asked(use) == Objections(broken=(f"lib.so {UNSEEN}",))
    assert asked(use, known=("lib.so",)) == Objections(noted=(f"lib.so {UNSEEN}",))
    assert asked(FileUse("build/lib.so", "executed", "")).broken == ()


@pytest.mark.parametrize("changed", [(), ("src/a.py",), ("data/y.dat",)])
def test_executed_data_blocks_where_it_changed_and_is_told_where_its_user_did(
    changed: tuple[str, ...],
) -> None:
    found = asked(FileUse("data/y.dat", "executed", "src/a.py"), changed=changed)
    told = ("data/y.dat: code: it is executed by src/a.py, although its name does not make it source",)
    wanted = {(): Objections(), ("src/a.py",): Objections(noted=told)}
    assert found == wanted.get(changed, Objections(blocking=told))


def test_code_made_of_data_blocks_where_the_data_changed() -> None:
    made, read = FileUse("src/a.py", "made", "src/a.py:3"), FileUse("data/x.json", "read", "src/a.py")
    told = "src/a.py:3: code: it runs code that stands in no source file"
    assert asked(made, read, changed=("src/a.py",)) == Objections(noted=(told,))
    assert asked(made, read, changed=("src/b.py",)) == Objections(), "no concern of this turn"
    found = asked(made, read, changed=("data/x.json",))
    assert found.blocking == (f"{told}, and data/x.json changed in this turn",)
    assert asked(FileUse("tests/t.py", "made", "tests/t.py:1"), read) == Objections()


def test_data_that_changed_is_told_with_its_reader_or_blocks_where_that_is_a_test() -> None:
    read = FileUse("data/x.json", "read", "src/a.py")
    assert asked(read, changed=("data/x.json",)) == Objections(
        noted=("data/x.json changed in this turn, and src/a.py reads it",)
    )
    found = objections(
        (),
        CLASSES,
        cls,
        FilesOfRun((), ("a.json", "b.json"), expected=("a.json",), opened=("a.json", "b.json")),
    )
    assert found.blocking == (f"a.json {EXPECTED}",)
    assert found.noted == ("b.json changed in this turn, and the run opens it",)
