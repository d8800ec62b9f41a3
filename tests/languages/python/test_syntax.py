from __future__ import annotations

import ast

import pytest

from verdigris.languages.python.syntax import nodes_in, parse, split_lines


def test_all_nodes_are_listed_in_the_order_of_the_library() -> None:
    tree = parse(
        "@d(1)\nasync def f(a, *b, c: int = 2, **k) -> str:\n    x: int\n    del a.b[1:2], c\n"
        "    match c:\n        case {'a': [1, *r], **o} | P(x=y) if z: ...\n"
        "    return lambda: {**k, 1: f'{a!r:>{b}}'}\n"
        "class C(B, metaclass=M):\n    with a as b, c: yield\n    global q\n"
        "    try: pass\n    except E as e: raise\n"
    )
    known = [node for node in ast.walk(tree) if not isinstance(node, ast.expr_context)]
    assert nodes_in(tree) == known


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_end_where_python_ends_them(newline: str) -> None:
    text = newline.join(["é = 'ü\u2028'; x = 1", "if x:", "    y = '\x0c'", ""])
    assert [line.rstrip("\r\n") for line in split_lines(text)] == text.split(newline)[:-1]
    assert "".join(split_lines(text)) == text


def test_no_python() -> None:
    with pytest.raises(SyntaxError):
        parse("def (")
    with pytest.raises(SyntaxError):
        parse("\0")
    with pytest.raises(SyntaxError):
        parse("'\udcff'")
