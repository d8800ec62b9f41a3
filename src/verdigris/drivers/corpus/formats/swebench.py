"""SWE-bench: rows as its readers know them, and the task repository from which its harness builds a dataset.

A row's patches are against a commit. Each of its two lists stands in it twice: as a string of JSON under a
name in capitals, and as a list under the same name in small letters. Some readers want one, some the other.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from verdigris.core.errors import UserError
from verdigris.core.test_ids import split_id
from verdigris.drivers.corpus.contents import CorpusContents, RenderedCorpus
from verdigris.drivers.corpus.formats.rows import in_splits, json_line, read_lines
from verdigris.drivers.corpus.triple import (
    SPLITS,
    CommitPatches,
    LeftOut,
    Triple,
    parse_triple,
    render_triple,
    slug_of,
)
from verdigris.runners.protocol import Harness
from verdigris.runners.registry import built_in, is_known, kind_of


def harness_of(runner: str) -> Harness | None:
    """None if the harness cannot read what the runner prints, or if no such runner is installed."""
    return kind_of(runner).harness if is_known(runner) else None


def name_tests(
    runner: str, reds: Iterable[str], passing: Iterable[str]
) -> tuple[list[str], list[str]] | None:
    """Both lists in the parser's words; None where it cannot tell a red from another test. Tests that pass
    and that it cannot tell apart are left out. A runner without a parser keeps the native ids.
    """
    harness = harness_of(runner)
    if harness is None:
        return list(reds), list(passing)
    failing, rest = ([harness.name(native) for native in ids] for ids in (reds, passing))
    counts = Counter((*failing, *rest))
    if any(counts[name] > 1 or not name or "\n" in name for name in failing):
        return None
    return failing, [name for name in rest if counts[name] == 1]


def files_of(ids: Iterable[str]) -> list[str]:
    return sorted({split_id(native).path for native in ids})


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
    rows = [triple for mine in splits.values() for triple in mine]
    unfit = {triple.id: _why_no_task(triple) for triple in rows}
    tasks = [triple for triple in rows if not unfit[triple.id]]
    if tasks:
        files.append(("sweb.yaml", _yaml({"datasets": [_DATASET], "splits": list(SPLITS)})))
    files += [(f"tasks/{task.id}/{name}", data) for task in tasks for name, data in _task_files(task)]
    left_out = [LeftOut(name, f"no row of SWE-bench: {why}") for name, why in objections.items() if why]
    left_out += [LeftOut(name, f"a row, and no task: {why}") for name, why in unfit.items() if why]
    return RenderedCorpus(tuple(files), {split: len(mine) for split, mine in splits.items()}, tuple(left_out))


def _objection(triple: Triple) -> str:
    if triple.against_commit is None:
        return "there was no commit before it"
    if not triple.against_commit.tests:
        return "its test stands in a file that is source, or in the commit already"
    return "" if triple.against_commit.source else "its edit is in the commit already"


def _why_no_task(triple: Triple) -> str:
    if harness_of(triple.runner) is None:
        return f"the harness has no parser for {triple.runner}"
    return "" if _name_tests_of(triple) else f"its parser for {triple.runner} does not tell the tests apart"


def _name_tests_of(triple: Triple) -> tuple[list[str], list[str]] | None:
    return name_tests(triple.runner, (red.native for red in triple.reds), triple.passing)


def row_of(triple: Triple) -> dict[str, Any]:
    """The columns of the original, then the harness's, then ours. The lists are in the words of the parser
    that the row names; ours are in the last column.
    """
    patches = _patches(triple)
    rendered, fits = render_triple(triple), not _why_no_task(triple)
    native = [red.native for red in triple.reds], list(triple.passing)
    failing, passing = (_name_tests_of(triple) if fits else None) or native
    more = {name: f for name, f in rendered.items() if name not in _LARGE}
    more |= {} if passing == native[1] else {"passing": native[1]}
    # By way of the red tree, with its stubs; None where they are the row's.
    more["test_patch"] = None if triple.test_patch == patches.tests else triple.test_patch
    more["patch"] = None if triple.patch == patches.source else triple.patch
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
        "log_parser": _harness_for(triple).parser if fits else "",
        "eval_type": "pass_and_fail",
        "fail_to_pass": failing,
        "pass_to_pass": passing,
        "verdigris": json.dumps(more, sort_keys=True),
    }


def triple_of(row: Any) -> Triple:
    """The triple of a row; one that an older version wrote has no patches by way of the red tree."""
    match row:
        case {
            "verdigris": str(told),
            "patch": str(source),
            "test_patch": str(tests),
            "pass_to_pass": list(ids),
        }:
            more = {"test_patch": "", "patch": "", **json.loads(told)}
            for name, same in (("test_patch", tests), ("patch", source)):
                more[name] = same if more[name] is None else more[name]
            patches = {"tests": tests, "source": source}
            return parse_triple({"passing": ids, **more, "against_commit": patches})
        case _:
            raise UserError("this row is not one of ours", hint="make it with `tdd corpus export`")


def read(folder: Path) -> Iterator[Triple]:
    return read_lines(folder, triple_of)


def image_of(instance_id: str) -> str:
    """The name that the harness derives from an instance's."""
    return f"swebench/sweb.eval.x86_64.{instance_id}:latest".lower().replace("__", "_1776_")


def eval_script(triple: Triple) -> str:
    """Puts the tests as they should be, runs them between the harness's marks, and puts them back."""
    tests = _patches(triple).tests
    runner = _harness_for(triple)
    files = files_of((*(red.native for red in triple.reds), *triple.passing))
    end = f"EOF_{hashlib.sha256(tests.encode()).hexdigest()[:12]}"
    return _template("task_eval.sh").format(tests=tests, end=end, command=runner.command(files))


def _harness_for(triple: Triple) -> Harness:
    """The harness of another tool for a row that is no task: its script is then only a hint."""
    return harness_of(triple.runner) or next(kind.harness for kind in built_in() if kind.harness)


def _task_files(triple: Triple) -> Iterator[tuple[str, bytes]]:
    patches = _patches(triple)
    failing, passing = _name_tests_of(triple) or ([], [])
    tests = {"FAIL_TO_PASS": failing, "PASS_TO_PASS": passing}
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
                "log_parser": _harness_for(triple).parser,
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
    runner = _harness_for(triple)
    remote = triple.remote or f"https://github.com/{triple.repository}.git"
    install = " \\\n  && ".join(runner.install)
    return _template("task_dockerfile.txt").format(
        image=runner.image, remote=remote, commit=triple.base_commit, install=install
    )


def _template(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


def _patches(triple: Triple) -> CommitPatches:
    if triple.against_commit is None:
        raise ValueError(triple.id)
    return triple.against_commit


def _version(triple: Triple) -> str:
    """Instances of one version share an environment."""
    return triple.environment[:12] or slug_of(triple.repository)


def _yaml(document: dict[str, Any]) -> bytes:
    import yaml

    return yaml.safe_dump(document, sort_keys=True).encode()
