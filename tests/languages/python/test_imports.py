from __future__ import annotations

from random import Random

from verdigris.languages.python.imports import changed_names, list_affected

BEFORE = "A = 1\n\n\ndef one():\n    return 1\n\n\nclass Box:\n    def open(self):\n        return 1\n"


def test_the_names_of_what_was_changed() -> None:
    assert changed_names(BEFORE, BEFORE + "\n# only a comment\n") == frozenset()
    assert changed_names(BEFORE, BEFORE.replace("A = 1", "A = 2")) == {"A"}
    assert changed_names(BEFORE, BEFORE.replace("def one():\n    return 1", "def one():\n    return 2")) == {
        "one"
    }
    inner = BEFORE.replace("        return 1", "        return 2")
    assert changed_names(BEFORE, inner) == {"Box", "open"}
    assert changed_names(None, "def new(): pass\n") == {"new"}
    assert changed_names(BEFORE, "def broken(:\n") == frozenset()


def test_tests_that_name_what_was_changed_come_first() -> None:
    tests = {
        "tests/test_a.py": "from pkg.a import one\ndef test_x(): assert one()\ndef test_y(): assert 1\n",
        "tests/test_b.py": "from pkg import a\n\ndef test_z():\n    assert a.other() == 1\n",
        "tests/test_c.py": "def test_w():\n    assert 1\n",
    }
    passed = [
        f"tests/test_{f}::test_{n}"
        for f, n in (("c.py", "w"), ("b.py", "z"), ("a.py", "y"), ("a.py", "x[1]"), ("a.py", "x[2]"))
    ]
    after = BEFORE.replace("def one():\n    return 1", "def one():\n    return 2")
    for seed in range(5):
        found = list_affected(passed, tests, {"pkg/a.py": BEFORE}, {"pkg/a.py": after}, Random(seed))
        assert found == ("tests/test_a.py::test_x", "tests/test_a.py::test_y", "tests/test_b.py::test_z")


def test_the_sample_is_random() -> None:
    text = "from pkg.a import one\n" + "".join(f"def test_{n}():\n    assert one() == 1\n" for n in range(9))
    passed = [f"t.py::test_{n}" for n in range(9)]
    after = BEFORE.replace("def one():\n    return 1", "def one():\n    return 2")
    orders = {
        list_affected(passed, {"t.py": text}, {"a.py": BEFORE}, {"a.py": after}, Random(s)) for s in range(5)
    }
    assert len(orders) == 5
