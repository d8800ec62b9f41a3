"""Places the stubs of a Rust test into the modules that its paths name."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.languages.grammar.trees import part
from verdigris.languages.rust.uses import find_wanted, read_declarations
from verdigris.languages.stubs import UNTOLD, Signature, Stub, Wanted, WorktreeFiles, data_of, untold_notes

_NAME = re.compile(r"^name\s*=\s*\"([^\"]+)\"", re.MULTILINE)
_TESTS = re.compile(r"^#\[cfg\(test\)\]", re.MULTILINE)
_EITHER = re.compile(r"Result<(.+), ([^,]+)>")
_TODO = f'todo!("{MARK}")'


def stubs_of(path: str, files: WorktreeFiles, _said: Sequence[str]) -> tuple[Stub, ...]:
    """The stubs of a test; its text shows enough."""
    home = _home(path, files)
    if home is None:
        return ()
    crate = _Crate(home, files)
    wanted = find_wanted(path, data_of(path, files), crate.name, crate.module(path))
    by_module: dict[tuple[str, ...], list[Wanted]] = {}
    for one in wanted:
        by_module.setdefault(tuple(filter(None, one.module.split("::"))), []).append(one)
    for module, found in by_module.items():
        crate.add(module, found)
    return crate.stubs()


def _home(path: str, files: WorktreeFiles) -> str | None:
    folder = posixpath.dirname(path)
    while posixpath.join(folder, "Cargo.toml") not in files.paths:
        if not folder:
            return None
        folder = posixpath.dirname(folder)
    return folder


class _Crate:
    def __init__(self, home: str, files: WorktreeFiles) -> None:
        self._files = files
        self._source = posixpath.join(home, "src")
        named = _NAME.search(files.text(posixpath.join(home, "Cargo.toml")))
        self.name = named[1].replace("-", "_") if named else ""
        self._write_stub: dict[str, list[str]] = {}
        self._notes: dict[str, list[str]] = {}

    def module(self, path: str) -> tuple[str, ...]:
        """The module path of a source file."""
        if not path.startswith(f"{self._source}/"):
            return ()
        steps = path[len(self._source) + 1 :].removesuffix(".rs").split("/")
        return tuple(steps[:-1] if steps[-1] in {"lib", "main", "mod"} else steps)

    def _file(self, module: tuple[str, ...]) -> tuple[str, bool] | None:
        """The file of a module and whether it is new; None if the module is not a file of its own."""
        if not module:
            roots = [posixpath.join(self._source, name) for name in ("lib.rs", "main.rs")]
            return next(((root, False) for root in roots if root in self._files.paths), (roots[0], True))
        at = posixpath.join(self._source, *module)
        for place in (f"{at}.rs", f"{at}/mod.rs"):
            if place in self._files.paths:
                return place, False
        above = self._file(module[:-1])
        if above is None:
            return None
        known = read_declarations(above[0], data_of(above[0], self._files))
        if module[-1] in known and part(known[module[-1]], "body") is not None:
            return None
        return f"{at}.rs", True

    def add(self, module: tuple[str, ...], wanted: list[Wanted]) -> None:
        found = self._file(module)
        if found is None or not self._files.is_source(found[0]):
            return
        at, new = found
        known = read_declarations(at, data_of(at, self._files))
        texts = [text for one in wanted for text in _write_stub(one, set(known))]
        if not texts and not new:
            return
        self._write_stub.setdefault(at, []).extend(texts)
        self._notes.setdefault(at, []).extend(note for one in wanted for note in untold_notes(one, known))
        if new and module:
            self._declare(module)

    def _declare(self, module: tuple[str, ...]) -> None:
        above = self._file(module[:-1])
        if above is None:
            return
        at, new = above
        line = f"pub mod {module[-1]};\n"
        if module[-1] not in read_declarations(
            at, data_of(at, self._files)
        ) and line not in self._write_stub.get(at, []):
            self._write_stub.setdefault(at, []).insert(0, line)
        if new and module[:-1]:
            self._declare(module[:-1])

    def stubs(self) -> tuple[Stub, ...]:
        return tuple(
            Stub(
                at,
                "\n".join(texts),
                self._whole(at, texts),
                at not in self._files.paths,
                tuple(self._notes.get(at, [])),
            )
            for at, texts in self._write_stub.items()
        )

    def _whole(self, at: str, texts: list[str]) -> str:
        """The text of a file with the stubs after its code and before its tests."""
        before, added = self._files.text(at), "\n".join(texts)
        tests = _TESTS.search(before)
        head, tail = (before[: tests.start()], before[tests.start() :]) if tests else (before, "")
        kept = head.rstrip("\n")
        return "".join([f"{kept}\n\n" if kept else "", added, f"\n{tail}" if tail else ""])


def _write_stub(one: Wanted, known: set[str]) -> Iterator[str]:
    if one.kind == "function":
        if one.name not in known:
            yield _write_function(one.name, one.signature, "", _result(one))
        return
    if one.name not in known:
        yield "".join(_write_type(one))
    methods = [m for m in one.members if m.kind == "function" and f"{one.name}.{m.name}" not in known]
    plain = [m for m in methods if not (m.of_type and m.name[:1].isupper())]
    if plain:
        inner = "\n".join(_write_method(member) for member in plain)
        yield f"impl {one.name} {{\n{inner}}}\n"


def _write_type(one: Wanted) -> Iterator[str]:
    yield f"// {MARK}\n#[derive(Debug, Clone, PartialEq)]\n"
    variants = [m for m in one.members if m.of_type and m.name[:1].isupper()]
    fields = [m for m in one.members if m.kind == "value" and not m.of_type]
    if variants:
        words = (f"    {m.name}{_payload(m)},\n" for m in variants)
        yield f"pub enum {one.name} {{\n{''.join(words)}}}\n"
    elif fields:
        words = (f"    pub {m.name}: {m.type or '()'},\n" for m in fields)
        yield f"pub struct {one.name} {{\n{''.join(words)}}}\n"
    else:
        yield f"pub struct {one.name};\n"


def _payload(one: Wanted) -> str:
    kinds = [{"&str": "String"}.get(p.type, p.type) or "()" for p in one.signature.parameters]
    return f"({', '.join(kinds)})" if kinds else ""


def _write_method(one: Wanted) -> str:
    kind = _result(one) or ("Self" if one.of_type else "")
    return _write_function(one.name, one.signature, "" if one.of_type else "&self", kind, "    ")


def _write_function(name: str, found: Signature, first: str, result: str, indent: str = "") -> str:
    words = [first] if first else []
    words += [f"_{one.name.lstrip('_')}: {one.type or 'impl Sized'}" for one in found.parameters]
    after = f" -> {result}" if result else ""
    return f"{indent}pub fn {name}({', '.join(words)}){after} {{\n{indent}    {_TODO}\n{indent}}}\n"


def _result(one: Wanted) -> str:
    """The result type from all calls together: one may show the type in `Ok`, another the type in `Err`."""
    kinds = [kind for call in one.calls for kind in call.result if kind != UNTOLD]
    both = [found.groups() for kind in kinds if (found := _EITHER.fullmatch(kind))]
    if not both:
        return kinds[0] if kinds else ""
    good = next((held for held, _ in both if held != "()"), "()")
    bad = next((held for _, held in both if held != "String"), "String")
    return f"Result<{good}, {bad}>"
