"""The lines that tools print, read by the patterns of the harness, have the names that tasks ask for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest
import yaml

from support.corpora import export, files_below, made_triple
from support.node_tools import installed, node_22
from support.tool_worlds import lend_go_cache
from support.turns import SUB_ID, World
from verdigris.core.errors import UserError
from verdigris.drivers.corpus.contents import CorpusContents
from verdigris.drivers.corpus.formats import swebench
from verdigris.drivers.corpus.formats.swebench import harness_of, name_tests
from verdigris.drivers.corpus.triple import SPLITS, RedProof

BASE = {
    "repo",
    "instance_id",
    "base_commit",
    "patch",
    "test_patch",
    "problem_statement",
    "hints_text",
    "created_at",
    "version",
    "FAIL_TO_PASS",
    "PASS_TO_PASS",
    "environment_setup_commit",
}
TASK_FILES = {
    "task.yaml",
    "tests.json",
    "problem_statement.md",
    "gold.patch",
    "test.patch",
    "eval.sh",
    "Dockerfile",
}


def test_a_row_has_all_columns_of_the_original_as_text_and_the_lists_in_both_spellings() -> None:
    row = swebench.row_of(made_triple())
    assert row.keys() >= BASE
    assert {type(row[name]) for name in BASE} == {str}
    assert json.loads(row["FAIL_TO_PASS"]) == row["fail_to_pass"] == [SUB_ID]
    assert json.loads(row["PASS_TO_PASS"]) == row["pass_to_pass"] == ["tests/test_add.py::test_add"]
    told = json.loads(row["verdigris"])
    assert (told["reds"][0]["kind"], told["liveness"]) == ("AttributeError", "live")


def test_a_row_reads_back_as_its_triple() -> None:
    triple = made_triple()
    back = swebench.triple_of(swebench.row_of(triple))
    assert (back.against_commit, back.reds, back.green_tree) == (
        triple.against_commit,
        triple.reds,
        triple.green_tree,
    )
    with pytest.raises(UserError, match="not one of ours"):
        swebench.triple_of({"instance_id": "django__django-1"})


def test_the_task_repository_has_what_the_harness_asks_of_a_task() -> None:
    files = dict(swebench.render(CorpusContents((made_triple(),))).files)
    config = yaml.safe_load(files["sweb.yaml"])
    assert config["splits"] == list(SPLITS)
    inside = {path: data for path, data in files.items() if path.startswith("tasks/")}
    assert {PurePosixPath(path).parts[1] for path in inside} == {"ada__calc-one"}
    assert {PurePosixPath(path).name for path in inside} == TASK_FILES
    meta = yaml.safe_load(inside["tasks/ada__calc-one/task.yaml"])
    assert meta["image"] == "swebench/sweb.eval.x86_64.ada_1776_calc-one:latest"
    assert meta["datasets"] == config["datasets"]
    assert set(meta) >= {"repo", "version", "base_commit", "split", "log_parser", "eval_type"}
    script = inside["tasks/ada__calc-one/eval.sh"].decode()
    assert ">>>>> Start Test Output" in script
    assert ">>>>> End Test Output" in script


def test_a_runner_whose_ids_no_parser_reads_is_a_row_and_no_task() -> None:
    made = swebench.render(CorpusContents((made_triple(runner="junit", language="java"),)))
    assert sum(made.rows.values()) == 1
    assert [path for path, _ in made.files if path.startswith("tasks/")] == []
    assert "junit" in made.left_out[0].why


def test_a_task_has_the_names_that_the_parser_of_its_runner_reads() -> None:
    one = made_triple(
        runner="vitest",
        language="node",
        reds=(RedProof("src/a.test.ts::cart › adds", "AssertionError"),),
        passing=("src/b.test.ts::cart › adds",),
    )
    files = dict(swebench.render(CorpusContents((one,))).files)
    assert json.loads(files[f"tasks/{one.id}/tests.json"]) == {
        "FAIL_TO_PASS": ["src/a.test.ts > cart > adds"],
        "PASS_TO_PASS": ["src/b.test.ts > cart > adds"],
    }
    assert b"FROM node:" in files[f"tasks/{one.id}/Dockerfile"]
    row = swebench.row_of(one)
    assert (row["log_parser"], row["fail_to_pass"]) == ("parse_log_vitest", ["src/a.test.ts > cart > adds"])
    back = swebench.triple_of(row)
    assert (back.reds, back.passing) == (one.reds, one.passing)


def test_a_red_whose_name_two_tests_have_for_the_parser_is_a_row_and_no_task() -> None:
    one = made_triple(
        runner="go",
        language="go",
        reds=(RedProof("a/a_test.go::TestAdd", "panic"),),
        passing=("b/b_test.go::TestAdd",),
    )
    made = swebench.render(CorpusContents((one,)))
    assert [path for path, _ in made.files if path.startswith("tasks/")] == []
    assert made.left_out[0].why == "a row, and no task: its parser for go does not tell the tests apart"
    assert swebench.row_of(one)["fail_to_pass"] == ["a/a_test.go::TestAdd"]


def test_the_patches_of_a_row_apply_to_its_commit_and_its_tests_then_pass(
    proven: World, tmp_path: Path
) -> None:
    pytest.importorskip("detect_secrets", reason="the extra verdigris[corpus] is not installed")
    export(proven, tmp_path / "out", "swebench")
    rows = [
        json.loads(line)
        for path, data in files_below(tmp_path / "out").items()
        if path in {f"{split}.jsonl" for split in SPLITS}
        for line in data.splitlines()
    ]
    assert len(rows) == 2
    for row in rows:
        clone = proven.repo.clone(tmp_path / row["instance_id"])
        clone.git("checkout", "--quiet", row["base_commit"])
        clone.run("apply", "-", stdin=row["test_patch"].encode())
        tests = row["fail_to_pass"] + row["pass_to_pass"]
        assert _passed(clone.root, tests) == set(row["pass_to_pass"])
        clone.run("apply", "-", stdin=row["patch"].encode())
        assert _passed(clone.root, tests) == set(tests)


def _passed(root: Path, tests: list[str]) -> set[str]:
    import sys

    argv = [sys.executable, "-m", "pytest", "-rA", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False, timeout=60)
    lines = (line.split() for line in done.stdout.splitlines() if line.startswith("PASSED "))
    return {words[1] for words in lines}


PATTERNS = {
    "go": r"^--- (?:PASS|FAIL|SKIP): (.+) \((.+)\)$",
    "cargo": r"^test\s+(\S+)\s+\.\.\.\s+(\w+)$",
    "vitest": r"^\s*(?:✓|×|↓)\s(.+?)(?:\s(\d+\s*m?s?|\[skipped\]))?$",
}
GO_TEST = """\
package calc

import "testing"

func TestHalf(t *testing.T) {
	t.Run("of two", func(t *testing.T) {})
}
"""
RUST = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n"
CARGO = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n'
VITEST = """\
import { describe, it } from "vitest";
describe("cart", () => { it("adds up", () => {}); });
"""


def printed(runner: str, root: Path, command: str) -> set[str]:
    done = subprocess.run(
        ["bash", "-c", command], cwd=root, capture_output=True, text=True, check=True, timeout=100
    )
    lines = (line.strip() for line in done.stdout.splitlines())
    return {found[1] for line in lines if (found := re.match(PATTERNS[runner], line))}


def put(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("runner", "tool", "files", "tests"),
    [
        (
            "go",
            "go",
            {"go.mod": "module example.org/calc\n\ngo 1.20\n", "half/half_test.go": GO_TEST},
            ["half/half_test.go::TestHalf", "half/half_test.go::TestHalf/of_two"],
        ),
        ("cargo", "cargo", {"Cargo.toml": CARGO, "src/lib.rs": RUST}, ["src/lib.rs::tests::adds"]),
    ],
)
def test_the_command_prints_the_names_that_a_task_asks_for(
    runner: str,
    tool: str,
    files: dict[str, str],
    tests: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    put(tmp_path, files)
    if tool == "go":
        lend_go_cache(tmp_path / "cache")
        monkeypatch.setenv("GOCACHE", str(tmp_path / "cache"))
    made = name_tests(runner, tests, ())
    assert made is not None
    harness = harness_of(runner)
    assert harness is not None
    command = harness.command([test.partition("::")[0] for test in tests])
    assert printed(runner, tmp_path, command) == set(made[0])


@pytest.mark.timeout(200)
def test_vitest_prints_the_path_and_every_name_around_a_test(tmp_path: Path) -> None:
    node = node_22()
    put(tmp_path, {"package.json": "{}", "src/cart.test.ts": VITEST})
    (tmp_path / "node_modules").symlink_to(installed("vitest@5") / "node_modules")
    made = name_tests("vitest", ["src/cart.test.ts::cart › adds up"], ())
    harness = harness_of("vitest")
    assert harness is not None
    words = harness.command(["src/cart.test.ts"]).removeprefix("npx vitest")
    command = f"NO_COLOR=1 {node} node_modules/vitest/vitest.mjs{words}"
    assert made == ([*printed("vitest", tmp_path, command)], [])


def test_jest_tells_a_test_by_its_own_name_alone() -> None:
    assert name_tests("jest", ["a.test.js::cart › adds"], ["b.test.js::cart › counts"]) == (
        ["adds"],
        ["counts"],
    )
    assert name_tests("jest", ["a.test.js::cart › adds"], ["b.test.js::stock › adds"]) is None
