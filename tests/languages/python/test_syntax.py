from __future__ import annotations

import ast

import pytest

from verdigris.languages.python.syntax import Source, TextEdit, nodes_in, parse


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
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_nodes_are_found_in_any_text(newline: str, mark: str) -> None:
    text = mark + newline.join(["é = 'ü\u2028'; x = 1", "if x:", "    y = ('\N{GRINNING FACE}', 22)", ""])
    source = Source(text)
    found = [source.segment(node) for node in ast.walk(source.tree) if isinstance(node, ast.Constant)]
    assert sorted(found) == sorted(["'ü\u2028'", "1", "'\N{GRINNING FACE}'", "22"])


def test_edits_apply_together() -> None:
    source = Source("a = 1; b = 2\n")
    one, two = (n for n in ast.walk(source.tree) if isinstance(n, ast.Constant))
    edits = [source.replace_node(two, "two"), source.replace_node(one, "one"), TextEdit(0, 0, "x = ")]
    assert source.apply(edits) == "x = a = one; b = two\n"
    assert source.apply([]) == "a = 1; b = 2\n"


def test_after_a_block() -> None:
    source = Source("with a:\n    b\n    c  # why\nd")
    (block, last) = source.tree.body
    assert source.apply([source.after(block, "e")]) == "with a:\n    b\n    c  # why\ne\nd"
    assert source.apply([source.after(last, "e")]) == "with a:\n    b\n    c  # why\nd; e"


def test_no_python() -> None:
    with pytest.raises(SyntaxError):
        Source("def (")
    with pytest.raises(SyntaxError):
        Source("\0")
    with pytest.raises(SyntaxError):
        Source("'\udcff'")
