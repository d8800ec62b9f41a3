"""Reads the imports of a Python text, resolves them to files, and lists tests that a change may affect."""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.core.test_ids import function_of, split_id
from verdigris.languages.findings import Imported
from verdigris.languages.folders import first_known
from verdigris.languages.protocol import Imports
from verdigris.languages.python.modules import ENDS, import_roots, relative_place, source_of, without_suffix
from verdigris.languages.python.stubs.origins import Origins
from verdigris.languages.python.syntax import parse_or_none

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.languages.findings import Importable
    from verdigris.languages.literals import Chance


_IMPORTABLE = (".py", ".pyi", ".pyc", ".so", ".pyd", ".pyx")
_CODE = (".py", ".pyi", ".pyx")


class PythonImports(Imports):
    def read(self, path: str, data: bytes) -> tuple[Imported, ...]:  # noqa: ARG002 - read alike by any name
        tree = _parse(data)
        imports: list[Imported] = []
        for node in () if tree is None else ast.walk(tree):
            match node:
                case ast.Import(names=aliases):
                    imports += [Imported(node.lineno, alias.name) for alias in aliases]
                case ast.ImportFrom(names=aliases):
                    imports += [Imported(node.lineno, source_of(node), alias.name) for alias in aliases]
        return tuple(imports)

    def decorators(self, path: str, data: bytes) -> tuple[Imported, ...]:  # noqa: ARG002 - read alike by any name
        tree = _parse(data)
        if tree is None:
            return ()
        origins = Origins.of(tree)
        decorators = (one for node in ast.walk(tree) for one in getattr(node, "decorator_list", ()))
        bare = (one.func if isinstance(one, ast.Call) else one for one in decorators)
        named = ((one.lineno, origins.origin(one)) for one in bare)
        return tuple(Imported(line, name.rpartition(".")[0]) for line, name in named if "." in name)

    def targets(self, path: str, one: Imported, files: Importable) -> Iterator[str]:
        """The files that an import runs: the module, and the imported name if that is a module, too."""
        for module in _modules(one):
            yield from _files_of_import(path, module, files)

    def roots(self, paths: Iterable[str]) -> tuple[str, ...]:
        return import_roots(paths)

    def is_declaration(self, path: str) -> bool:
        return path.endswith(".pyi")

    def is_importable(self, path: str) -> bool:
        return path.endswith(_IMPORTABLE)

    def imported_files(self, path: str, text: str, files: frozenset[str]) -> Iterator[str]:
        folders = _import_folders(files)
        for one in self.read(path, text.encode("utf-8", "surrogateescape")):
            for module in _modules(one):
                places = _places(path, module, folders)
                yield from first_known((f"{at}{end}" for at in places for end in ENDS), files)


def _modules(one: Imported) -> tuple[str, ...]:
    """The modules that an import may load: an imported name may be a module itself."""
    dot = "." if one.module.strip(".") else ""
    return tuple(dict.fromkeys((one.module, f"{one.module}{dot}{one.name}" if one.name else one.module)))


def _places(path: str, module: str, roots: Iterable[str]) -> list[str]:
    """The paths, without an ending, that the name of a module may mean."""
    relative = relative_place(module, path)
    return (
        [posixpath.join(root, module.replace(".", "/")) for root in roots] if relative is None else [relative]
    )


def _parse(data: bytes) -> ast.Module | None:
    return parse_or_none(data.decode("utf-8", "surrogateescape"))


def _files_of_import(path: str, module: str, files: Importable) -> Iterator[str]:
    targets = [at for place in _places(path, module, files.roots) for at in _files_at(place, files)]
    is_ours = not module.startswith(".") and module.partition(".")[0] not in sys.stdlib_module_names
    if not targets and is_ours:
        # A runner may put any folder on `sys.path`, so the end of a path decides.
        ends = tuple(f"/{module.replace('.', '/')}{end}" for end in ENDS)
        targets = [at for at in files.paths if f"/{at}".endswith(ends)]
    yield from targets


def _files_at(place: str, files: Importable) -> Iterator[str]:
    for stem in (place, posixpath.join(place, "__init__")):
        yield from files.stems.get(stem, ())


@lru_cache(maxsize=4)
def _import_folders(files: frozenset[str]) -> tuple[str, ...]:
    """The folders from which modules are imported; the one with the longest path comes first."""
    roots = import_roots(name for name in files if name.endswith(_CODE))
    return tuple(sorted(roots, key=lambda root: (-len(root), root)))


_MANY = 400
"""The most tests that are looked at; if there are more, as many are drawn at random."""


def list_affected(
    passed: Iterable[str],
    tests: Mapping[str, str],
    before: Mapping[str, str],
    after: Mapping[str, str],
    random: Chance,
) -> tuple[str, ...]:
    """The test functions that a change of source may affect, the most likely first.

    First come those whose own text names something that changed, then those whose file does, then those whose
    file names a changed module; each group in random order.
    `passed`: native ids. `tests`: texts of test files. `before`, `after`: changed source, all by path.
    """
    names = frozenset(name for path, text in after.items() for name in changed_names(before.get(path), text))
    modules = frozenset(without_suffix(path).rpartition("/")[2] for path in after)
    natives = list(passed)
    if len(natives) > _MANY:
        natives = random.sample(natives, _MANY)
    ranked: list[tuple[int, float, str]] = []
    for test_id in natives:
        rank = _rank(test_id, tests, names, modules)
        if rank is not None:
            ranked.append((rank, random.random(), test_id))
    return tuple(dict.fromkeys(function_of(test_id) for _, _, test_id in sorted(ranked)))


def changed_names(before: str | None, after: str) -> frozenset[str]:
    """The names of new or changed functions, classes and constants, and of the classes around them."""
    old = {} if before is None else dict(_definitions(before))
    return frozenset(
        part
        for name, text in _definitions(after)
        if old.get(name) != text
        for part in name.split(".")
        if not (part.startswith("__") and part.endswith("__"))
    )


def _definitions(text: str) -> list[tuple[str, str]]:
    if (tree := parse_or_none(text)) is None:
        return []
    definitions: list[tuple[str, str]] = []

    def look(body: Iterable[ast.stmt], prefix: str) -> None:
        for node in body:
            match node:
                case ast.ClassDef():
                    look(node.body, f"{prefix}{node.name}.")
                    definitions.append((f"{prefix}{node.name}", ast.dump(node)))
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    definitions.append((f"{prefix}{node.name}", ast.dump(node)))
                case ast.Assign(targets=targets):
                    names = (t.id for t in targets if isinstance(t, ast.Name))
                    definitions.extend((f"{prefix}{name}", ast.dump(node)) for name in names)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    definitions.append((f"{prefix}{name}", ast.dump(node)))
                case ast.If() | ast.Try() | ast.With():
                    look(ast.iter_child_nodes(node), prefix)  # type: ignore[arg-type] # others match nothing

    look(tree.body, "")
    return definitions


def _rank(
    test_id: str, tests: Mapping[str, str], names: frozenset[str], modules: frozenset[str]
) -> int | None:
    where = split_id(test_id)
    text = tests.get(where.path)
    if text is None:
        return None
    words = _words(text)
    if names & words:
        own = _own_text(text, where.function.rpartition("::")[2])
        return 0 if names & _words(own) else 1
    return 2 if modules & words else None


def _own_text(text: str, function: str) -> str:
    """Returns the text from the function's definition to the next one that stands no deeper."""
    begun = re.search(rf"^([ \t]*)(?:async\s+)?def {re.escape(function)}\b", text, re.MULTILINE)
    if begun is None:
        return ""
    rest = text[begun.end() :]
    ended = re.search(rf"^(?!{begun.group(1)}[ \t]+)[ \t]*(?:async|def|class|@)", rest, re.MULTILINE)
    return rest[: ended.start()] if ended else rest


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))
