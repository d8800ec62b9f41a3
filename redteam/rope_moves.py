"""Applies one mechanical refactoring to a tree, by rope; run by an interpreter that has rope.

`python rope_moves.py ROOT KIND SEED SKIP`: the candidates of a kind are put into an order by the seed, and
the first that rope carries out after `SKIP` others is written. The last line that it prints is the
refactoring as JSON, or `null` if none is left.
"""

from __future__ import annotations

import ast
import json
import random
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rope.base.exceptions import RopeError  # type: ignore[import-not-found,unused-ignore]
from rope.base.project import Project  # type: ignore[import-not-found,unused-ignore]
from rope.refactor.extract import ExtractMethod, ExtractVariable  # type: ignore[import-not-found,unused-ignore]
from rope.refactor.inline import create_inline  # type: ignore[import-not-found,unused-ignore]
from rope.refactor.move import create_move  # type: ignore[import-not-found,unused-ignore]
from rope.refactor.rename import Rename  # type: ignore[import-not-found,unused-ignore]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Candidate = tuple[str, str, str, Callable[[Any], Any]]
    """Path, name, new name, and what makes the changes."""

_TESTS = re.compile(
    r"(^|/)(tests?|docs?|benchmarks?|examples?|scripts?)(/|$)|(^|/)(test_[^/]*|conftest|setup)\.py$"
)
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_SEVERAL = frozenset({"function", "class", "method", "module", "move"})
"""Kinds that must change more than one file."""


def main() -> int:
    root, kind, seed, skip = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3], int(sys.argv[4])
    project = Project(str(root), ropefolder=None)
    files = {p.relative_to(root).as_posix(): p.read_text("utf-8") for p in sorted(root.rglob("*.py"))}
    source = {path: text for path, text in files.items() if not _TESTS.search(path)}
    found = [one for path, text in source.items() for one in CANDIDATES[kind](path, text, sorted(source))]
    random.Random(seed).shuffle(found)
    for number, (path, name, new, make) in enumerate(found[skip:], skip + 1):
        try:
            changes = make(project)
            touched = [one.path for one in changes.get_changed_resources()] if changes else []
            if not touched or (kind in _SEVERAL and len(touched) < 2):
                continue
            project.do(changes)
        except (
            RopeError,
            SyntaxError,
            ValueError,
            AttributeError,
            TypeError,
            KeyError,
            IndexError,
            AssertionError,
        ):
            continue
        if kind in {"function", "class", "method", "parameter"}:
            _rename_in_texts(root, name, new)
        print(json.dumps({"what": f"{kind} {path}: {name} → {new}", "files": len(touched), "tried": number}))
        return 0
    print("null")
    return 0


def _rename_in_texts(root: Path, name: str, new: str) -> None:
    """What rope leaves to a person: stub files, examples in docstrings, and `__all__`."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    quoted = re.compile(rf"(?<=['\"]){re.escape(name)}(?=['\"])")
    for path in root.rglob("*.pyi"):
        path.write_text(word.sub(new, path.read_text("utf-8")), "utf-8")
    for path in root.rglob("*.py"):
        text = path.read_text("utf-8")
        listed = re.sub(r"__all__ *\+?= *[\[(][^\])]*[\])]", lambda found: quoted.sub(new, found[0]), text)
        example = re.compile(r"^\s*(>>>|\.\.\. ).*$", re.MULTILINE)
        listed = example.sub(lambda found: word.sub(new, found[0]), listed)
        if listed != text:
            path.write_text(listed, "utf-8")


def _offset(text: str, line: int, column: int) -> int:
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())


def _place(text: str, node: ast.expr | ast.stmt | ast.arg, name: str) -> int:
    """The offset of a definition's name."""
    start = _offset(text, node.lineno, node.col_offset)
    return text.index(name, start + (0 if isinstance(node, ast.arg | ast.Name) else len("def ")))


def _renamed(name: str) -> str:
    bare = name.lstrip("_")
    prefix = "Other" if bare[:1].isupper() else "other_"
    return f"{name[: len(name) - len(bare)]}{prefix}{bare}"


def _rename_at(path: str, at: int | None, new: str, project: Any) -> Any:
    return Rename(project, project.get_resource(path), at).get_changes(new, docs=False)


def _move_to(path: str, at: int, to: str, project: Any) -> Any:
    return create_move(project, project.get_resource(path), at).get_changes(project.get_resource(to))


def _extract_to(kind: Any, path: str, span: tuple[int, int], new: str, project: Any) -> Any:
    return kind(project, project.get_resource(path), *span).get_changes(new)


def _inline_at(path: str, at: int, project: Any) -> Any:
    return create_inline(project, project.get_resource(path), at).get_changes()


def _rename(path: str, text: str, node: ast.expr | ast.stmt | ast.arg, name: str) -> Candidate:
    new = _renamed(name)
    return path, name, new, partial(_rename_at, path, _place(text, node, name), new)


def _functions(path: str, text: str, _: list[str]) -> Iterator[Candidate]:
    for node in ast.parse(text).body:
        if isinstance(node, _FUNCTION) and not node.name.startswith("__"):
            yield _rename(path, text, node, node.name)


def _classes(path: str, text: str, _: list[str]) -> Iterator[Candidate]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            yield _rename(path, text, node, node.name)


def _methods(path: str, text: str, _: list[str]) -> Iterator[Candidate]:
    for owner in ast.parse(text).body:
        for node in owner.body if isinstance(owner, ast.ClassDef) else ():
            if isinstance(node, _FUNCTION) and not node.name.startswith("__"):
                yield _rename(path, text, node, node.name)


def _parameters(path: str, text: str, _: list[str]) -> Iterator[Candidate]:
    for node in _function_nodes(text):
        given = (each for each in node.args.args if each.arg not in {"self", "cls"})
        yield from (_rename(path, text, each, each.arg) for each in given)


def _locals(path: str, text: str, _: list[str]) -> Iterator[Candidate]:
    for node in _function_nodes(text):
        stored = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        first = {n.id: n for n in reversed(stored)}
        yield from (_rename(path, text, n, n.id) for n in first.values() if len(n.id) > 1)


def _function_nodes(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(ast.parse(text)) if isinstance(node, _FUNCTION))


def _modules(path: str, _: str, __: list[str]) -> Iterator[Candidate]:
    name = Path(path).stem
    if "__" not in name:
        yield path, name, _renamed(name), partial(_rename_at, path, None, _renamed(name))


def _moves(path: str, text: str, source: list[str]) -> Iterator[Candidate]:
    folder = Path(path).parent
    beside = [p for p in source if Path(p).parent == folder and p != path and "__" not in Path(p).name]
    for node in ast.parse(text).body if Path(path).name != "__init__.py" else ():
        if isinstance(node, (*_FUNCTION, ast.ClassDef)):
            at = _place(text, node, node.name)
            yield from ((path, node.name, to, partial(_move_to, path, at, to)) for to in beside)


def _extracted_functions(path: str, text: str, _: list[str]) -> Iterator[Candidate]:
    lines = text.splitlines(keepends=True)
    for node in _function_nodes(text):
        for block in (getattr(one, "body", ()) for one in ast.walk(node)):
            for first in range(len(block)) if isinstance(block, list) else ():
                part = block[first : first + 3]
                if len(part) < 2 or any(isinstance(s, ast.Return | ast.FunctionDef) for s in part):
                    continue
                start, end = part[0].lineno - 1, part[-1].end_lineno or part[-1].lineno
                span = sum(map(len, lines[:start])), sum(map(len, lines[:end]))
                make = partial(_extract_to, ExtractMethod, path, span, "extracted_part")
                yield path, f"{node.name}:{start + 1}", "extracted_part", make


def _extracted_variables(path: str, text: str, _: list[str]) -> Iterator[Candidate]:
    for node in _function_nodes(text):
        for part in ast.walk(node):
            match part:
                case ast.Return(value=ast.expr() as whole) | ast.Assign(value=whole) | ast.If(test=whole):
                    inner = [e for e in ast.walk(whole) if isinstance(e, ast.Call | ast.BinOp | ast.Compare)]
                case _:
                    continue
            if inner and inner[0].end_lineno == inner[0].lineno:
                line = inner[0].lineno
                columns = inner[0].col_offset, inner[0].end_col_offset or 0
                span = _offset(text, line, columns[0]), _offset(text, line, columns[1])
                make = partial(_extract_to, ExtractVariable, path, span, "extracted_value")
                yield path, f"{node.name}:{line}", "extracted_value", make


def _inlined_variables(path: str, text: str, _: list[str]) -> Iterator[Candidate]:
    for node in _function_nodes(text):
        for part in ast.walk(node):
            match part:
                case ast.Assign(targets=[ast.Name(id=name) as target]):
                    at = _offset(text, target.lineno, target.col_offset)
                    yield path, name, "inlined", partial(_inline_at, path, at)


def _inlined_functions(path: str, text: str, _: list[str]) -> Iterator[Candidate]:
    for node in _function_nodes(text):
        if re.match(r"_[a-z]", node.name) and not node.decorator_list:
            yield path, node.name, "inlined", partial(_inline_at, path, _place(text, node, node.name))


CANDIDATES: dict[str, Callable[[str, str, list[str]], Iterator[Candidate]]] = {
    "function": _functions,
    "class": _classes,
    "method": _methods,
    "parameter": _parameters,
    "local": _locals,
    "module": _modules,
    "move": _moves,
    "extract-function": _extracted_functions,
    "extract-variable": _extracted_variables,
    "inline-variable": _inlined_variables,
    "inline-function": _inlined_functions,
}

if __name__ == "__main__":
    sys.exit(main())
