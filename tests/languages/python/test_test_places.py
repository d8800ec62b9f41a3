from __future__ import annotations

import pytest

from verdigris.languages.registry import reader_of

WHY = 'blocked: "a" \\ b'


def marked(text: str, name: str, why: str = "blocked: no source of truth") -> str | None:
    done = reader_of("tests/test_a.py").tests.with_skip("tests/test_a.py", text.encode(), name, why)
    return None if done is None else done.decode()


def test_a_function_gets_the_mark_and_the_import_that_it_needs() -> None:
    text = '"""Sums."""\n\nimport os\n\nfrom calc import add\n\n\ndef test_a():\n    assert add(1, 2) == 3\n'
    assert marked(text, "test_a") == text.replace("from calc", "import pytest\nfrom calc").replace(
        "def test_a", '@pytest.mark.skip(reason="blocked: no source of truth")\ndef test_a'
    )


@pytest.mark.parametrize(
    ("begin", "then"),
    [
        ("def test_a():\n", "import pytest\n\n\n@pytest."),
        ("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\ndef test_a():\n", "import pytest\n\n\n@pytest."),
        ("# @tdd-id: a\ndef test_a():\n", "import pytest\n\n\n# @tdd-id: a\n@pytest."),
        ('"""Doc."""\n\ndef test_a():\n', '"""Doc."""\n\nimport pytest\n\n@pytest.'),
        ("import os\n\n\ndef test_a():\n", "import os\n\nimport pytest\n\n\n@pytest."),
        (
            "from __future__ import annotations\n\n\ndef test_a():\n",
            "from __future__ import annotations\n\nimport pytest\n\n\n@pytest.",
        ),
        ("import pytest as pt\n\n\ndef test_a():\n", "import pytest as pt\n\n\n@pt.mark.skip("),
        (
            "from pytest import mark\n\n\ndef test_a():\n",
            "import pytest\nfrom pytest import mark\n\n\n@pytest.",
        ),
        ("try:\n    import pytest\nexcept ImportError:\n    pass\ndef test_a():\n", "import pytest\n\n\ntry"),
    ],
)
def test_the_import_stands_where_imports_stand_and_once(begin: str, then: str) -> None:
    done = marked(begin + "    assert 1 == 2\n", "test_a") or ""
    assert then in done
    compile(done, "test_a.py", "exec")


@pytest.mark.parametrize(
    ("before", "name", "after"),
    [
        (
            "import pytest\n@pytest.mark.order(1)\nasync def test_a(n): ...\n",
            "test_a[1]",
            (
                'import pytest\n@pytest.mark.skip(reason="blocked: x")\n@pytest.mark.order(1)\n'
                "async def test_a(n): ...\n"
            ),
        ),
        (
            "import pytest\r\nclass TestA:\r\n\tdef test_a(self):\r\n\t\tassert 0\r\n",
            "TestA::test_a",
            (
                'import pytest\r\nclass TestA:\r\n\t@pytest.mark.skip(reason="blocked: x")\r\n'
                "\tdef test_a(self):\r\n\t\tassert 0\r\n"
            ),
        ),
        (
            "import unittest as u\nclass A(u.T):\n    def test_a(self): ...\n",
            "A::test_a",
            'import unittest as u\nclass A(u.T):\n    @u.skip("blocked: x")\n    def test_a(self): ...\n',
        ),
        (
            "from base import Base\nclass A(Base):\n    def test_a(self): ...\n",
            "A::test_a",
            (
                'import unittest\nfrom base import Base\nclass A(Base):\n    @unittest.skip("blocked: x")\n'
                "    def test_a(self): ...\n"
            ),
        ),
        (
            "import pytest\nif 1:\n    def test_a(): ...\nelse:\n    def test_a(): ...\n",
            "test_a",
            (
                'import pytest\nif 1:\n    @pytest.mark.skip(reason="blocked: x")\n    def test_a(): ...\n'
                'else:\n    @pytest.mark.skip(reason="blocked: x")\n    def test_a(): ...\n'
            ),
        ),
    ],
)
def test_the_mark_stands_above_the_decorators_in_the_layout_of_the_file(
    before: str, name: str, after: str
) -> None:
    assert marked(before, name, "blocked: x") == after
    assert marked(after, name, "blocked: y") == after


@pytest.mark.parametrize("name", ["test_b", "TestA", "TestA::test_a", "", "helper"])
def test_what_is_no_test_of_the_file_is_not_marked(name: str) -> None:
    assert marked("def test_a(): ...\nclass TestA: ...\n", name) is None


def test_a_text_that_is_no_python_is_not_marked() -> None:
    assert marked("def test_a(:\n", "test_a") is None


def test_the_reason_is_one_line_and_a_string_with_the_same_words() -> None:
    done = marked("import pytest\ndef test_a(): ...\n", "test_a", f"{WHY}\n\tand more\x00 “…”") or ""
    assert '@pytest.mark.skip(reason="blocked: \\"a\\" \\\\ b and more “…”")\n' in done
    compile(done, "test_a.py", "exec")


def test_a_file_in_another_encoding_stays_in_it() -> None:
    text = "# coding: latin-1\nimport pytest\ndef test_a(): ...\n"
    assert 'reason="blocked: \\u201cx\\u201d"' in (marked(text, "test_a", "blocked: “x”") or "")
    data = text.encode() + b"# \xe9\n"
    assert reader_of("a.py").tests.with_skip("a.py", data, "test_a", "blocked: x") is None
