"""What every language keeps, ours and those of others: add yours to LANGUAGES."""

from __future__ import annotations

import random
import re

import pytest

from support.made_up_language import LANGUAGE as CALM
from verdigris.core.languages import runners_of
from verdigris.languages.findings import SourceChange
from verdigris.languages.protocol import Language
from verdigris.languages.registry import all_languages

LANGUAGES = (*all_languages(), CALM)
ODD = (b"", b"\xff\xfe\x00", b"(((((", b"let x = 1\n", "héllo ›\n".encode())
SMALLEST = {
    "python": ("tests/test_a.py", "def test_adds():\n    assert 1 == 2\n"),
    "node": ("a.test.ts", "test('test_adds', () => { expect(1).toBe(2); });\n"),
    "go": ("a_test.go", "package a\n\nfunc Test_adds(t *testing.T) {\n\tt.Fail()\n}\n"),
    "rust": ("tests/a.rs", "#[test]\nfn test_adds() { assert_eq!(1, 2); }\n"),
    "calm": ("checks/a.calm", "check test_adds = sum 1 1, 2\n"),
}
"""A file with one test, of each language whose tests can be marked."""


def _name(language: object) -> str:
    return language.name if isinstance(language, Language) else ""


each = pytest.mark.parametrize("language", LANGUAGES, ids=_name)


@each
def test_its_facts_name_it_and_its_files(language: Language) -> None:
    assert re.fullmatch(r"[a-z]+", language.name)
    assert all(re.fullmatch(r"\.\w+", suffix) for suffix in language.facts.suffixes)
    assert language.facts.suffixes
    assert set(language.facts.grammars) <= set(language.facts.suffixes)


@each
def test_its_conventions_are_regexes_that_leave_most_files_alone(language: Language) -> None:
    usual = language.project.conventions(runners_of(language.name)[0])
    end = language.facts.suffixes[0]
    for regex in (usual.tests, usual.runner, usual.transient, usual.not_source):
        assert not re.compile(regex).match(f"src/price{end}")
    likely = (f"tests/a{end}", f"test/a{end}", f"checks/a{end}", f"a_test{end}", f"src/test/A{end}")
    assert any(map(re.compile(usual.tests).match, likely)), "a test folder or a test name makes a test"


@each
@pytest.mark.parametrize("data", ODD)
def test_the_same_text_is_no_more_than_stubs_and_odd_texts_break_nothing(
    language: Language, data: bytes
) -> None:
    path = f"a{language.facts.suffixes[0]}"
    if language.source.same_tree(path, data, data):
        assert language.stubs.beyond_stubs(path, data, data) is None
    assert language.without_tests(data).count(b"\n") == data.count(b"\n")
    text = data.decode("utf-8", "surrogateescape")
    assert all(test.first <= test.last for test in language.tests.written_tests(path, text, ("a",)))
    assert all(mark.line > 0 for mark in language.tests.test_comments(path, text))


@each
@pytest.mark.parametrize("data", ODD)
def test_only_a_test_that_stands_in_a_text_can_be_marked_as_skipped(language: Language, data: bytes) -> None:
    for suffix in language.facts.suffixes:
        assert language.tests.with_skip(f"tests/a_test{suffix}", data, "adds", "blocked: no way") is None


@each
def test_the_mark_of_a_skipped_test_comes_once_and_can_be_read(language: Language) -> None:
    path, text = SMALLEST.get(language.name, (f"tests/a_test{language.facts.suffixes[0]}", "test adds\n"))
    name = "Test_adds" if "Test_adds" in text else "test_adds"
    done = language.tests.with_skip(path, text.encode(), name, "blocked: no way")
    if done is None:
        assert language.name not in SMALLEST, "it reads tests, and so it can mark them"
        return
    assert b"blocked: no way" in done
    assert language.tests.parses(path, done.decode())
    assert len(language.tests.read_test_file(path, done.decode()).skips) == 1
    assert language.tests.with_skip(path, done, name, "blocked: for another reason") == done


@each
def test_what_is_more_than_stubs_is_said_with_a_line_and_a_reason(language: Language) -> None:
    path = f"a{language.facts.suffixes[0]}"
    found = language.stubs.beyond_stubs(path, b"", b"let launch = missiles(1)\nx = 2\n")
    assert found is not None
    assert found.line >= 1
    assert found.why


@each
def test_a_test_makes_itself_and_no_other(language: Language) -> None:
    assert language.ids.makes("adds", "adds")
    assert not language.ids.makes("adds", "subtracts")
    assert not language.ids.encloses("adds", "subtracts")


@each
def test_manifests_have_keys_for_the_runner_and_nothing_else_counts(language: Language) -> None:
    for name in language.facts.manifests:
        text = "{}" if name.endswith(".json") else "<project/>" if name.endswith(".xml") else ""
        assert language.project.runner_keys(name, text) == b""


@each
def test_nothing_changed_gives_rise_to_nothing(language: Language) -> None:
    assert language.source.concerns(SourceChange({}, {}, {})) == ()
    assert language.source.mutants({}, {}).mutants == ()
    assert language.tests.weakenings({}, {}, ()) == ()
    assert language.tests.test_bases({}, ()) == []
    assert language.liveness.probes({}, {}, random.Random(0), 3) == ()
    assert language.imports.reaching(["t"], [], ["t"], lambda _: {}) <= {"t"}


@each
def test_a_test_file_that_is_gone_is_a_weakening_unless_a_person_gave_it_up(language: Language) -> None:
    path, text = SMALLEST.get(language.name, (f"tests/a_test{language.facts.suffixes[0]}", "test adds\n"))
    assert {one.path for one in language.tests.weakenings({path: text}, {}, ())} == {path}
    assert language.tests.weakenings({path: text}, {}, (path,)) == ()
    assert language.tests.weakenings({path: text}, {path: text}, ()) == ()


@each
def test_what_is_traced_has_a_reader_of_its_lines(language: Language) -> None:
    tracing = language.tracing()
    assert (tracing is not None) == bool(language.traced_suffixes) == language.traces
    assert set(language.traced_suffixes) <= set(language.facts.suffixes)
    if tracing is not None:
        assert tracing.added_lines({}, {}) == {}
        assert tracing.find_shared({}, {}, None) == ()


@each
def test_held_out_files_are_all_laid_down_and_each_is_asked_for(language: Language) -> None:
    code = [f"tests/{name}_test{language.facts.suffixes[0]}" for name in "ab"]
    held = dict.fromkeys([*code, "tests/data.json"], b"")
    groups = language.held_out.groups(code, ["tests/data.json"], held)
    assert {path for one in groups for path in one.files} == set(held)
    assert {path for one in groups for path in one.asked} >= set(code)
    assert set(language.held_out.empty_on_load(held, loads_modules=True)) >= set(held)


@each
def test_it_has_words_for_people_and_models(language: Language) -> None:
    assert len(language.role_words) > len("LANGUAGE.")
