"""Outlines a module: its functions, the names that it binds, and what else it does when it is loaded."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.core.value import field, mutable, replace, value
from verdigris.languages.python.mere_values import is_mere_value, library_names, makes_class
from verdigris.languages.python.modules import source_of
from verdigris.languages.python.syntax import is_literal, lines_of, nodes_in, shared_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_WORD = re.compile(r"[A-Za-z_]\w*")
PROTOCOL = re.compile(
    r"__\w+__|pytest\w*|set_?[uU]p\w*|tear_?[dD]own\w*|load_tests|async(SetUp|TearDown)|_\w+_"
)
"""Names that a runner or the language looks up, although no text of the project uses them."""
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
    """The code that runs when the function is defined."""
    note: str
    """Its docstring."""
    body: str
    """A digest of its body, since outlines of many texts are kept."""
    words: frozenset[str]
    """Every word in the body that could be a name."""
    bare: frozenset[str]
    """The words that it uses only as variables: not as attributes, in texts or in other ways."""
    spans: tuple[tuple[int, int], ...]
    """First and last line; several pairs if the name is defined more than once."""
    plain: bool
    """True if the definition has no effect besides binding the name."""


@value
class BoundName:
    """A name that a plain statement binds."""

    to: str
    module: str = ""
    """The module that is loaded for it, if loading may have effects; else empty."""


@mutable
class Outline:
    """It does not change after it is read."""

    known: Mapping[str, str]
    """What names mean in the standard library (`mere_values`)."""
    functions: dict[str, OutlinedFunction] = field(default_factory=dict)
    """By qualified name; a function inside another is part of that one."""
    names: dict[str, BoundName] = field(default_factory=dict)
    """The names that plain statements bind, by qualified name."""
    shells: dict[str, list[str]] = field(default_factory=lambda: {"": []})
    """By class, and under the empty name for the module: all other statements, without function bodies."""
    variables: set[str] = field(default_factory=set)
    """The words outside of function bodies that are used as variables, without statements that only bind."""
    others: set[str] = field(default_factory=set)
    """The words there that are used in another way."""
    made: dict[str, set[str]] = field(default_factory=dict)
    """By qualified name: the words of its definition, if that only makes a value. The head of a class is
    listed as its `__bases__`.
    """
    classes: set[str] = field(default_factory=set)
    """Classes that may appear or disappear without an effect on code that does not use them."""
    open_classes: set[str] = field(default_factory=set)
    """The classes among these whose members may do so, too; not abstract classes and protocols, where each
    method counts."""
    library: set[str] = field(default_factory=set)
    """The words of imports from the standard library; a star for an `import *`."""
    project: set[str] = field(default_factory=set)
    """The words of all other imports."""

    def add_words(self, node: ast.AST) -> None:
        variables, others = _split_words(node)
        self.variables |= variables
        self.others |= others

    def add_definition(self, name: str, nodes: Iterable[ast.AST]) -> None:
        """Records the words of a name's definition. If others look the name up, the words count as used."""
        for node in nodes:
            if PROTOCOL.fullmatch(name):
                self.add_words(node)
            else:
                self.made.setdefault(name, set()).update(*_split_words(node))


@lru_cache(maxsize=1024)
def outline(text: str) -> Outline | None:
    """Outlines a module; None if it does not parse."""
    try:
        if (tree := shared_tree(text)) is None:
            return None
        draft = Outline(library_names(tree))
        _read_block(draft, "", tree.body, plain=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in nodes_in(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            words = draft.library if all(map(_is_standard, _modules(node))) else draft.project
            words.update(_IMPORTED.findall(ast.unparse(node)))
    return draft


def _modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules that an import names; a relative one begins with its dots."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [source_of(node)]


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _read_block(draft: Outline, owner: str, body: Iterable[ast.stmt], *, plain: bool) -> None:
    """Reads a block. `plain`: names that it binds may appear and disappear without other effects."""
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
            ) if (
                plain
                and not _may_be_test(name, bound)
                and (is_literal(bound) or is_mere_value(bound, draft.known, named=True))
            ):
                qualified = f"{owner}.{name}" if owner else name
                if not is_literal(bound):
                    draft.add_definition(qualified, [bound])
                _bind(draft, qualified, BoundName(ast.dump(node)))
            case ast.Expr(value=ast.Constant(value=str() as said)):
                _bind(draft, f"{owner}.__doc__" if owner else "__doc__", BoundName(said))
            case _:
                _read_other(draft, owner, node)


def _bind(draft: Outline, name: str, bound: BoundName) -> None:
    earlier = draft.names.get(name)
    draft.names[name] = bound if earlier is None else replace(bound, to=f"{earlier.to}\n{bound.to}")


def _read_import(draft: Outline, node: ast.Import | ast.ImportFrom) -> None:
    for alias in node.names:
        start = "" if isinstance(node, ast.Import) else _modules(node)[0]
        module = start or alias.name
        harmless = module.startswith(".") or _is_standard(module)
        bound = alias.asname or alias.name.partition(".")[0]
        _bind(draft, bound, BoundName(f"{start} {alias.name}", "" if harmless else module))
        if alias.asname:
            draft.add_definition(bound, [alias])


def _read_other(draft: Outline, owner: str, node: ast.stmt) -> None:
    """Reads a statement that may do anything; functions and classes in it are read by their names."""
    hidden = _HideDefinitions()
    bare = hidden.visit(deepcopy(node))
    _read_block(draft, owner, hidden.definitions, plain=False)
    draft.shells[owner].append(ast.dump(bare))
    draft.add_words(bare)


class _HideDefinitions(ast.NodeTransformer):
    """Replaces functions and classes inside a statement by their kind and name."""

    def __init__(self) -> None:
        self.definitions: list[ast.stmt] = []

    def visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _Function | ast.ClassDef):
            return self.generic_visit(node)
        self.definitions.append(node)
        return ast.Expr(ast.Constant(f"{'class' if isinstance(node, ast.ClassDef) else 'def'} {node.name}"))


def _read_class(draft: Outline, owner: str, node: ast.ClassDef) -> None:
    name = f"{owner}.{node.name}" if owner else node.name
    bases = [ast.unparse(base) for base in node.bases]
    plain = not node.decorator_list and not node.keywords and all(map(_is_plain_base, bases))
    head = [*node.decorator_list, *node.bases, *node.keywords]
    harmless = [one for one in (*node.decorator_list, *node.bases) if makes_class(one, draft.known)]
    others = [base for base in node.bases if base not in harmless and not _is_plain_base(ast.unparse(base))]
    if plain or not (node.keywords or others or set(node.decorator_list).difference(harmless)):
        draft.classes.add(name)
        draft.open_classes |= {name} if plain else set()
        draft.add_definition(f"{name}.__bases__", head)
    draft.shells.setdefault(name, []).append(str([ast.dump(one) for one in head]))
    if name not in draft.classes:
        for one in head:
            draft.add_words(one)
    _read_block(draft, name, node.body, plain=plain)


def _read_function(draft: Outline, owner: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    name = f"{owner}.{node.name}" if owner else node.name
    note = ast.get_docstring(node, clean=False) or ""
    body = node.body[1:] if note else node.body
    outside = [node.args, *node.decorator_list, *([node.returns] if node.returns else [])]
    plain = all(map(_is_plain_decorator, node.decorator_list)) and _has_plain_defaults(node.args)
    if plain and (not owner or owner in draft.classes) and not any(map(_calls_within, outside)):
        draft.add_definition(name, outside)
    else:
        for one in outside:
            draft.add_words(one)
    kinds = sorted(
        {type(one).__name__ for one in _own_nodes(node.body) if isinstance(one, ast.Yield | ast.YieldFrom)}
    )
    earlier = draft.functions.get(name)
    variables, others = _split_words(ast.Module(body, []))
    outlined = OutlinedFunction(
        head=f"{type(node).__name__} {kinds} {[ast.dump(one) for one in outside]}",
        note=note,
        body=_digest("\n".join(map(ast.dump, body))),
        words=frozenset(variables | others),
        bare=frozenset(variables - others),
        spans=(lines_of(node),),
        plain=plain,
    )
    draft.functions[name] = outlined if earlier is None else _join_definitions(earlier, outlined)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _join_definitions(one: OutlinedFunction, other: OutlinedFunction) -> OutlinedFunction:
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
    """Whether no default of a parameter calls anything."""
    defaults = (one for one in (*args.defaults, *args.kw_defaults) if one is not None)
    return not any(isinstance(node, ast.Call) for one in defaults for node in nodes_in(one))


def _calls_within(node: ast.AST) -> bool:
    """Whether there is a call inside the node; the node itself may be one, as a decorator with arguments."""
    return any(isinstance(one, ast.Call) for one in nodes_in(node) if one is not node)


def _is_plain_base(name: str) -> bool:
    """Whether a base class has no effect on the classes derived from it."""
    return name in _PLAIN_BASES or _RAISED.fullmatch(name) is not None


def _is_plain_decorator(node: ast.expr) -> bool:
    """Whether a decorator affects nothing but its function."""
    text = ast.unparse(node)
    return text.startswith("pytest.mark.") or text.partition("(")[0].rpartition(".")[2] in _PLAIN_DECORATORS


def _binds_names(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.Import):
        return True
    library = _is_standard(_modules(node)[0])
    tests = any((alias.asname or alias.name).startswith(("test_", "Test")) for alias in node.names)
    return (
        node.module != "__future__" and (library or not tests) and all(one.name != "*" for one in node.names)
    )


def _may_be_test(name: str, bound: ast.expr) -> bool:
    """Whether the assignment may add a test under that name, or remove one."""
    callable_ = isinstance(bound, ast.Name | ast.Attribute | ast.Call)
    nothing = isinstance(bound, ast.Constant) and bound.value is None
    return name.lower().startswith("test") and (callable_ or nothing)


COMPUTED = "computed name"
"""Stands for a name that is computed at run time, so that the text does not show it."""


def _split_words(node: ast.AST) -> tuple[set[str], set[str]]:
    """The words that are used as variables, and those that are used in any other way."""
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
