"""Right and wrong reds, each from a real pytest run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.interpreters import with_pytest
from support.pyproject import PyProject
from verdigris.core.paths import PathClass
from verdigris.core.test_ids import split_id
from verdigris.core.verdict.redness import VALID, judge_collect_error, judge_red

if TYPE_CHECKING:
    from verdigris.core.report import TestReport
    from verdigris.core.settings import RedRule

SOURCE = """
    import json
    from enum import Enum

    class Colour(Enum):
        RED = 1

    class Cart:
        limit = 3
        def __init__(self, owner="me"): self.items = []
        def add(self, item): self.items.append(item)
        def total(self): raise NotImplementedError
        def first(self): return self.items[0]
        def broken(self): return self.itms
        def wrong_type(self): return 1 + "a"
        def name_error(self): return undefined
        def parse(self, text): return json.loads(text)
        def lazy(self): import no_such_module
        def leave(self): raise SystemExit(2)

    def deep(n): return deep(n + 1)
    def none(): return None
    def wrapped(call):
        space = {"call": call}
        exec(compile("def outer(*args): return call(*args)", "<a wrapper>", "exec"), space)
        return space["outer"]
    def test_pulled_in(): assert False
"""

TESTS = {
    "conftest": """
        import pytest, sys
        sys.path.insert(0, "src")

        @pytest.fixture
        def bad_fixture(): assert False
        @pytest.fixture
        def bad_teardown():
            yield
            raise ValueError("late")
    """,
    "helpers": """
        def assert_total(cart, total): assert len(cart.items) == total
        def call(cart): return cart.checkout()
    """,
    "test_valid": """
        import json, pytest, unittest
        import shop
        from shop import Cart, Colour
        from helpers import assert_total, call

        def test_assertion(): assert Cart().items == [1]
        def test_assert_in_helper(): assert_total(Cart(), 3)
        def test_did_not_raise():
            with pytest.raises(ValueError): Cart().add(1)
        def test_pytest_fail(): pytest.fail("not yet")
        def test_attribute_error_in_source(): assert Cart().broken() == 1
        def test_type_error_in_source(): assert Cart().wrong_type() == 1
        def test_index_error_in_source(): assert Cart().first() == 1
        def test_name_error_in_source(): assert Cart().name_error() == 1
        def test_library_error_below_source(): assert Cart().parse("{") == 1
        def test_not_implemented_stub(): assert Cart().total() == 0
        def test_recursion(): assert shop.deep(1) == 1
        def test_system_exit_in_source(): assert Cart().leave() is None
        def test_other_exception_than_expected():
            with pytest.raises(ValueError): Cart().first()
        def test_missing_method(): assert Cart().checkout() == 1
        def test_missing_method_in_helper(): assert call(Cart()) == 1
        def test_missing_class_attribute(): assert Cart.maximum == 1
        def test_missing_enum_member(): assert Colour.BLUE.value == 2
        def test_missing_module_attribute(): assert shop.discount(1) == 1
        def test_missing_keyword(): assert Cart().add(item=1, count=2) is None
        def test_missing_positional(): assert Cart().add(1, 2) is None
        def test_missing_constructor_argument(): assert Cart(currency="EUR").items == []
        def test_too_few_arguments(): assert Cart().add() is None
        def test_missing_operator(): assert Cart() + Cart() == 1
        def test_missing_length():
            cart = Cart()
            assert len(cart) == 0
        def test_generated_code_that_calls_back():
            def own(n): return n
            assert shop.wrapped(own)(1, 2) == 1
        def test_none_given_to_a_library():
            answer = shop.none()
            assert json.loads(answer) == {}
        def test_multi_line_call():
            cart = Cart()
            cart.add(
                1,
                count=2,
            )
            assert cart
        class TestUnit(unittest.TestCase):
            def test_equal(self): self.assertEqual(Cart().items, [1])
            def test_raises(self):
                with self.assertRaises(ValueError): Cart().add(1)
            def test_subtests(self):
                for n in (0, 1):
                    with self.subTest(n=n): self.assertEqual(n, 0)
    """,
    "test_invalid": """
        import pytest, unittest
        import shop
        from shop import *

        def test_passing(): assert True
        def test_skipped(): pytest.skip("later")
        @pytest.mark.xfail
        def test_xfailed(): assert False
        @pytest.mark.xfail
        def test_xpassed(): pass
        @pytest.mark.xfail(strict=True)
        def test_strict_xpassed(): pass
        def test_fixture(bad_fixture): assert False
        def test_unknown_fixture(nowhere): assert False
        def test_teardown(bad_teardown): pass
        def test_missing_name(): assert Basket() == 1
        def test_import_in_test():
            import no_such_module
            assert no_such_module
        def test_import_in_source(): assert Cart().lazy() == 1
        def test_syntax_in_test():
            compile("(", "x", "exec")
            assert False
        def test_no_assertion(): Cart().first()
        def test_own_error(): assert {}["key"]
        def test_attribute_of_none(): assert shop.none().value == 1
        def test_attribute_of_nobodys_none(): assert None.value == 1
        def test_own_none_given_to_a_library(): assert int(None) == 1
        def test_own_generated_code():
            exec(compile("len(5)", "<own>", "exec"))
        def test_attribute_of_a_builtin(): assert [].size == 1
        def test_keyword_of_a_builtin(): assert int(base="x", no=1) == 1
        def test_exit_in_test():
            raise SystemExit(1)
            assert False
        class TestUnit(unittest.TestCase):
            def setUp(self): raise ValueError("no database")
            def test_set_up(self): self.assertEqual(1, 2)
        class TestDown(unittest.TestCase):
            def tearDown(self): raise ValueError("late")
            def test_tear_down(self): self.assertEqual(1, 1)
    """,
    "test_no_import": "from shop import no_such_name\ndef test_x(): assert False",
    "test_no_module": "import no_such_module\ndef test_x(): assert False",
    "test_no_syntax": "def test_x(: assert False",
    "test_no_collection": "undefined\ndef test_x(): assert False",
    "test_empty": "def helper(): pass",
}

INVALID = {
    "test_passing": "passing",
    "test_skipped": "skipped",
    "test_xfailed": "skipped",
    "test_xpassed": "xpass",
    "test_strict_xpassed": "xpass",
    "test_fixture": "fixture",
    "test_unknown_fixture": "fixture",
    "test_teardown": "teardown",
    "test_missing_name": "missing-name",
    "test_import_in_test": "import",
    "test_import_in_source": "import",
    "test_syntax_in_test": "syntax",
    "test_no_assertion": VALID,
    "test_own_error": "not-behaviour",
    "test_attribute_of_none": VALID,
    "test_attribute_of_nobodys_none": "not-behaviour",
    "test_own_none_given_to_a_library": "not-behaviour",
    "test_own_generated_code": "not-behaviour",
    "test_attribute_of_a_builtin": "not-behaviour",
    "test_keyword_of_a_builtin": "not-behaviour",
    "test_exit_in_test": "not-behaviour",
    "test_pulled_in": "imported",
    "TestUnit::test_set_up": "fixture",
    "TestDown::test_tear_down": "teardown",
}
ASSERTIONS = {
    "test_assertion",
    "test_assert_in_helper",
    "test_did_not_raise",
    "test_pytest_fail",
    "TestUnit::test_equal",
    "TestUnit::test_raises",
    "TestUnit::test_subtests",
}


def classify(path: str) -> PathClass:
    return {"src": PathClass.SOURCE, "tests": PathClass.TEST}.get(
        path.split("/", maxsplit=1)[0], PathClass.OTHER
    )


def make(project: PyProject) -> PyProject:
    project.write("src/shop.py", SOURCE)
    for name, text in TESTS.items():
        project.write(f"tests/{name}.py", text)
    return project


def judged(report: TestReport, rule: RedRule = "behaviour") -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for result in report.results:
        test = split_id(result.native_id)
        why = judge_red(result, classify=classify, rule=rule)
        found.setdefault(test.path, {})[test.function + test.case] = why
    return found


def assert_every_red_is_judged(project: PyProject) -> None:
    report = project.test(extra=["-p", "no:randomly"])
    reds = judged(report)
    wrong = {name: why for name, why in reds["tests/test_valid.py"].items() if why != "valid"}
    assert wrong == {}
    assert len(reds["tests/test_valid.py"]) == TESTS["test_valid"].count("def test_")
    assert reds["tests/test_invalid.py"] == INVALID
    strict = judged(report, "assertion")["tests/test_valid.py"]
    assert {name for name, why in strict.items() if why == "valid"} == ASSERTIONS
    assert set(strict.values()) == {"valid", "assertion-only"}
    assert {error.path: judge_collect_error(error) for error in report.errors} == {
        "tests/test_no_import.py": "import",
        "tests/test_no_module.py": "import",
        "tests/test_no_syntax.py": "syntax",
        "tests/test_no_collection.py": "collection",
    }


def test_reds(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert_every_red_is_judged(make(PyProject(tmp_path_factory.mktemp("shop"))))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_reds_in_another_python(tmp_path_factory: pytest.TempPathFactory, version: str) -> None:
    python = with_pytest(version)
    if python is None:
        pytest.skip(f"no python{version} with pytest 7 or newer on PATH or in $PYENV_ROOT")
    assert_every_red_is_judged(make(PyProject(tmp_path_factory.mktemp("shop"), python)))
