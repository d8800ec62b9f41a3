"""SWE-bench: rows as its readers know them, and the task repository from which its harness builds a dataset.

A row's patches are against a commit. Its two lists are JSON in a string, and once more as lists under names
in small letters, since both spellings are read.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import UserError
from verdigris.core.test_ids import split_id
from verdigris.drivers.corpus.contents import RenderedCorpus
from verdigris.drivers.corpus.formats.triples import in_splits, json_line, read_json_lines
from verdigris.drivers.corpus.triple import SPLITS, LeftOut, parse_triple, render_triple, slug_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.drivers.corpus.contents import CorpusContents
    from verdigris.drivers.corpus.triple import CommitPatches, Triple

PARSERS = {"pytest": "parse_log_pytest"}
"""The parser of the harness that reads a runner's ids as we write them."""
_LARGE = frozenset({"patch", "test_patch", "against_commit", "passing"})
"""What a row has under a name of its own."""
_DATASET = "verdigris/corpus"


def render(gathered: CorpusContents) -> RenderedCorpus:
    objections = {triple.id: _objection(triple) for triple in gathered.triples}
    splits = in_splits(triple for triple in gathered.triples if not objections[triple.id])
    files = [
        (f"{split}.jsonl", b"".join(json_line(row_of(triple)) for triple in mine))
        for split, mine in splits.items()
    ]
    tasks = [triple for mine in splits.values() for triple in mine if triple.runner in PARSERS]
    if tasks:
        files.append(("sweb.yaml", _yaml({"datasets": [_DATASET], "splits": list(SPLITS)})))
    files += [(f"tasks/{one.id}/{name}", data) for one in tasks for name, data in _task_files(one)]
    left_out = [LeftOut(name, f"no row of SWE-bench: {why}") for name, why in objections.items() if why]
    left_out += [
        LeftOut(triple.id, f"a row, and no task: no parser of the harness reads ids of {triple.runner}")
        for mine in splits.values()
        for triple in mine
        if triple.runner not in PARSERS
    ]
    return RenderedCorpus(tuple(files), {split: len(mine) for split, mine in splits.items()}, tuple(left_out))


def _objection(triple: Triple) -> str:
    if triple.against_commit is None:
        return "there was no commit before it"
    if not triple.against_commit.tests:
        return "its test stands in a file that is source, or in the commit already"
    return "" if triple.against_commit.source else "its edit is in the commit already"


def row_of(triple: Triple) -> dict[str, Any]:
    """The columns of the original, then the harness's, then ours."""
    patches = _patches(triple)
    failing, passing = [red.native for red in triple.reds], list(triple.passing)
    more = {name: one for name, one in render_triple(triple).items() if name not in _LARGE}
    return {
        "repo": triple.repository,
        "instance_id": triple.id,
        "base_commit": triple.base_commit,
        "patch": patches.source,
        "test_patch": patches.tests,
        "problem_statement": triple.statement,
        "hints_text": "",
        "created_at": triple.created,
        "version": _version(triple),
        "FAIL_TO_PASS": json.dumps(failing),
        "PASS_TO_PASS": json.dumps(passing),
        "environment_setup_commit": triple.base_commit,
        "image": image_of(triple.id),
        "eval_script": eval_script(triple),
        "log_parser": PARSERS.get(triple.runner, ""),
        "eval_type": "pass_and_fail",
        "fail_to_pass": failing,
        "pass_to_pass": passing,
        "verdigris": json.dumps(more, sort_keys=True),
    }


def triple_of(row: Any) -> Triple:
    """The triple of a row, without the patches that a row does not have."""
    match row:
        case {
            "verdigris": str(told),
            "patch": str(source),
            "test_patch": str(tests),
            "pass_to_pass": list(ids),
        }:
            patches = {"tests": tests, "source": source}
            more = {"patch": "", "test_patch": "", "passing": ids, "against_commit": patches}
            return parse_triple({**json.loads(told), **more})
        case _:
            raise UserError("this row is not one of ours", hint="make it with `tdd corpus export`")


def read(folder: Path) -> Iterator[Triple]:
    for path in sorted(folder.glob("*.jsonl")):
        for number, row in read_json_lines(path):
            try:
                yield triple_of(row)
            except (UserError, ValueError) as error:
                raise UserError(f"{path.name}, line {number}: {error}", hint="export it anew") from None


def image_of(instance_id: str) -> str:
    """The name that the harness derives from an instance's."""
    return f"swebench/sweb.eval.x86_64.{instance_id}:latest".lower().replace("__", "_1776_")


def eval_script(triple: Triple) -> str:
    """Puts the tests as they should be, runs them between the harness's marks, and puts them back."""
    tests = _patches(triple).tests
    files = sorted({split_id(name).path for name in (*(red.native for red in triple.reds), *triple.passing)})
    end = f"EOF_{hashlib.sha256(tests.encode()).hexdigest()[:12]}"
    return "\n".join(
        [
            "#!/bin/bash",
            "set -uxo pipefail",
            "cd /testbed",
            f"git apply --whitespace=nowarn -v - <<'{end}'",
            f"{tests}{end}",
            ": '>>>>> Start Test Output'",
            f"python -m pytest -rA {' '.join(map(_quote, files))}",
            ": '>>>>> End Test Output'",
            f"git apply --whitespace=nowarn -R -v - <<'{end}'",
            f"{tests}{end}",
            "",
        ]
    )


def _task_files(triple: Triple) -> Iterator[tuple[str, bytes]]:
    patches = _patches(triple)
    tests = {"FAIL_TO_PASS": [red.native for red in triple.reds], "PASS_TO_PASS": list(triple.passing)}
    yield (
        "task.yaml",
        _yaml(
            {
                "base_commit": triple.base_commit,
                "created_at": triple.created,
                "datasets": [_DATASET],
                "environment_setup_commit": triple.base_commit,
                "eval_type": "pass_and_fail",
                "image": image_of(triple.id),
                "instance_id": triple.id,
                "log_parser": PARSERS[triple.runner],
                "repo": triple.repository,
                "split": triple.split,
                "version": _version(triple),
            }
        ),
    )
    yield "tests.json", (json.dumps(tests, indent=2) + "\n").encode()
    yield "problem_statement.md", f"{triple.statement}\n".encode("utf-8", "backslashreplace")
    yield "gold.patch", patches.source.encode()
    yield "test.patch", patches.tests.encode()
    yield "eval.sh", eval_script(triple).encode()
    yield "Dockerfile", _dockerfile(triple).encode()


def _dockerfile(triple: Triple) -> str:
    """The commit as it is in the repository; what its tests need is installed as the project says."""
    remote = triple.remote or f"https://github.com/{triple.repository}.git"
    return "\n".join(
        [
            "FROM python:3",
            f"ARG REPOSITORY={remote}",
            f'RUN git clone "$REPOSITORY" /testbed && git -C /testbed checkout --quiet {triple.base_commit}',
            "WORKDIR /testbed",
            "RUN python -m pip install pytest \\",
            "  && if [ -f requirements.txt ]; then python -m pip install -r requirements.txt; fi \\",
            "  && if [ -f pyproject.toml ] || [ -f setup.py ]; then python -m pip install -e .; fi",
            "",
        ]
    )


def _patches(triple: Triple) -> CommitPatches:
    if triple.against_commit is None:
        raise ValueError(triple.id)
    return triple.against_commit


def _version(triple: Triple) -> str:
    """Instances of one version share an environment."""
    return triple.environment[:12] or slug_of(triple.repository)


def _quote(word: str) -> str:
    import shlex

    return shlex.quote(word)


def _yaml(document: dict[str, Any]) -> bytes:
    import yaml

    return yaml.safe_dump(document, sort_keys=True).encode()
