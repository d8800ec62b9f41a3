"""A language that another package brings by an entry point: one folder answers every question."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from support import made_up_language
from support.gitrepo import make_repo
from verdigris.core import languages as facts
from verdigris.core.paths import Detected, PathClass, classify
from verdigris.core.records import Actor
from verdigris.core.settings import Settings, Stack
from verdigris.languages import registry
from verdigris.languages.conventions import compile_classes
from verdigris.languages.probes import changed_texts, draw_members
from verdigris.languages.registry import is_mixed, runner_keys
from verdigris.languages.tests import find_test_at, marks
from verdigris.models.roles.prompt import guide
from verdigris.models.roles.teams import MACHINE
from verdigris.setup.detection import detect
from verdigris.storage.config import load
from verdigris.storage.project import configured_event, open_project

if TYPE_CHECKING:
    from collections.abc import Iterator

STACK = Stack(language="calm", runner="junit")
TESTS = "check adds = sum 1 1, 2\ncheck subtracts = less 1 1, 0\n"


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if a package with the entry point were installed; nothing of it stays."""
    entry = EntryPoint("calm", "support.made_up_language:LANGUAGE", registry.GROUP)
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda *, group: [entry] * (group == registry.GROUP)
    )
    registry._language.cache_clear()
    yield
    registry._language.cache_clear()
    registry._THIRD.clear()
    for table in (facts.FACTS, facts._BY_SUFFIX, facts._BY_MANIFEST):
        for key in [key for key, found in table.items() if found.name == "calm"]:
            del table[key]


def test_it_is_found_when_a_stack_names_it_and_not_before() -> None:
    assert registry.language_for("src/a.calm") is None
    assert registry.language_named("calm").name == "calm"
    assert registry.reader_of("src/a.calm").name == "calm"


def test_a_name_that_nobody_brings_stays_unread() -> None:
    assert registry.language_named("louder") is registry.UNREAD


def test_init_finds_its_stacks_and_a_person_may_call_it_by_another_name(tmp_path: Path) -> None:
    (tmp_path / "calm.toml").write_text("checks = true\n")
    assert detect(tmp_path).stacks == (STACK,)
    assert detect(tmp_path, "quiet").stacks == (STACK,)


def test_its_files_have_classes_by_its_own_conventions() -> None:
    classes = compile_classes(Settings(stacks=(STACK,)), {(".", "calm"): Detected(flat=True)}, registry.usual)
    assert classify("src/a.calm", classes) is PathClass.SOURCE
    assert classify("checks/a.calm", classes) is PathClass.TEST
    assert classify("junit.toml", classes) is PathClass.TEST
    assert classify("notes.md", classes) is PathClass.OTHER


def test_stubs_are_told_from_code_and_comments_from_both() -> None:
    registry.language_named("calm")
    before = b"let one = 1\n"
    assert registry.beyond_stubs("a.calm", before, before + b"let two = todo ? STUB:TDD\n") is None
    assert registry.beyond_stubs("a.calm", before, before + b"? nothing but words\n") is None
    found = registry.beyond_stubs("a.calm", before, before + b"let two = 2\n")
    assert found is not None
    assert (found.line, found.why) == (2, "`let two = 2` is no stub")


def test_its_tests_are_read_and_have_the_ids_that_comments_give_them() -> None:
    calm = registry.language_named("calm")
    text = f"? @tdd-id: sum\n{TESTS}"
    assert calm.tests.reads("checks/a.calm")
    assert calm.tests.read_test_file("checks/a.calm", text).tests == (("adds", 2), ("subtracts", 3))
    (mark,) = marks("checks/a.calm", text)
    assert (mark.slug, calm.ids.native_id("checks/a.calm", mark, "")) == ("sum", "checks/a.calm::adds")
    at = find_test_at("checks/a.calm", text, 3, ())
    assert at is not None
    assert at.name == "subtracts"


@pytest.mark.parametrize(
    ("after", "kinds"),
    [
        (TESTS, []),
        (TESTS + "check adds more = sum 2 3, 5\n", []),
        ("check adds = sum 1 1\ncheck subtracts = less 1 1, 0\n", ["weaker"]),
        ("check adds = sum 1 1, 3\ncheck subtracts = less 1 1, 0\n", ["changed"]),
        ("check adds = sum 1 1, 2\n", ["removed"]),
        ("check adds = sum 1 1, 2\nlater subtracts = less 1 1, 0\n", ["skipped"]),
        ("check adds = sum 1 1, 2\nwhat\n", ["unreadable"]),
    ],
)
def test_what_its_tests_lose_is_judged_by_the_common_rules(after: str, kinds: list[str]) -> None:
    lost = registry.language_named("calm").tests.weakenings(
        {"checks/a.calm": TESTS}, {"checks/a.calm": after}, ()
    )
    assert [one.kind for one in lost] == kinds


def test_its_assertions_are_changed_so_that_honest_code_fails_them() -> None:
    calm, data = registry.language_named("calm"), TESTS.encode()
    asked = ["checks/a.calm::adds", "checks/a.calm::subtracts"]
    probes = calm.liveness.probes({"checks/a.calm": data}, asked, Random(1), 2)
    assert [sorted(probe.names) for probe in probes] == [[one] for one in asked]
    (member, *_) = draw_members(probes, Random(1), 2, 1)
    (text,) = changed_texts({"checks/a.calm": data}, member).values()
    now = calm.tests.read_tests({"checks/a.calm": text})["checks/a.calm"]
    assert [one.check.subject for one in now.facts] == [
        one.check.subject for one in calm.tests.read_tests({"checks/a.calm": data})["checks/a.calm"].facts
    ]
    assert text != data


def test_a_line_that_a_refactor_changed_is_mutated_and_a_moved_one_is_not() -> None:
    calm = registry.language_named("calm")
    before = b"let one = 1\nlet two = sum one 1\n"
    after = b"let two = sum one 1\nlet one = less 3 2\n"
    assert calm.source.mutants({"a.calm": before}, {"a.calm": before[12:] + before[:12]}).mutants == ()
    mutants = calm.source.mutants({"a.calm": before}, {"a.calm": after}).mutants
    assert [(one.line, one.what) for one in mutants] == [
        (2, "`3` → `4`: no test notices"),
        (2, "`2` → `3`: no test notices"),
    ]
    assert mutants[0].data == after.replace(b"3", b"4")


def test_all_that_has_to_be_known_of_it_fits_on_a_few_pages() -> None:
    assert len(Path(str(made_up_language.__file__)).read_text("utf-8").splitlines()) <= 250


def test_its_manifest_is_mixed_and_only_the_runners_keys_count() -> None:
    registry.language_named("calm")
    assert is_mixed("calm.toml", PathClass.OTHER)
    assert runner_keys("calm.toml", b"name = 1\nchecks = 2\n") == b"checks = 2"


def test_its_words_reach_the_prompt_of_a_role() -> None:
    assert "lines `check name = value`" in guide(MACHINE, "calm")


def test_a_project_of_it_can_be_configured_and_opened(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "project").root
    (root / "tdd.yaml").write_text(
        "stacks:\n  - {root: ., language: calm, runner: junit, junit: {preset: surefire}}\n"
    )
    assert load(root).settings.stacks[0].language == "calm"
    assert configured_event(root).settings
    project = open_project(root, Actor())
    assert project.classify("checks/a.calm") is PathClass.TEST
    assert project.classify("src/a.calm") is PathClass.SOURCE
