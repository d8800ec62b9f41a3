"""Compares two texts of a module: whether they differ only in comments, docstrings and layout."""

from __future__ import annotations

import ast
import copy
import re

from verdigris.languages.python.syntax import CODING_LINE, nodes_in, shared_tree, split_statements

_LINE_END = re.compile(r"\r\n|\r|\n")
_PLAIN = re.compile(r"(?i)utf-?8(-sig)?|(us-)?ascii|latin-?1|iso-?8859-\d+|(cp|windows-)125\d")
"""Encodings in which a comment is only a comment. In others, such as UTF-7, it may encode a line end."""
_EXAMPLE = ">>>"
"""Marks an example in a docstring, which doctest may run."""


def same_python_tree(before: str, after: str) -> bool:
    """Whether two texts differ only in comments, docstrings and layout; False if either does not parse."""
    if foreign_encoding(after) is not None or _encodings(before) != _encodings(after):
        return False
    old, new = shared_tree(before), shared_tree(after)
    if old is None or new is None:
        return False
    texts = split_statements(before, old), split_statements(after, new)
    bodies = [_without_docstring(tree.body) for tree in (old, new)]
    if len(bodies[0]) != len(bodies[1]):
        return False
    try:
        return all(
            texts[0].get(one) == texts[1].get(other, ()) or _dump_code(one) == _dump_code(other)
            for one, other in zip(*bodies, strict=True)
        )
    except RecursionError:
        return False


def foreign_encoding(text: str) -> str | None:
    """The declared encoding, if Python may read other code in it than the text read as UTF-8 shows."""
    return next((name for name in _encodings(text) if not _PLAIN.fullmatch(name)), None)


def declares_encoding(text: str) -> bool:
    return bool(_encodings(text))


def _encodings(text: str) -> list[str]:
    """The encodings that the first two lines declare; `splitlines` splits at more signs than Python does."""
    matches = map(CODING_LINE.match, _LINE_END.split(text.removeprefix("\ufeff"), maxsplit=2)[:2])
    return [match[1] for match in matches if match]


def _dump_code(statement: ast.stmt) -> str:
    """Dumps a statement without docstrings, and without the `u` of a string, which formatters remove."""
    own = copy.deepcopy(statement)
    for node in nodes_in(own):
        if isinstance(node, ast.Constant):
            node.kind = None
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = _without_docstring(node.body)
    return ast.dump(own)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body with nothing but the examples of its docstring; a body of nothing else becomes `pass`."""
    match body:
        case [ast.Expr(value=ast.Constant(value=str() as text)), *rest]:
            examples = _examples(text)
            return [ast.Expr(ast.Constant(examples)), *rest] if examples else rest or [ast.Pass()]
        case _:
            return body


def _examples(docstring: str) -> str:
    """What doctest may run and compare: from each `>>>` to the next empty line, without the indentation."""
    examples: list[str] = []
    indent: int | None = None
    for line in docstring.expandtabs().splitlines():
        if line.lstrip().startswith(_EXAMPLE):
            indent = len(line) - len(line.lstrip())
        elif not line.strip():
            indent = None
        if indent is not None:
            examples.append(line[indent:])
    return "\n".join(examples)
