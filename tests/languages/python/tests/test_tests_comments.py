from __future__ import annotations

import textwrap

import pytest

from verdigris.languages.tests import marks


def found(text: str) -> dict[object, str]:
    return {mark.test: mark.slug for mark in marks("test_a.py", textwrap.dedent(text))}


def test_directly_above_and_three_lines_above() -> None:
    text = """
        # @tdd-id: one
        def test_a(): pass

        # @tdd-id: two
        # why
        #
        @deco
        @deco2(
        )
        async def test_b(): pass

        # @tdd-id: too-far
        #
        #
        #
        def test_c(): pass
    """
    assert found(text) == {"test_a": "one", "test_b": "two"}


def test_line_of_the_annotation() -> None:
    (mark,) = marks("test_a.py", "\n#@tdd-id:  s \ndef test_a(): pass")
    assert (mark.slug, mark.line) == ("s", 2)


def test_a_comment_belongs_to_the_next_definition_only() -> None:
    text = """
        # @tdd-id: one
        def test_a(): pass
        def test_b(): pass
        # @tdd-id: of-a-class
        class TestC:
            def test_c(self): pass
    """
    assert found(text) == {"test_a": "one"}


def test_methods_nested_classes_and_conditional_definitions() -> None:
    text = """
        class TestA:
            # @tdd-id: m
            def test_m(self): pass
            class TestB:
                # @tdd-id: n
                def test_n(self): pass
        try:
            # @tdd-id: c
            def test_c(): pass
        except E:
            # @tdd-id: d
            def test_d(): pass
    """
    assert found(text) == {"TestA::test_m": "m", "TestA::TestB::test_n": "n", "test_c": "c", "test_d": "d"}


def test_what_is_no_annotation() -> None:
    text = '''
        TEXT = """
        # @tdd-id: in-a-string
        """
        def test_a(): pass
        x = 1  # @tdd-id: after-code
        def test_b(): pass
        # @tdd-id: with::colons
        def test_c(): pass
    '''
    assert found(text) == {}


@pytest.mark.parametrize("text", ["# @tdd-id: a\ndef test_x(:", "# @tdd-id: a\n\0"])
def test_a_file_that_does_not_parse_has_none(text: str) -> None:
    assert found(text) == {}
