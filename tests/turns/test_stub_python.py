"""`tdd stub` on a Python project: where the stubs go, and that the test is then red for the right reason."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.gitrepo import make_repo
from support.turns import CALC, CONFIG, QUICK, World
from verdigris.checks.missing_stubs import missing_stubs
from verdigris.cli import testing as view
from verdigris.core.actions import Deny
from verdigris.core.records import Actor
from verdigris.core.verdict import Kind
from verdigris.setup.initialisation import initialise
from verdigris.turns.stub import Stubbed, write_stubs

TEST = """\
import pytest
from shop.money import Money, NoCoinError, total


def test_total():
    assert total([Money(1), Money(2)], unit="EUR") == 3


def test_none():
    with pytest.raises(NoCoinError):
        Money(0).spend(1)
"""


def made(root: Path, files: Mapping[str, str], config: str = CONFIG) -> World:
    repo = make_repo(root)
    repo.write("tdd.yaml", QUICK + config)
    for path, text in files.items():
        repo.write(path, text)
    repo.commit("start")
    initialise(root, Actor(client="test"))
    return World(repo)


def stubbed(world: World, word: str) -> Stubbed:
    done = write_stubs(world.project, word, cwd=world.root)
    assert isinstance(done, Stubbed), done
    return done


def reds(world: World, word: str) -> dict[str, str | None]:
    return {run.native_id: run.red for run in world.test(word).tests}


@pytest.mark.parametrize(
    ("files", "at"),
    [
        ({"calc.py": CALC}, "shop/money.py"),
        (
            {"src/calc.py": CALC, "conftest.py": "import sys\nsys.path.insert(0, 'src')\n"},
            "src/shop/money.py",
        ),
        ({"shop/__init__.py": "", "shop/cart.py": CALC}, "shop/money.py"),
        ({"shop/__init__.py": "", "shop/money.py": "RATE = 3\n"}, "shop/money.py"),
    ],
)
def test_a_module_is_made_where_the_import_looks_for_it(
    tmp_path: Path, files: Mapping[str, str], at: str
) -> None:
    world = made(tmp_path / "w", files)
    world.write("tests/test_money.py", TEST)
    done = stubbed(world, "tests/test_money.py")
    assert done.stubs[-1].path == at
    assert world.read(at).startswith(files.get(at, ""))
    assert set(reds(world, "tests/test_money.py").values()) == {"valid"}


def test_an_empty_src_gets_its_first_module(tmp_path: Path) -> None:
    (tmp_path / "w/src").mkdir(parents=True)
    world = made(tmp_path / "w", {"conftest.py": "import sys\nsys.path.insert(0, 'src')\n"})
    world.write("tests/test_money.py", TEST)
    done = stubbed(world, "tests/test_money.py")
    assert [stub.path for stub in done.stubs] == ["src/shop/__init__.py", "src/shop/money.py"]
    assert set(reds(world, "tests/test_money.py").values()) == {"valid"}


def test_a_module_that_exists_and_is_not_found_needs_no_stub_but_a_path(tmp_path: Path) -> None:
    """Without it `tdd test` and `tdd stub` would name each other for ever."""
    world = made(tmp_path / "w", {"src/cart.py": "def total(items):\n    return 0\n"})
    world.write(
        "tests/test_cart.py", "from cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n"
    )
    tested = world.test("tests/test_cart.py")
    denied = write_stubs(world.project, "tests/test_cart.py", cwd=world.root)
    assert isinstance(denied, Deny)
    assert denied.next == tested.next
    assert "`pythonpath = src` below `[pytest]` in pytest.ini" in denied.next


def test_a_round_from_a_test_to_green(tmp_path: Path) -> None:
    world = made(tmp_path / "w", {"calc.py": CALC})
    world.write(
        "tests/test_cart.py", "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
    )
    told = world.test("tests/test_cart.py")
    test = "tests/test_cart.py::test_total"
    assert told.next == f"`tdd claim {test}`"
    shown = "\n".join(line.text for line in view.report_lines(told))
    assert "tests/test_cart.py ran over stubs of what source lacks; they are in no file:" in shown
    assert "  cart.py (new):\n    def total(items):\n        raise NotImplementedError" in shown
    world.claimed(test, "cart.py")
    world.write("cart.py", "def total(items):\n    return sum(items)\n")
    assert world.settle().verdict.kind is Kind.ACCEPTED


def test_what_is_declared_or_installed_or_a_tests_own_is_left_alone(tmp_path: Path) -> None:
    world = made(tmp_path / "w", {"calc.py": CALC, "tests/making.py": "def made(): return 1\n"})
    world.write(
        "tests/test_calc.py",
        "import json\nimport pytest\nfrom making import made\nfrom calc import add\n\n\ndef test_add():\n"
        "    assert add(made(), 2) == json.loads('4')\n",
    )
    assert stubbed(world, "tests/test_calc.py").stubs == ()
    assert world.read("calc.py") == CALC


def test_a_package_of_the_project_that_is_installed_too_stays_the_projects(tmp_path: Path) -> None:
    """An editable install, or one for its command: pytest stands for it, whose folder is installed here."""
    files = {"src/pytest/__init__.py": "", "src/pytest/old.py": "X = 1\n"}
    world = made(tmp_path / "repo", files)
    test = "def test_f():\n    assert f() == 1\n"
    world.write("tests/test_new.py", f"from pytest.deep.new import f\n\n\n{test}")

    found = missing_stubs(world.project, "tests/test_new.py")

    assert [stub.path for stub in found] == ["src/pytest/deep/__init__.py", "src/pytest/deep/new.py"]


def test_a_name_of_a_module_is_added_behind_what_is_there(tmp_path: Path) -> None:
    world = made(tmp_path / "w", {"calc.py": CALC})
    world.write("tests/test_sub.py", "import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n")
    stubbed(world, "tests/test_sub.py::test_sub")
    assert world.read("calc.py").startswith(CALC)
    assert "def sub(a, b):" in world.read("calc.py")
    assert reds(world, "tests/test_sub.py") == {"tests/test_sub.py::test_sub": "valid"}


COLOURS = 'import enum\n\n\nclass Colour(enum.Enum):\n    RED = "red"\n\n\nOTHER = 1\n'
TEST_COLOURS = """\
from colours import Colour, OTHER


class TestColour:
    known = {each for each in Colour if each not in (Colour.RED, Colour.BLUE, Colour.GREY)}

    def test_blue(self):
        assert Colour.BLUE.value == "blue"
"""


def test_a_member_that_a_class_lacks_while_the_tests_are_collected(tmp_path: Path) -> None:
    world = made(tmp_path / "w", {"colours.py": COLOURS})
    world.write("tests/test_colours.py", TEST_COLOURS)
    stubbed(world, "tests/test_colours.py")
    members = '    RED = "red"\n    BLUE = -1  # STUB:TDD\n    GREY = -2  # STUB:TDD\n'
    assert world.read("colours.py") == COLOURS.replace('    RED = "red"\n', members)
    assert reds(world, "tests/test_colours.py") == {"tests/test_colours.py::TestColour::test_blue": "valid"}


@pytest.mark.parametrize(
    "head", ["class Colour(Base):", "class Colour(metaclass=Meta):", "class Colour(enum.Enum): pass\nif 1:"]
)
def test_a_class_that_may_have_more_than_it_writes_down_is_left_alone(tmp_path: Path, head: str) -> None:
    world = made(tmp_path / "w", {"colours.py": COLOURS.replace("class Colour(enum.Enum):", head)})
    world.write("tests/test_colours.py", TEST_COLOURS)
    assert missing_stubs(world.project, "tests/test_colours.py") == ()


def test_line_ends_of_what_is_there_stay(tmp_path: Path) -> None:
    world = made(tmp_path / "w", {"calc.py": CALC})
    before = CALC.replace("\n", "\r\n")
    world.write("calc.py", before.encode())
    world.write("tests/test_sub.py", "from calc import sub\n\n\ndef test_sub():\n    assert sub(5, 3) == 2\n")
    (stub,) = missing_stubs(world.project, "tests/test_sub.py")
    assert stub.whole.startswith(before)


def test_only_assertions_count_and_the_stub_returns(tmp_path: Path) -> None:
    world = made(tmp_path / "w", {"calc.py": CALC}, CONFIG + "red: assertion\n")
    world.write("tests/test_sub.py", "from calc import sub\n\n\ndef test_sub():\n    assert sub(5, 3) == 2\n")
    stubbed(world, "tests/test_sub.py")
    assert reds(world, "tests/test_sub.py") == {"tests/test_sub.py::test_sub": "valid"}


def test_the_gate_decides(tmp_path: Path) -> None:
    world = made(tmp_path / "w", {"calc.py": CALC})
    world.write("tests/test_sub.py", "from calc import sub\n\n\ndef test_sub():\n    assert sub(5, 3) == 2\n")
    world.write("calc.py", "def (")
    assert stubbed(world, "tests/test_sub.py").stubs == ()
    assert not isinstance(write_stubs(world.project, "tests/test_sub.py", cwd=world.root), Deny)


FIRST = {"tests/test_cart.py": "from cart import total\n\n\ndef test_total():\n    assert total([3]) == 3\n"}
DEEP = {path: text.replace("cart import", "shop.cart import") for path, text in FIRST.items()}


def plain_pytest(world: World) -> int:
    argv = [str(Path(sys.executable).with_name("pytest")), "-q", "-p", "no:cacheprovider"]
    return subprocess.run(argv, cwd=world.root, capture_output=True, check=False).returncode


@pytest.mark.parametrize(("files", "at"), [(FIRST, "cart.py"), (DEEP, "shop/cart.py")])
def test_the_first_module_of_a_project_is_found_by_plain_pytest_too(
    tmp_path: Path, files: Mapping[str, str], at: str
) -> None:
    world = made(tmp_path / "r", files)
    assert {stub.path for stub in stubbed(world, "tests/test_cart.py").stubs} >= {"conftest.py", at}
    world.write(at, "def total(prices):\n    return sum(prices)\n")
    assert plain_pytest(world) == 0


@pytest.mark.parametrize(
    "more",
    [
        {"conftest.py": ""},
        {"tests/__init__.py": ""},
        {"pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n"},
        {"calc.py": CALC},
    ],
)
def test_where_pytest_finds_the_module_already_or_others_are_found_nothing_is_added(
    tmp_path: Path, more: Mapping[str, str]
) -> None:
    world = made(tmp_path / "r", {**FIRST, **more})
    assert [stub.path for stub in stubbed(world, "tests/test_cart.py").stubs] == ["cart.py"]
