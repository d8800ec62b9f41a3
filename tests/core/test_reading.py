from __future__ import annotations

import textwrap

import pytest

from verdigris.core.reading import asserts_under, has_assertion

FILE = textwrap.dedent('''
    import pytest
    from unittest import TestCase, mock

    def test_plain(): assert f()
    def test_none(): f()
    def test_docstring_only():
        """assert nothing"""
    def test_raises():
        with pytest.raises(ValueError):
            f()
    def test_raises_imported():
        with raises(ValueError): f()
    def test_fail(): pytest.fail("no")
    def test_warns():
        with pytest.warns(UserWarning): f()
    def test_mock(): m.assert_called_once()
    def test_helper(): helper()
    def helper(): deeper(1)
    def deeper(x):
        for _ in x:
            assert x
    def test_idle_helper(): idle()
    def idle(): idle2()
    def idle2(): idle()
    def test_named(): expect(f()).to_be(3)
    def test_checked(): _check_all(f())
    def test_nested():
        def inner(): assert 1
        inner()
    async def test_async(): assert await f()
    def test_in_a_branch():
        if f():
            assert 1

    class TestThing(TestCase):
        def test_unit(self): self.assertEqual(1, f())
        def test_fails(self): self.fail("x")
        def test_idle(self): self.f()
        def test_own_helper(self): self.look()
        def look(self): assert f()
        class TestInner:
            def test_x(self): assert 1

    class Base:
        def test_inherited(self): self.shape()
        def shape(self): pass
    class TestChild(Base):
        def shape(self): assert 1
    class TestIdleChild(Base): pass
    class TestLoop(TestLoop): pass

    if True:
        def test_conditional(): assert 1
''')


@pytest.mark.parametrize(
    "function",
    [
        "test_plain", "test_raises", "test_raises_imported", "test_fail", "test_warns", "test_mock",
        "test_helper", "test_named", "test_checked", "test_nested", "test_async", "test_in_a_branch",
        "test_conditional",
        "TestThing::test_unit", "TestThing::test_fails", "TestThing::test_own_helper",
        "TestThing::TestInner::test_x",
        "TestChild::test_inherited",
    ],
)  # fmt: skip
def test_asserts(function: str) -> None:
    assert has_assertion(FILE, function)


@pytest.mark.parametrize(
    "function",
    [
        "test_none", "test_docstring_only", "test_idle_helper", "TestThing::test_idle", "no_such",
        "TestIdleChild::test_inherited", "TestLoop::test_x", "NoClass::test_x",
    ],
)  # fmt: skip
def test_asserts_nothing(function: str) -> None:
    assert not has_assertion(FILE, function)


def test_a_file_that_does_not_parse_asserts_nothing() -> None:
    assert not has_assertion("def test_x(:", "test_x")


def test_a_name_is_found_in_whatever_class_it_is() -> None:
    text = "class A:\n    def test_x(self):\n        assert 1\n\n\n"
    text += "class B:\n    def test_y(self):\n        pass\n"
    assert asserts_under(text, "test_x")
    assert not asserts_under(text, "test_y")
    assert not asserts_under(text, "test_z")
    assert not asserts_under("def (", "test_x")
