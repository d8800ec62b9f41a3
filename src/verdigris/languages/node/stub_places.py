"""Places the stubs of a test into the modules that it imports."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.languages.grammar.trees import grammar_of
from verdigris.languages.node.missing_names import DEFAULT, find_wanted, read_exports
from verdigris.languages.stubs import Stub, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.stubs import Files, Parameter, Signature

_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
_THROW = f'throw new Error("{MARK}");'
_COMMON = re.compile(r"^\s*(?:module\.)?exports\b", re.MULTILINE)
_LOADS = re.compile(r"\brequire\(")


def stubs_of(path: str, files: Files) -> tuple[Stub, ...]:
    text = files.text(path)
    by_file: dict[str, list[Wanted]] = {}
    for one in find_wanted(path, text.encode("utf-8", "surrogateescape")):
        if (at := _file(path, one.module, files)) is not None:
            by_file.setdefault(at, []).append(one)
    common = bool(_LOADS.search(text)) and " from " not in text
    found = (
        _stub(at, wanted, files, common=common, raises=files.is_behaviour_red)
        for at, wanted in by_file.items()
    )
    return tuple(stub for stub in found if stub is not None)


def _stub(at: str, wanted: list[Wanted], files: Files, *, common: bool, raises: bool) -> Stub | None:
    before = files.text(at)
    known = read_exports(at, before.encode("utf-8", "surrogateescape")) if before else frozenset()
    new = at not in files.paths
    if known is None:
        return None
    common = bool(_COMMON.search(before)) if before else common and not at.endswith((".mjs", ".ts", ".tsx"))
    typed = at.endswith((".ts", ".tsx", ".mts", ".cts"))
    texts = [
        "".join(_text(one, _Way(typed, common, raises)))
        for one in wanted
        if one.name and one.name not in known
    ]
    text = "\n".join(texts)
    kept = f"{before.rstrip()}\n\n" if before.strip() else ""
    return Stub(at, text, kept + text, new=new) if texts or new else None


def _file(test: str, module: str, files: Files) -> str | None:
    """The source file of a relative import, also where there is none yet."""
    if not module.startswith("."):
        return None
    place = posixpath.normpath(posixpath.join(posixpath.dirname(test), module))
    bare = re.sub(r"\.([cm]?)[jt]sx?$", "", place)
    tries = [place, *(bare + end for end in _ENDINGS), *(f"{place}/index{end}" for end in _ENDINGS)]
    found = next((each for each in tries if each in files.paths), None)
    at = found or _new(test, place)
    return at if files.is_source(at) and grammar_of(at) is not None else None


def _new(test: str, place: str) -> str:
    """With the ending that the import names, or the test's own; TypeScript names what it will become."""
    named = re.search(r"\.([cm]?)([jt])s(x?)$", place)
    typed = re.search(r"\.[cm]?tsx?$", test)
    if named is None:
        end = ".ts" if typed else f".{test.rpartition('.')[2]}".replace("jsx", "js")
        return place + end
    bare = place[: named.start()]
    return f"{bare}.{named[1]}ts{named[3]}" if typed else place


class _Way:
    """How a module declares: with types or without, and how it exports."""

    def __init__(self, typed: bool, common: bool, raises: bool) -> None:
        self.typed, self.common = typed, common
        self.any = ": any" if typed else ""
        self.body = _THROW if raises else f"return undefined; // {MARK}"

    def parameters(self, found: Signature) -> str:
        words = [self._parameter(one) for one in found.parameters]
        words += ["...rest: any[]" if self.typed else "...rest"] * found.spread
        return ", ".join(words)

    def _parameter(self, one: Parameter) -> str:
        if not self.typed:
            return one.name
        return f"{one.name}{'?' if one.optional else ''}: {one.type or 'any'}"

    def result(self, found: Signature) -> str:
        if not self.typed:
            return ""
        return ": Promise<any>" if found.awaited else ": any"


def _text(one: Wanted, way: _Way) -> Iterator[str]:
    name = "main" if one.name == DEFAULT else one.name
    export = "" if way.common else "export default " if one.name == DEFAULT else "export "
    match one.kind:
        case "function":
            start = "async function" if one.signature.awaited else "function"
            head = f"{export}{start} {name}({way.parameters(one.signature)}){way.result(one.signature)}"
            yield f"{head} {{\n  {way.body}\n}}\n"
        case "error":
            yield f"// {MARK}\n{export}class {name} extends Error {{}}\n"
        case "class":
            yield f"// {MARK}\n{export}class {name} {{\n{''.join(_members(one, way))}}}\n"
        case _ if one.name == DEFAULT:
            yield f"{export}undefined; // {MARK}\n"
        case _:
            yield f"{export}const {name}{way.any} = undefined; // {MARK}\n"
    if way.common:
        yield f"module.exports.{name} = {name};\n"


def _members(one: Wanted, way: _Way) -> Iterator[str]:
    called = {member.name for member in one.members if member.kind == "function"}
    for member in one.members:
        if member.kind == "value" and member.name not in called:
            static = "static " if member.of_type else ""
            yield f"  {static}{member.name}{way.any};\n"
    if one.signature.parameters or one.signature.spread:
        yield f"  constructor({way.parameters(one.signature)}) {{}}\n"
    for member in one.members:
        if member.kind == "function":
            words = ["static"] * member.of_type + ["async"] * member.signature.awaited + [member.name]
            found = member.signature
            head = f"{' '.join(words)}({way.parameters(found)}){way.result(found)}"
            yield f"  {head} {{\n    {way.body}\n  }}\n"
