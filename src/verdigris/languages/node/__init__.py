"""JavaScript and TypeScript, tested by vitest, jest or node's own test tool."""

from __future__ import annotations

from functools import cached_property

from verdigris.core.languages import FACTS
from verdigris.languages.grammar.folder import FolderStubs, FolderTables
from verdigris.languages.grammar.language import GrammarLanguage, GrammarLiveness, GrammarTestReader
from verdigris.languages.protocol import lazy_part


class NodeTestReader(GrammarTestReader):
    def may_hold_tests(self, path: str) -> bool:
        return ".config." not in path.rpartition("/")[2]


class NodeLiveness(GrammarLiveness):
    tried_texts = (6, 3)


class NodeLanguage(GrammarLanguage):
    role_words = """\
JAVASCRIPT AND TYPESCRIPT. Follow the project: its module system, its file names for tests (`*.test.ts` or \
the like), its test library. In TypeScript everything has to type-check, so stub what a test needs and \
export it:
export function add(numbers: string): number {
  return -1; // STUB:TDD
}
A constant that makes the assertion fail is better than a `throw`. Add no dependency."""

    project = lazy_part(f"{__name__}.project.NodeProject")
    ids = lazy_part(f"{__name__}.test_ids.NodeTestIds")
    tests = cached_property(NodeTestReader)
    stubs = cached_property(FolderStubs)
    imports = lazy_part(f"{__name__}.imports.NodeImports")
    liveness = cached_property(NodeLiveness)
    validation = lazy_part(f"{__name__}.validation.NodeValidation")
    held_out = lazy_part(f"{__name__}.imports.NodeHeldOut")
    grammar = cached_property(FolderTables)


LANGUAGE = NodeLanguage(FACTS["node"])
