"""Go, tested by `go test`."""

from __future__ import annotations

import posixpath
import re
from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.core.languages import FACTS
from verdigris.languages.grammar.folder import FolderStubs, FolderTables
from verdigris.languages.grammar.language import GrammarImports, GrammarLanguage, GrammarLiveness
from verdigris.languages.grammar.trees import MOST_FILES, closure, comments_of, text_of_node, walk
from verdigris.languages.protocol import TestIds, WithheldCode, lazy_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tree_sitter import Node

    from verdigris.languages.findings import Importable, Imported, ReadMany


_GO_IMPORT = re.compile(rb'"([\w.\-/~]+)"')
_GO_HEAD = re.compile(rb"^(?:func|type|var|const)\b", re.MULTILINE)


class GoTestIds(TestIds):
    def makes(self, written: str, reported: str) -> bool:
        return f"{reported}/".startswith(f"{written}/")

    def encloses(self, written: str, reported: str) -> bool:
        return written.startswith(f"{reported}/")


class GoImports(GrammarImports):
    def targets(self, path: str, one: Imported, files: Importable) -> Iterator[str]:  # noqa: ARG002 - by module
        """An import consists of the name of a module and the path of a folder in it."""
        for at in files.paths:
            folder = posixpath.dirname(at)
            if (
                at.endswith(".go")
                and not at.endswith("_test.go")
                and folder
                and f"/{one.module}".endswith(f"/{folder}")
            ):
                yield at

    def reaching(
        self, tests: Iterable[str], changed: Iterable[str], files: Iterable[str], read: ReadMany
    ) -> frozenset[str]:
        """Follows imports from folder to folder: a folder is a package, and an import ends in its path."""
        sources = [path for path in files if path.endswith(".go")][:MOST_FILES]
        folders = {posixpath.dirname(path) for path in sources}
        leads: dict[str, set[str]] = {folder: set() for folder in folders}
        for path, data in read(sources).items():
            head = _GO_HEAD.split(data or b"", maxsplit=1)[0]
            for name in _GO_IMPORT.findall(head):
                text = f"/{name.decode('utf-8', 'replace')}"
                leads[posixpath.dirname(path)] |= {
                    one for one in folders if not one or text.endswith(f"/{one}")
                }
        goals = {posixpath.dirname(path) for path in changed}
        return frozenset(
            test for test in tests if not goals.isdisjoint(closure(posixpath.dirname(test), leads))
        )


class GoLiveness(GrammarLiveness):
    def run_target(self, path: str) -> str:
        return path.rpartition("/")[0] or "."


class GoHeldOut(WithheldCode):
    def asked(self, code: Sequence[str]) -> list[tuple[str, ...]]:
        """The files of each folder: it is a package, and the runner runs it as one."""
        folders = dict.fromkeys(path.rpartition("/")[0] for path in code)
        return [tuple(path for path in code if path.rpartition("/")[0] == folder) for folder in folders]


class GoTables(FolderTables):
    def code_in_comments(self, root: Node) -> list[str]:
        """Cgo compiles comments, so all of them count in a file that imports "C"."""
        is_cgo = any(text_of_node(node) == '"C"' for node in walk(root))
        return comments_of(root) if is_cgo else super().code_in_comments(root)


class GoLanguage(GrammarLanguage):
    role_words = """\
GO. Tests are functions `TestXxx(t *testing.T)` in `*_test.go` beside the source. A test that does not \
compile is no red, so stub what it needs:
func Add(numbers string) int {
	return -1 // STUB:TDD
}
Add no dependency."""
    project = lazy_part(f"{__name__}.project.GoProject")
    ids = cached_property(GoTestIds)
    stubs = cached_property(FolderStubs)
    imports = cached_property(GoImports)
    liveness = cached_property(GoLiveness)
    held_out = cached_property(GoHeldOut)
    grammar = cached_property(GoTables)


LANGUAGE = GoLanguage(FACTS["go"])
