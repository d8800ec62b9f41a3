"""Places the stubs of a Go test into the package that it tests."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.languages.go.missing_names import find_wanted, imports, package_of, read_declarations
from verdigris.languages.stubs import Stub, Wanted, data_of, untold_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.stubs import Signature, WorktreeFiles


_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_TEST = "_test.go"


def stubs_of(path: str, files: WorktreeFiles) -> tuple[Stub, ...]:
    data = data_of(path, files)
    folder, package = posixpath.dirname(path), package_of(path, data)
    found: list[Stub | None] = []
    if not package.endswith("_test"):
        known = _declared_names(folder, files, tests=True)
        found.append(_stub(folder, package, path, find_wanted(path, data, known), files))
    for name, at in imports(path, data).items():
        inside = _folder(at, path, files)
        if inside is not None:
            wanted = find_wanted(path, data, _declared_names(inside, files, tests=False), name)
            bare = package.removesuffix("_test") if inside == folder else posixpath.basename(at)
            found.append(_stub(inside, bare, path if inside == folder else "", wanted, files))
    return tuple(stub for stub in found if stub is not None)


def _stub(
    folder: str, package: str, test: str, wanted: tuple[Wanted, ...], files: WorktreeFiles
) -> Stub | None:
    own = test.removesuffix(_TEST) + ".go" if test else f"{folder}/{package}.go".lstrip("/")
    there = [each for each in _package(folder, files, tests=False) if files.is_source(each)]
    at = own if own in there or not there or test else there[0]
    new = at not in files.paths
    if not files.is_source(at) or not (wanted or (new and not there)):
        return None
    before = files.text(at).rstrip("\n") or f"package {package}"
    texts = [text for one in wanted for text in _write_stub(one)]
    text = "\n".join(texts)
    notes = tuple(note for one in wanted for note in untold_notes(one))
    shown = f"package {package}\n\n{text}" if new else text
    return Stub(at, shown, f"{before}\n\n{text}" if text else f"{before}\n", new=new, notes=notes)


def _write_stub(one: Wanted) -> Iterator[str]:
    match one.kind:
        case "function":
            yield _write_function(one.name, one.signature, "")
        case "error":
            yield f"var {one.name} error // {MARK}\n"
        case "class":
            yield from _write_type(one)
        case _:
            yield f"var {one.name} {one.type or 'any'} // {MARK}\n"


def _write_type(one: Wanted) -> Iterator[str]:
    called = {member.name for member in one.members if member.kind == "function"}
    fields = [member for member in one.members if member.kind == "value" and member.name not in called]
    body = "".join(f"\t{field.name} {field.type or 'any'}\n" for field in fields)
    yield f"// {MARK}\ntype {one.name} struct {{{chr(10) if body else ''}{body}}}\n"
    receiver = f"({one.name[0].lower()} {one.name}) "
    for member in one.members:
        if member.kind == "function":
            yield _write_function(member.name, member.signature, receiver)


def _write_function(name: str, found: Signature, receiver: str) -> str:
    words = ", ".join(f"{one.name} {one.type or 'any'}" for one in found.parameters)
    results = [each or "any" for each in found.result]
    after = f" {results[0]}" if len(results) == 1 else f" ({', '.join(results)})" if results else ""
    return f'func {receiver}{name}({words}){after} {{\n\tpanic("{MARK}")\n}}\n'


def _declared_names(folder: str, files: WorktreeFiles, *, tests: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in _package(folder, files, tests=tests):
        found |= read_declarations(path, data_of(path, files))
    return found


def _package(folder: str, files: WorktreeFiles, *, tests: bool) -> list[str]:
    inside = (path for path in files.paths if path.endswith(".go") and posixpath.dirname(path) == folder)
    return sorted(path for path in inside if tests or not path.endswith(_TEST))


def _folder(imported: str, test: str, files: WorktreeFiles) -> str | None:
    """The folder of an imported package, which need not exist; None if it is not of the test's module."""
    home = posixpath.dirname(test)
    while True:
        at = posixpath.join(home, "go.mod")
        if at in files.paths:
            found = _MODULE.search(files.text(at))
            if found is None or f"{imported}/".startswith(f"{found[1]}/") is False:
                return None
            return posixpath.join(home, imported[len(found[1]) :].lstrip("/")).rstrip("/")
        if not home:
            return None
        home = posixpath.dirname(home)
