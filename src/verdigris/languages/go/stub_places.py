"""Places the stubs of a Go test into the package that it tests, and into others of its module."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.languages.go.stubs import imports_of
from verdigris.languages.go.uses import find_wanted, read_declarations
from verdigris.languages.grammar.trees import part, parts, text_of_node, tree_of, walk
from verdigris.languages.probes import ByteEdit, apply_edits
from verdigris.languages.stubs import Signature, Stub, Wanted, WorktreeFiles, data_of, untold_notes

_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_TEST = "_test.go"


def stubs_of(path: str, files: WorktreeFiles, said: Sequence[str]) -> tuple[Stub, ...]:
    """The stubs of a test. `said`: what the compiler said about it, which names members of existing types."""
    data = data_of(path, files)
    folder = posixpath.dirname(path)
    clauses = (text_of_node(node) for node in parts(tree_of(path, data)[0]) if node.type == "package_clause")
    package = next(clauses, "").partition(" ")[2].strip()
    found: list[Stub] = []
    if not package.endswith("_test"):
        inner = _Package(folder, package, files, test=path)
        found += inner.stubs(find_wanted(path, data, inner.known | inner.known_in_tests(), "", said))
    for name, spec in imports_of(data, path).items():
        at = text_of_node(part(spec, "path")).strip('"`')
        inside = _folder(at, path, files)
        if inside is not None:
            same = inside == folder
            bare = package.removesuffix("_test") if same else posixpath.basename(at)
            outer = _Package(inside, bare, files, test=path if same else "")
            found += outer.stubs(find_wanted(path, data, outer.known, name, said))
    return tuple(found)


class _Package:
    def __init__(self, folder: str, name: str, files: WorktreeFiles, test: str) -> None:
        self._name, self._files = name, files
        beside = [at for at in files.paths if at.endswith(".go") and posixpath.dirname(at) == folder]
        self._tests = [at for at in beside if at.endswith(_TEST)]
        self._sources = sorted(at for at in beside if at not in self._tests and files.is_source(at))
        own = test.removesuffix(_TEST) + ".go" if test else f"{folder}/{name}.go".lstrip("/")
        self._at = own if test or own in self._sources or not self._sources else self._sources[0]
        """The file for new declarations."""
        self.known: dict[str, str] = {}
        for at in sorted(set(beside) - set(self._tests)):
            self.known |= read_declarations(at, data_of(at, files))

    def known_in_tests(self) -> dict[str, str]:
        known = [read_declarations(at, data_of(at, self._files)) for at in self._tests]
        return {name: kind for one in known for name, kind in one.items()}

    def stubs(self, wanted: Sequence[Wanted]) -> Iterator[Stub]:
        existing = [one for one in wanted if one.name in self.known]
        texts = [text for one in wanted for text in _write_stub(one, existing=one in existing)]
        for at in dict.fromkeys((self._at, *self._sources)):
            text = "\n".join(texts) if at == self._at else ""
            fields = dict(self._new_fields(at, existing))
            new = at not in self._files.paths
            if not self._files.is_source(at) or not (text or fields or (new and not self._sources)):
                continue
            edits = [ByteEdit(place, place, added) for place, added in fields.items()]
            grown = apply_edits(data_of(at, self._files), edits).decode("utf-8", "surrogateescape")
            before = grown.rstrip("\n") or f"package {self._name}"
            shown = "\n".join([*fields.values(), text])
            yield Stub(
                at,
                f"package {self._name}\n\n{shown}" if new else shown,
                f"{before}\n\n{text}" if text else f"{before}\n",
                new=new,
                notes=tuple(note for one in wanted for note in untold_notes(one)) if text else (),
            )

    def _new_fields(self, at: str, wanted: Sequence[Wanted]) -> Iterator[tuple[int, str]]:
        """The fields that structs of a file lack, by the place where each struct ends."""
        for node in walk(tree_of(at, data_of(at, self._files))[0]) if wanted else ():
            kind, name = part(node, "type"), text_of_node(part(node, "name"))
            members = [one for owner in wanted if owner.name == name for one in _fields(owner)]
            if node.type == "type_spec" and kind is not None and kind.type == "struct_type" and members:
                yield (
                    kind.end_byte - 1,
                    "".join(f"\t{one.name} {one.type or 'any'} // {MARK}\n" for one in members),
                )


def _fields(one: Wanted) -> list[Wanted]:
    called = {member.name for member in one.members if member.kind == "function"}
    return [member for member in one.members if member.kind == "value" and member.name not in called]


def _write_stub(one: Wanted, *, existing: bool) -> Iterator[str]:
    match one.kind:
        case "function":
            yield _write_function(one.name, one.signature, "")
        case "error":
            yield f"var {one.name} error // {MARK}\n"
        case "class":
            if not existing:
                body = "".join(f"\t{field.name} {field.type or 'any'}\n" for field in _fields(one))
                yield f"// {MARK}\ntype {one.name} struct {{{chr(10) if body else ''}{body}}}\n"
            receiver = f"({one.name[0].lower()} {'*' * existing}{one.name}) "
            called = (member for member in one.members if member.kind == "function")
            yield from (_write_function(member.name, member.signature, receiver) for member in called)
        case _:
            yield f"var {one.name} {one.type or 'any'} // {MARK}\n"


def _write_function(name: str, found: Signature, receiver: str) -> str:
    words = ", ".join(f"{one.name} {one.type or 'any'}" for one in found.parameters)
    results = [each or "any" for each in found.result]
    after = f" {results[0]}" if len(results) == 1 else f" ({', '.join(results)})" if results else ""
    return f'func {receiver}{name}({words}){after} {{\n\tpanic("{MARK}")\n}}\n'


def _folder(imported: str, test: str, files: WorktreeFiles) -> str | None:
    """The folder of an imported package, which need not exist; None if it is not of the test's module."""
    home = posixpath.dirname(test)
    while True:
        at = posixpath.join(home, "go.mod")
        if at in files.paths:
            found = _MODULE.search(files.text(at))
            if found is None or not f"{imported}/".startswith(f"{found[1]}/"):
                return None
            return posixpath.join(home, imported[len(found[1]) :].lstrip("/")).rstrip("/")
        if not home:
            return None
        home = posixpath.dirname(home)
