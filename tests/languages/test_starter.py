from __future__ import annotations

import pytest

from verdigris.languages.starter import module_name, project_name, says_nothing, title_of


@pytest.mark.parametrize(
    "text", ["", " \n\t", "<!-- later -->\n", "<!-- a\n\n# b\n-->", "<!-- never closed\n# a"]
)
def test_comments_alone_are_no_kata(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["x", "<!-- a --> b", "<!-- a -->\n\n# B\n<!-- c -->"])
def test_a_word_is_a_kata(text: str) -> None:
    assert not says_nothing(text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# String Calculator\n\nIt adds.", "String Calculator"),
        ("It adds.\n\n## Rules ##\n", "Rules"),
        ("<!-- # no -->\n# yes", "yes"),
        ("Bowling Game\n============\n", "Bowling Game"),
        ("no heading\n", ""),
        ("#hashtag\n", ""),
        ("# C#\n", "C"),
    ],
)
def test_the_first_heading_is_the_title(text: str, title: str) -> None:
    assert title_of(text) == title


@pytest.mark.parametrize(
    ("wishes", "name"),
    [
        (("String Calculator",), "string-calculator"),
        (("The Bowling Game Kata!",), "the-bowling-game"),
        (("Römische  Zahlen",), "romische-zahlen"),
        (("100 Doors",), "kata-100-doors"),
        (("", "my.folder"), "my-folder"),
        (("漢字", "x"), "kata"),
        (("../../etc; rm -rf",), "etc-rm-rf"),
        (("String",), "kata-string"),
        (("class",), "kata-class"),
        (("word " * 30,), "word-word-word-word-word-word-word-word"),
    ],
)
def test_a_name_that_is_good_everywhere(wishes: tuple[str, ...], name: str) -> None:
    assert project_name(*wishes, taken=frozenset({"string"})) == name
    assert module_name(name).isidentifier()
