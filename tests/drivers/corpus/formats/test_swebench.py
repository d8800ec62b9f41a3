from __future__ import annotations

import json
import subprocess
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest
import yaml

from support.corpora import export, files_below, made_triple
from support.turns import SUB_ID
from verdigris.core.errors import UserError
from verdigris.drivers.corpus.contents import CorpusContents
from verdigris.drivers.corpus.formats import swebench
from verdigris.drivers.corpus.triple import SPLITS

if TYPE_CHECKING:
    from pathlib import Path

    from support.turns import World

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
    made = swebench.render(CorpusContents((made_triple(runner="vitest", language="typescript"),)))
    assert sum(made.rows.values()) == 1
    assert [path for path, _ in made.files if path.startswith("tasks/")] == []
    assert "vitest" in made.left_out[0].why


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
