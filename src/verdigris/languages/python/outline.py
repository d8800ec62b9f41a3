"""Outlines a module: its functions, the names that it binds, and what else it does when it is loaded."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.core.value import field, mutable, replace, value
from verdigris.languages.python.mere_values import find_makers, is_mere_value, makes_class
from verdigris.languages.python.syntax import nodes_in, shared_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_WORD = re.compile(r"[A-Za-z_]\w*")
PROTOCOL = re.compile(
    r"__\w+__|pytest\w*|set_?[uU]p\w*|tear_?[dD]own\w*|load_tests|async(SetUp|TearDown)|_\w+_"
)
"""Names that others look for though no text of the project says them."""
_IMPORTED = re.compile(r"[A-Za-z_]\w*|\*")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_PLAIN_BASES = frozenset({"object", "TestCase", "unittest.TestCase"})
_RAISED = re.compile(r"\w*(Error|Exception|Warning)")
_PLAIN_DECORATORS = frozenset(
    {
        *("staticmethod", "classmethod", "property", "setter", "getter", "deleter", "cached_property"),
        *("contextmanager", "asynccontextmanager", "overload", "abstractmethod", "override", "final"),
        *("lru_cache", "cache", "wraps", "skip", "skipIf", "skipUnless", "expectedFailure"),
    }
)


@value
class OutlinedFunction:
    head: str
    """What is evaluated where it is defined."""
    note: str
    """Its documentation."""
    body: str
    """A digest: outlines of many texts are kept."""
    words: frozenset[str]
    """Every word in it that could be the name of something."""
    bare: frozenset[str]
    """Those that it says as variables alone: nowhere as attributes, in texts or in other ways."""
    spans: tuple[tuple[int, int], ...]
    """First and last lines; several where one name is defined more than once."""
    plain: bool
    """To define it does nothing but bind its name."""


@value
class BoundName:
    """A name that a plain statement binds."""

    to: str
    module: str = ""
    """The module that is loaded for it, where that may have effects."""


@value
class Outline:
    functions: Mapping[str, OutlinedFunction]
    """By qualified name; what is defined in a function is part of it."""
    names: Mapping[str, BoundName]
    """Qualified."""
    shells: Mapping[str, tuple[str, ...]]
    """By class, and under the empty name the module's: all other statements, without bodies of functions."""
    words: frozenset[str]
    """Every word outside of bodies, but for what only binds a name."""
    bare: frozenset[str]
    """Those of them that are said as variables alone."""
    made: Mapping[str, frozenset[str]]
    """By qualified name: of which words it is made, where nothing is done but to make it. The head of a class
    is told as its `__bases__`.
    """
    classes: frozenset[str]
    """Classes whose names may come and go."""
    open_classes: frozenset[str]
    """Those of them of which names may do so, too: of an abstract class or a protocol each method counts."""
    imports: frozenset[str]
    """Every word of what it imports, wherever; a star where it takes all names of a module."""
    library: frozenset[str]
    """Those of them that it says only to import from the standard library."""


@mutable
class _OutlineDraft:
    functions: dict[str, OutlinedFunction] = field(default_factory=dict)
    names: dict[str, BoundName] = field(default_factory=dict)
    shells: dict[str, list[str]] = field(default_factory=lambda: {"": []})
    variables: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    """Words that are said otherwise than as variables."""
    made: dict[str, set[str]] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)
    open_classes: set[str] = field(default_factory=set)
    makers: frozenset[str] = frozenset()
    """What only makes a value where the module calls it (`mere_values`)."""

    def say(self, node: ast.AST) -> None:
        variables, others = _split_words(node)
        self.variables |= variables
        self.others |= others

    def say_of(self, name: str, nodes: Iterable[ast.AST]) -> None:
        """What a name is made of; what others look for by its name is as good as used where it stands."""
        for node in nodes:
            if PROTOCOL.fullmatch(name):
                self.say(node)
            else:
                self.made.setdefault(name, set()).update(*_split_words(node))


@lru_cache(maxsize=1024)
def outline(text: str) -> Outline | None:
    """None where it cannot be parsed."""
    try:
        if (tree := shared_tree(text)) is None:
            return None
        draft = _OutlineDraft(makers=find_makers(tree))
        _read_block(draft, "", tree.body, plain=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    shells = {name: tuple(lines) for name, lines in draft.shells.items()}
    library, others = _imported_words(tree)
    return Outline(
        draft.functions,
        draft.names,
        shells,
        frozenset(draft.variables | draft.others),
        frozenset(draft.variables - draft.others),
        {name: frozenset(words) for name, words in draft.made.items()},
        frozenset(draft.classes),
        frozenset(draft.open_classes),
        frozenset(library | others),
        frozenset(library - others),
    )


def _imported_words(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Words of imports from the standard library, and those of all other imports."""
    found: tuple[set[str], set[str]] = (set(), set())
    for node in nodes_in(tree):
        match node:
            case ast.Import(names=names):
                modules = [one.name for one in names]
            case ast.ImportFrom(module=module, level=level):
                modules = ["" if level else module or ""]
            case _:
                continue
        other = any(one.partition(".")[0] not in sys.stdlib_module_names for one in modules)
        found[other].update(_IMPORTED.findall(ast.unparse(node)))
    return found


def _read_block(draft: _OutlineDraft, owner: str, body: Iterable[ast.stmt], *, plain: bool) -> None:
    """`plain`: names that the block binds may come and go."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                _read_function(draft, owner, node)
            case ast.ClassDef():
                _read_class(draft, owner, node)
            case ast.If() if ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
                _read_block(draft, owner, node.orelse, plain=False)
            case ast.Import() | ast.ImportFrom() if plain and not owner and _binds_names(node):
                _read_import(draft, node)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=bound)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as bound)
            ) if plain and not _may_be_test(name, bound) and _is_made(bound, draft.makers):
                made = f"{owner}.{name}" if owner else name
                if not _is_literal(bound):
                    draft.say_of(made, [bound])
                _bind(draft, made, BoundName(ast.dump(node)))
            case ast.Expr(value=ast.Constant(value=str() as said)):
                _bind(draft, f"{owner}.__doc__" if owner else "__doc__", BoundName(said))
            case _:
                _read_other(draft, owner, node)


def _bind(draft: _OutlineDraft, name: str, bound: BoundName) -> None:
    known = draft.names.get(name)
    draft.names[name] = bound if known is None else replace(bound, to=f"{known.to}\n{bound.to}")


def _read_import(draft: _OutlineDraft, node: ast.Import | ast.ImportFrom) -> None:
    for alias in node.names:
        start = "" if isinstance(node, ast.Import) else f"{'.' * node.level}{node.module or ''}"
        module = start or alias.name
        harmless = module.startswith(".") or module.partition(".")[0] in sys.stdlib_module_names
        bound = alias.asname or alias.name.partition(".")[0]
        _bind(draft, bound, BoundName(f"{start} {alias.name}", "" if harmless else module))
        if alias.asname:
            draft.say_of(bound, [alias])


def _read_other(draft: _OutlineDraft, owner: str, node: ast.stmt) -> None:
    """A statement of which nothing is known; functions in it keep their names."""
    inner = [one for one in _statements_in(node) if isinstance(one, _Function | ast.ClassDef)]
    for one in inner:
        _read_block(draft, owner, [one], plain=False)
    hidden = _Hidden()
    bare = hidden.visit(ast.parse(ast.unparse(node)).body[0])
    draft.shells[owner].append(ast.dump(bare))
    draft.say(bare)


def _statements_in(node: ast.stmt) -> Iterator[ast.stmt]:
    """Those in the blocks of a statement, not in functions and classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
            if not isinstance(child, _Function | ast.ClassDef):
                yield from _statements_in(child)
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            for one in child.body:
                yield one
                if not isinstance(one, _Function | ast.ClassDef):
                    yield from _statements_in(one)


class _Hidden(ast.NodeTransformer):
    """Leaves of functions and classes inside a statement only that they are there."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return ast.Expr(ast.Constant(f"def {node.name}"))

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return ast.Expr(ast.Constant(f"def {node.name}"))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return ast.Expr(ast.Constant(f"class {node.name}"))


def _read_class(draft: _OutlineDraft, owner: str, node: ast.ClassDef) -> None:
    name = f"{owner}.{node.name}" if owner else node.name
    bases = [ast.unparse(base) for base in node.bases]
    plain = not node.decorator_list and not node.keywords and all(map(_is_plain_base, bases))
    head = [*node.decorator_list, *node.bases, *node.keywords]
    known = [one for one in (*node.decorator_list, *node.bases) if makes_class(one, draft.makers)]
    others = [base for base in node.bases if base not in known and not _is_plain_base(ast.unparse(base))]
    if plain or not (node.keywords or others or set(node.decorator_list).difference(known)):
        draft.classes.add(name)
        draft.open_classes |= {name} if plain else set()
        draft.say_of(f"{name}.__bases__", head)
    draft.shells.setdefault(name, []).append(str([ast.dump(one) for one in head]))
    if name not in draft.classes:
        for one in head:
            draft.say(one)
    _read_block(draft, name, node.body, plain=plain)


def _read_function(draft: _OutlineDraft, owner: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    name = f"{owner}.{node.name}" if owner else node.name
    note = ast.get_docstring(node, clean=False) or ""
    body = node.body[1:] if note else node.body
    outside = [node.args, *node.decorator_list, *([node.returns] if node.returns else [])]
    plain = all(map(_is_plain_decorator, node.decorator_list)) and _has_plain_defaults(node.args)
    if plain and (not owner or owner in draft.classes) and not any(map(_calls_within, outside)):
        draft.say_of(name, outside)
    else:
        for one in outside:
            draft.say(one)
    kinds = sorted(
        {type(one).__name__ for one in _own_nodes(node.body) if isinstance(one, ast.Yield | ast.YieldFrom)}
    )
    known = draft.functions.get(name)
    variables, others = _split_words(ast.Module(body, []))
    made = OutlinedFunction(
        head=f"{type(node).__name__} {kinds} {[ast.dump(one) for one in outside]}",
        note=note,
        body=_digest("\n".join(map(ast.dump, body))),
        words=frozenset(variables | others),
        bare=frozenset(variables - others),
        spans=(
            (
                min([node.lineno, *(one.lineno for one in node.decorator_list)]),
                node.end_lineno or node.lineno,
            ),
        ),
        plain=plain,
    )
    draft.functions[name] = made if known is None else _join(known, made)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _join(one: OutlinedFunction, other: OutlinedFunction) -> OutlinedFunction:
    return OutlinedFunction(
        f"{one.head}\n{other.head}",
        f"{one.note}\n{other.note}",
        f"{one.body}\n--\n{other.body}",
        one.words | other.words,
        frozenset(
            word
            for word in one.bare | other.bare
            if all(word in side.bare or word not in side.words for side in (one, other))
        ),
        (*one.spans, *other.spans),
        plain=False,
    )


def _own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    left = list(body)
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, _Function | ast.Lambda):
            left += ast.iter_child_nodes(node)


def _has_plain_defaults(args: ast.arguments) -> bool:
    """None of them calls anything."""
    found = (one for one in (*args.defaults, *args.kw_defaults) if one is not None)
    return not any(isinstance(node, ast.Call) for one in found for node in nodes_in(one))


def _calls_within(node: ast.AST) -> bool:
    """Whether more is called than the node itself, which may be a decorator with arguments."""
    return any(isinstance(one, ast.Call) for one in nodes_in(node) if one is not node)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_plain_base(name: str) -> bool:
    """A class that does nothing to those that are made of it."""
    return name in _PLAIN_BASES or _RAISED.fullmatch(name) is not None


def _is_plain_decorator(node: ast.expr) -> bool:
    """One that does nothing to others than the function that it stands on."""
    text = ast.unparse(node)
    return text.startswith("pytest.mark.") or text.partition("(")[0].rpartition(".")[2] in _PLAIN_DECORATORS


def _binds_names(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.Import):
        return True
    library = not node.level and (node.module or "").partition(".")[0] in sys.stdlib_module_names
    tests = any((alias.asname or alias.name).startswith(("test_", "Test")) for alias in node.names)
    return (
        node.module != "__future__" and (library or not tests) and all(one.name != "*" for one in node.names)
    )


def _is_made(node: ast.expr, makers: frozenset[str]) -> bool:
    return _is_literal(node) or is_mere_value(node, makers, named=True)


def _may_be_test(name: str, bound: ast.expr) -> bool:
    """Whether a runner may find a test by that name, or no longer find one."""
    callable_ = isinstance(bound, ast.Name | ast.Attribute | ast.Call)
    nothing = isinstance(bound, ast.Constant) and bound.value is None
    return name.lower().startswith("test") and (callable_ or nothing)


COMPUTED = "computed name"
"""In place of a word, where a name is looked up that the text does not say."""


def _split_words(node: ast.AST) -> tuple[set[str], set[str]]:
    """Words that are said as variables, and those that are said in any other way."""
    variables: set[str] = set()
    others: set[str] = set()
    for one in nodes_in(node):
        match one:
            case ast.Name(id=name):
                variables.add(name)
            case ast.Attribute(attr=name) | ast.keyword(arg=str() as name) | ast.alias(name=name):
                others |= set(name.split("."))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                others.add(name)
            case ast.Constant(value=str() as text):
                others |= set(_WORD.findall(text))
            case ast.MatchClass(kwd_attrs=names):
                others |= set(names)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                others |= set(names)
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr" | "setattr" | "delattr"), args=[_, key, *_]
            ) if not isinstance(key, ast.Constant):
                others.add(COMPUTED)
    return variables, others
