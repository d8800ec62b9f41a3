"""Go, as `go test` runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.languages import FACTS
from verdigris.languages.grammar.language import GrammarLanguage
from verdigris.languages.protocol import Examples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tree_sitter import Node

    from verdigris.languages.conventions import Usual
    from verdigris.languages.findings import IdMark, Imported, Parcel, TestComment
    from verdigris.languages.folders import Folder, FoundStacks
    from verdigris.languages.go.forms import GoExpectations
    from verdigris.languages.go.stubs import GoForms
    from verdigris.languages.go.tests import GoSuite
    from verdigris.languages.grammar.concerns import Rule
    from verdigris.languages.grammar.mutation import Failing
    from verdigris.languages.grammar.suite import TestPlace
    from verdigris.languages.grammar.validation import AnswerForms
    from verdigris.languages.probes import Edit
    from verdigris.languages.protocol import Importable, ReadMany
    from verdigris.languages.starter import Starter
    from verdigris.languages.stubs import Files, Stub


class GoLanguage(GrammarLanguage):
    bare_runner = "go"
    examples = Examples(("**/*.pb.go",), ("internal",), ("-race",), "go vet ./...", "gofmt -w")
    role_words = """\
GO. Tests are functions `TestXxx(t *testing.T)` in `*_test.go` beside the source. A test that does not \
compile is no red, so stub what it needs:
func Add(numbers string) int {
	return -1 // STUB:TDD
}
Add no dependency."""

    def conventions(self, runner: str) -> Usual:  # noqa: ARG002 - one tool
        from verdigris.languages.go.project import PLACES

        return PLACES

    def runner_keys(self, name: str, text: str) -> bytes:
        from verdigris.languages.go.project import module, workspace

        return module(text) if name == "go.mod" else workspace(text)

    def detect(self, root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks:  # noqa: ARG002 - a mark is enough
        from verdigris.languages.go.project import find_stacks

        return find_stacks(known)

    def starter(self) -> Starter:
        from verdigris.languages.go import project
        from verdigris.languages.starter import Starter

        return Starter(project.script)

    def marks(self, text: str) -> tuple[IdMark, ...]:
        from verdigris.languages.go.text import READER

        return READER.marks(text)

    def test_comments(self, text: str) -> tuple[TestComment, ...]:
        from verdigris.languages.go.text import READER

        return READER.comments(text)

    def makes(self, written: str, reported: str) -> bool:
        return f"{reported}/".startswith(f"{written}/")

    def encloses(self, written: str, reported: str) -> bool:
        return written.startswith(f"{reported}/")

    def missing_stubs(self, path: str, files: Files) -> tuple[Stub, ...]:
        from verdigris.languages.go.stubs import stubs_of

        return stubs_of(path, files)

    def import_targets(self, path: str, one: Imported, files: Importable) -> Iterator[str]:  # noqa: ARG002 - by module
        from verdigris.languages.go.text import import_targets

        return import_targets(one, files)

    def run_target(self, path: str) -> str:
        return path.rpartition("/")[0] or "."

    def reaching(
        self, tests: Iterable[str], changed: Iterable[str], files: Iterable[str], read: ReadMany
    ) -> frozenset[str]:
        from verdigris.languages.go.text import reaching

        return reaching([*tests], frozenset(changed), [*files], read)

    def parcels(self, code: Sequence[str], data: Sequence[str], held: Mapping[str, bytes]) -> list[Parcel]:  # noqa: ARG002
        """A folder is a package, and is asked for as one."""
        from verdigris.languages.findings import Parcel

        folders = dict.fromkeys(path.rpartition("/")[0] for path in code)
        asked = [tuple(path for path in code if path.rpartition("/")[0] == one) for one in folders]
        return [Parcel(paths, (*code, *data), tuple(code)) for paths in asked]

    # -- tables of the grammar -------------------------------------------------------------------------------

    def suite(self, path: str) -> GoSuite:
        from verdigris.languages.go.tests import GoSuite

        return GoSuite(path)

    def stub_forms(self) -> GoForms:
        from verdigris.languages.go.stubs import GoForms

        return GoForms()

    def answer_forms(self) -> AnswerForms:
        from verdigris.languages.go.forms import FORMS

        return FORMS

    def expectations(self) -> GoExpectations:
        from verdigris.languages.go.forms import GoExpectations

        return GoExpectations()

    def skip_edits(self, place: TestPlace, data: bytes, why: str) -> tuple[Edit, ...] | None:
        from verdigris.languages.go.forms import skip_edits

        return skip_edits(place, data, why)

    def concern_rules(self) -> Sequence[Rule]:
        from verdigris.languages.go.forms import RULES

        return RULES

    def failing(self) -> Failing:
        from verdigris.languages.grammar.mutation import Failing

        return Failing('if true { panic("not run by any test") };')

    def has_code_in_comments(self, root: Node) -> bool:
        """Cgo's."""
        from verdigris.languages.grammar.trees import text_of_node, walk

        return any(text_of_node(node) == '"C"' for node in walk(root))


LANGUAGE = GoLanguage(FACTS["go"])
