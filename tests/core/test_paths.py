from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdigris.core.errors import ConfigError
from verdigris.core.paths import (
    EXECUTABLE,
    FILE,
    Change,
    Classes,
    Detected,
    PathClass,
    Where,
    classify,
    from_elsewhere,
)
from verdigris.core.report import RunEnd, TestReport
from verdigris.core.settings import Settings, Stack
from verdigris.languages.conventions import compile_classes
from verdigris.languages.registry import usual

SWITCH, TEST, SPEC, SOURCE, OTHER = PathClass
SRC = compile_classes(Settings(), {(".", "python"): Detected(source=("src",))}, usual)
FLAT = compile_classes(Settings(), {(".", "python"): Detected(flat=True)}, usual)


def classes(settings: Settings, detected: Mapping[Where, Detected] | None = None) -> Classes:
    return compile_classes(settings, detected or {}, usual)


@pytest.mark.parametrize("layout", [SRC, FLAT])
@pytest.mark.parametrize(
    "path",
    [
        "tdd.yaml",
        ".git",
        ".git/config",
        ".git/tdd/events.jsonl",
        ".git/hooks/__pycache__/x",
        ".claude/settings.json",
        ".mcp.json",
        ".claude/settings.local.json",
        "packages/a/.claude/settings.local.json",
        ".claude/hooks/gate.py",
        ".codex/hooks.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".qwen/settings.json",
        ".github/hooks/tdd.json",
        ".opencode/plugin/tdd.js",
        ".opencode/plugins/tdd.js",
        "opencode.json",
        "opencode.jsonc",
        ".cline/hooks/PreToolUse",
        ".clinerules/hooks/PreToolUse",
        ".cursor/hooks.json",
        ".kiro/hooks/a.json",
        ".windsurf/hooks.json",
        ".amp/plugins/x.ts",
        ".agents/plugins/p/hooks/hooks.json",
    ],
)
def test_switches(path: str, layout: Classes) -> None:
    assert classify(path, layout) is SWITCH


@pytest.mark.parametrize("layout", [SRC, FLAT])
@pytest.mark.parametrize(
    "path",
    [
        "tests/test_calc.py",
        "tests/helpers.py",
        "tests/__init__.py",
        "tests/golden/out.txt",
        "tests/README.md",
        "tests/docs/x.py",
        "tests/name with 'quotes'\nand lines/caf\udce9",
        "test/data.json",
        "Tests/test_image.py",
        "unit_tests/helpers.py",
        "tests-e2e/helpers.py",
        "src/pkg/tests/helpers.py",
        "src/pkg/test_calc.py",
        "src/pkg/calc_test.py",
        "test_calc.py",
        "calc_test.py",
        "conftest.py",
        "src/conftest.py",
        "docs/conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        ".pytest.toml",
        "docs/pytest.ini",
        "src/pkg/__snapshots__/x.ambr",
        "testdata/x.json",
        "sitecustomize.py",
        "sitecustomize/__init__.py",
        "src/usercustomize.so",
        "evil.pth",
        ".coveragerc",
        "tests/helpers.pyc",
        "tests/__pycache__/helpers.py",
        "tests/node_modules/helpers.py",
        "tests/x.egg-info/test_x.py",
        "tests/.hypothesis/table.py",
    ],
)
def test_tests(path: str, layout: Classes) -> None:
    assert classify(path, layout) is TEST


@pytest.mark.parametrize(
    "path",
    [
        "src/calc.py",
        "src/calc.pyi",
        "src/fast.pyx",
        "src/testing/util.py",
        "src/pkg/testing.py",
        "src/contest.py",
        "src/pkg/latest_news.py",
        "src/pkg/test/client.py",
        "src/pkg/attest_all.py",
        "src/protests/march.py",
        "src/pkg/conftest_reader.py",
        "src/docs/build.py",
        "src/name with\nnewline.py",
        "src/__pycache__/calc.py",
        "src/node_modules/calc.py",
        "src/.venv/lib/calc.py",
    ],
)
def test_source_of_a_src_layout(path: str) -> None:
    assert classify(path, SRC) is SOURCE


@pytest.mark.parametrize(
    "path",
    ["calc.py", "newpkg/x.py", "newpkg/deep/er/x.py", "newpkg/__init__.pyi", "__init__.py", "venv/x.py"],
)
def test_source_of_a_flat_layout_needs_no_name(path: str) -> None:
    assert classify(path, FLAT) is SOURCE


@pytest.mark.parametrize(
    "path",
    [
        "setup.py",
        "noxfile.py",
        "docs/conf.py",
        "scripts/release.py",
        "examples/demo.py",
        "benchmarks/speed.py",
        "build/lib/pkg/x.py",
        ".hidden/x.py",
        ".venv/lib/python3.11/site-packages/pkg/x.py",
        "venv/lib/x.py",
    ],
)
def test_a_flat_layout_leaves_the_usual_folders_alone(path: str) -> None:
    assert classify(path, FLAT) is OTHER


@pytest.mark.parametrize("layout", [SRC, FLAT])
@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "uv.lock",
        "requirements.txt",
        ".github/workflows/ci.yml",
        "src/pkg/page.html",
        "src/pkg/query.sql",
        "src/pkg/data.json",
        "notebooks/a.ipynb",
        "Makefile",
        ".tdd/plan.md",
        ".claude/plans/x.md",
        ".claude/notes/x.md",
        "src/__pycache__/calc.cpython-311.pyc",
        "tests/__pycache__/test_calc.cpython-311-pytest-9.2.0.pyc",
        "src/calc.pyc",
        "tests/.pytest_cache/v/x",
        ".venv/lib/python3.11/site-packages/x.pth",
        ".venv/lib/python3.11/site-packages/pkg/tests/test_x.py",
        "node_modules/pkg/test/x.py",
        ".",
    ],
)
def test_other(path: str, layout: Classes) -> None:
    assert classify(path, layout) is OTHER


def test_settings_add_tests_spec_and_generated() -> None:
    settings = Settings(
        stacks=(
            Stack(test=("checks/**",), generated=("src/pb/*_pb2.py", "tests/out"), source=("lib", "tool.py")),
        ),
        spec=("specs/", "SPEC.md"),
        oracle_include=("lib/rules/*.json",),
    )
    found = classes(settings, {(".", "python"): Detected(source=("src",))})
    assert classify("checks/a.py", found) is TEST
    assert classify("lib/rules/a.json", found) is TEST
    assert classify("specs/a/b.md", found) is SPEC
    assert classify("SPEC.md", found) is SPEC
    assert classify("lib/a/b.py", found) is SOURCE
    assert classify("tool.py", found) is SOURCE
    assert classify("lib/a/b.sql", found) is OTHER
    assert classify("src/pb/x_pb2.py", found) is OTHER
    assert classify("tests/out/x", found) is OTHER
    assert classify("src/a.py", found) is OTHER, "configured roots replace the detected ones"


def test_a_source_glob_with_a_suffix_is_taken_as_it_is() -> None:
    found = classes(Settings(stacks=(Stack(source=("queries/*.sql", "packages/*/src", "my.pkg/")),)))
    assert classify("queries/a.sql", found) is SOURCE
    assert classify("packages/a/src/x.py", found) is SOURCE
    assert classify("packages/a/x.py", found) is OTHER
    assert classify("my.pkg/x.py", found) is SOURCE
    assert classify("my.pkg/x.txt", found) is OTHER


def test_switches_cannot_be_configured_away() -> None:
    found = classes(Settings(stacks=(Stack(generated=("**",)),)))
    assert classify("tdd.yaml", found) is SWITCH
    assert classify("tests/test_a.py", found) is OTHER


def test_stacks_have_their_own_roots() -> None:
    settings = Settings(stacks=(Stack(root="."), Stack(root="services/a")))
    found = classes(
        settings, {(".", "python"): Detected(flat=True), ("services/a", "python"): Detected(source=("src",))}
    )
    assert classify("services/a/src/x.py", found) is SOURCE
    assert classify("services/a/scripts/x.py", found) is OTHER
    assert classify("services/a/tests/x.txt", found) is TEST
    assert classify("services/b/x.py", found) is SOURCE
    only_inner = classes(Settings(stacks=(Stack(root="a [b]"),)), {("a [b]", "python"): Detected(flat=True)})
    assert classify("a [b]/x.py", only_inner) is SOURCE
    assert classify("x.py", only_inner) is OTHER


def test_detected_tests_and_environments() -> None:
    found = classes(
        Settings(),
        {(".", "python"): Detected(flat=True, tests=("check/", "**/*_spec.py"), environments=("env",))},
    )
    assert classify("check/helper.py", found) is TEST
    assert classify("pkg/a_spec.py", found) is TEST
    assert classify("env/lib/test_x.py", found) is OTHER


def test_without_detection_a_stack_is_flat() -> None:
    assert classify("pkg/x.py", classes(Settings())) is SOURCE


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("TDD.YAML", SWITCH),
        (".Git/config", SWITCH),
        ("TESTS/Test_Calc.py", TEST),
        ("te\u017fts/helpers.py", TEST),
        ("CONFTEST.PY", TEST),
        ("SRC/calc.PY", SOURCE),
    ],
)
def test_folding_case_finds_the_protected_name(path: str, expected: PathClass) -> None:
    assert classify(path, SRC, fold_case=True) is expected
    assert classify(path, SRC) is OTHER


def test_folding_case_takes_every_normal_form() -> None:
    found = classes(Settings(spec=("caf\u00e9/",)))
    assert classify("cafe\u0301/x.md", found) is OTHER
    assert classify("cafe\u0301/x.md", found, fold_case=True) is SPEC
    assert classify("CAFE\u0301/x.md", found, fold_case=True) is SPEC


def test_folding_case_folds_the_globs_too() -> None:
    found = classes(Settings(spec=("SPECS/",)))
    assert classify("specs/x.md", found) is OTHER
    assert classify("specs/x.md", found, fold_case=True) is SPEC


def test_classes_survive_json() -> None:
    there_and_back = Classes.from_json(json.loads(json.dumps(SRC.to_json())))
    assert there_and_back == SRC
    assert classify("tests/x", there_and_back) is TEST


@pytest.mark.parametrize(
    "junk", [None, {}, [], "", [["no", "x"]], [["test"]], [["test", "("]], [["test", 3]]]
)
def test_junk_is_refused(junk: object) -> None:
    with pytest.raises(ConfigError):
        Classes.from_json(junk)


def test_a_broken_glob_is_refused() -> None:
    with pytest.raises(ConfigError):
        classes(Settings(spec=("../x",)))


@given(st.text(min_size=1).filter(lambda s: "\0" not in s))
def test_every_path_has_exactly_one_class_and_folding_only_protects(path: str) -> None:
    plain, folded = classify(path, FLAT), classify(path, FLAT, fold_case=True)
    order = list(PathClass)
    assert order.index(folded) <= order.index(plain)


def test_a_change_is_an_addition_a_deletion_or_neither() -> None:
    added = Change("a.py", None, None, FILE, "1")
    deleted = Change("a.py", FILE, "1", None, None)
    edited = Change("a.py", FILE, "1", EXECUTABLE, "1")

    assert (added.added, added.deleted) == (True, False)
    assert (deleted.added, deleted.deleted) == (False, True)
    assert (edited.added, edited.deleted) == (False, False)


def report(loaded: tuple[str, ...] = (), outside: tuple[str, ...] = ()) -> TestReport:
    return TestReport("pytest", RunEnd.FINISHED, 0, 1, loaded=loaded, outside=outside)


def test_a_copy_from_elsewhere_is_named_with_a_way_out() -> None:
    (reason,) = from_elsewhere(report(outside=("/lib/calc.py instead of src/calc.py",)))
    assert reason.startswith("loaded /lib/calc.py instead of src/calc.py: ")
    assert "editable" in reason
    assert from_elsewhere(report()) == ()
