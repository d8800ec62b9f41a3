"""cargo: how `cargo test` is called, how its build and its tests are read, and the facts of the tool."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from verdigris.core.report import CollectError, RunEnd, TestReport, TestResult
from verdigris.core.value import value
from verdigris.runners.cargo.libtest_output import Binary, doc_listed, doc_results, is_doc_id, read_binary
from verdigris.runners.protocol import (
    TAIL,
    Harness,
    RunnerAnswer,
    RunnerCall,
    RunnerKind,
    TestRequest,
    end_of_answer,
    is_asked,
    read_record,
    relative,
    split_arguments,
    worst,
)
from verdigris.runners.reporter.libtest_wrapper import SETTINGS

WRAPPER = Path(__file__).parents[1] / "reporter" / "libtest_wrapper.py"
_ALWAYS = ("--no-fail-fast", "--offline", "--message-format=json")
_NO_LIBRARY = "no library targets found"


@value
class CargoRunner:
    cargo: str = "cargo"
    python: str = "python3"
    """The interpreter that runs our wrapper around each test binary."""

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        """Cargo cannot run doc tests together with other tests, so they get a call of their own."""
        tests = [name for name in request.names if not is_doc_id(name)]
        docs = [name for name in request.names if is_doc_id(name) or _may_hold_docs(name)]
        calls = []
        if tests or not request.names:
            calls.append(self._tests(request, tests))
        if docs or not request.names:
            calls.append(self._docs(request, docs))
        return tuple(calls)

    def build_call(self, request: TestRequest) -> RunnerCall:
        """The call that compiles the tests of `commands` without running them."""
        options, _ = split_arguments(request.extra, "--")
        argv = (self.cargo, "test", "--tests", "--no-run", *_ALWAYS, *options)
        return RunnerCall(argv=argv, cwd=request.folder, command=_shown_command("--no-run", options, []))

    def _tests(self, request: TestRequest, names: list[str]) -> RunnerCall:
        options, own = split_arguments(request.extra, "--")
        wrapped = json.dumps([self.python, "-I", "-S", str(WRAPPER)])
        argv = (
            *(self.cargo, "test", "--tests", *_ALWAYS),
            *("--config", f'target."cfg(all())".runner={wrapped}'),
            *options,
            *("--", *names),
        )
        plain = [test.partition("::")[2] or test for test in names]
        return RunnerCall(
            argv=argv,
            cwd=request.folder,
            command=_shown_command("--tests", options, [*own, *(["--exact", *plain] if plain else [])]),
            env={SETTINGS: json.dumps({**request.for_wrapper(), "options": own})},
        )

    def _docs(self, request: TestRequest, names: list[str]) -> RunnerCall:
        """The call for doc tests.

        It selects by file, and the report by id: rustdoc splits arguments at spaces.
        """
        options, own = split_arguments(request.extra, "--")
        files = dict.fromkeys(request.in_stack(name.partition("::")[0]) for name in names)
        filters = [] if any(" " in file or file == "." for file in files) else [*files]
        after = [*own, *(["--list"] if request.collect_only else []), *filters]
        return RunnerCall(
            argv=(self.cargo, "test", "--doc", *_ALWAYS, *options, "--", *after),
            cwd=request.folder,
            command=_shown_command("--doc", options, after),
            env={"RUST_BACKTRACE": "0"},
        )

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        parts = [_doc_part(request, a) if "--doc" in a.call.argv else _test_part(request, a) for a in answers]
        ended = next((e for e in _WORST_FIRST if any(part.ended is e for part in parts)), RunEnd.FINISHED)
        codes = [answer.exit_code for answer in answers]
        return TestReport(
            command=" && ".join(answer.call.command for answer in answers),
            ended=ended,
            exit_code=None if None in codes else max((c for c in codes if c is not None), default=None),
            duration_ms=sum(answer.duration_ms for answer in answers),
            results=_merge_doubles([result for part in parts for result in part.results]),
            collected=tuple(dict.fromkeys(i for part in parts for i in part.collected)),
            others=tuple(dict.fromkeys(i for part in parts for i in part.others)),
            errors=tuple(dict.fromkeys(error for part in parts for error in part.errors)),
            tail="\n".join(part.tail for part in parts)[-TAIL:],
            strays=sum(part.strays for part in parts),
        )


_WORST_FIRST = (RunEnd.TIMEOUT, RunEnd.DIED, RunEnd.NO_START, RunEnd.EARLY_EXIT)


def _merge_doubles(results: list[TestResult]) -> tuple[TestResult, ...]:
    """Merges results of one test: a file in two crates has its tests in both. The worse result counts."""
    ordered = sorted(results, key=lambda result: result.id)
    return tuple(worst(same) for _, same in groupby(ordered, key=lambda result: result.id))


def _test_part(request: TestRequest, answer: RunnerAnswer) -> TestReport:
    build = read_build(answer.output, request.worktree, request.stack_root)
    binaries = list(_binaries(answer.reports))
    ended = end_of_answer(answer, started=bool(binaries or build.errors))
    heard = [
        read_binary(b, request.worktree, RunEnd.EARLY_EXIT if ended is RunEnd.FINISHED else ended)
        for b in binaries
    ]
    if ended is RunEnd.FINISHED and not all(part.whole for part in heard):
        ended = RunEnd.EARLY_EXIT
    errors = build.errors
    if not errors and len(build.binaries) > len(binaries) and ended is RunEnd.FINISHED:
        message = "a test binary ran without our wrapper: does .cargo/config.toml name a runner of its own?"
        ended, errors = RunEnd.NO_START, (CollectError("", "NoReport", message),)
    return TestReport(
        command=answer.call.command,
        ended=ended,
        exit_code=answer.exit_code,
        duration_ms=answer.duration_ms,
        results=tuple(result for part in heard for result in part.results),
        collected=tuple(b.ids[name] for b in binaries for name in b.chosen),
        others=tuple(b.ids[name] for b in binaries for name in b.ids if name not in b.chosen),
        errors=errors,
        tail=build.text[-TAIL:],
        strays=sum(part.strays for part in heard),
    )


def _doc_part(request: TestRequest, answer: RunnerAnswer) -> TestReport:
    text = answer.output.decode("utf-8", "replace")
    build = read_build(answer.output, request.worktree, request.stack_root)
    ended = end_of_answer(answer, started=bool(build.errors) or "Doc-tests" in text or _NO_LIBRARY in text)
    where = {"worktree": request.worktree, "folder": request.stack_root}
    names = request.names
    listed = doc_listed(text, **where) if request.collect_only else []
    selected = [i for i in listed if is_asked(i, i.partition("::")[0], names)]
    results, others, whole = doc_results(text, names, ended=ended, **where)
    return TestReport(
        command=answer.call.command,
        ended=ended if whole or ended is not RunEnd.FINISHED else RunEnd.EARLY_EXIT,
        exit_code=answer.exit_code,
        duration_ms=answer.duration_ms,
        results=tuple(results),
        collected=tuple(selected or (result.id for result in results)),
        others=(*others, *(i for i in listed if i not in selected)),
        errors=build.errors,
        tail=build.text[-TAIL:],
    )


def _binaries(reports: Mapping[str, bytes]) -> Iterator[Binary]:
    for name in sorted(reports):
        if not name.endswith(".head"):
            continue
        head = read_record(reports[name])
        if not head:
            continue
        stem = name.removesuffix(".head")
        end = read_record(reports.get(f"{stem}.end", b"{}"))
        yield Binary(
            ids=head["ids"],
            chosen=tuple(head["chosen"]),
            base=head["base"],
            cwd=head["cwd"],
            alone=head["alone"],
            out=reports.get(f"{stem}.out"),
            code=end.get("code"),
            texts=end.get("texts", {}),
            stops=end.get("stops", {}),
        )


def _may_hold_docs(name: str) -> bool:
    """Whether a file may have doc tests: only those of a library have."""
    return "::" not in name and not {"tests", "benches", "examples"} & set(name.split("/"))


def _shown_command(kind: str, options: list[str], after: list[str]) -> str:
    return shlex.join(["cargo", "test", kind, *options, *(["--", *after] if after else [])])


_SUMS = ("aborting due to", "could not compile")


@value
class Build:
    errors: tuple[CollectError, ...] = ()
    binaries: frozenset[str] = frozenset()
    """Test executables, as absolute paths."""
    text: str = ""
    """The compiler's output as a person reads it."""


def read_build(output: bytes, worktree: str, stack_root: str) -> Build:
    errors: dict[CollectError, None] = {}
    binaries: set[str] = set()
    text: list[str] = []
    for line, message in _lines(output):
        match message:
            case {"reason": "compiler-artifact", "executable": str(made), "profile": {"test": True}}:
                binaries.add(made)
            case {"reason": "compiler-message", "message": {"rendered": str(rendered)} as told}:
                text.append(rendered.rstrip("\n"))
                if told.get("level", "").startswith("error") and not told["message"].startswith(_SUMS):
                    folder = posixpath.dirname(str(message.get("manifest_path", "")))
                    errors[_error(told, folder, worktree, stack_root)] = None
            case {"reason": _}:
                continue
            case _:
                text.append(line)
    return Build(tuple(errors), frozenset(binaries), "\n".join(text))


def _lines(output: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for line in output.decode("utf-8", "replace").split("\n"):
        yield line, read_record(line) if line.startswith('{"') else {}


def _error(message: Mapping[str, Any], package: str, worktree: str, stack_root: str) -> CollectError:
    code = (message.get("code") or {}).get("code", "error")
    spans = sorted(message.get("spans", ()), key=lambda span: not span["is_primary"])
    if not spans:
        return CollectError("", code, message["message"])
    base = _compile_folder(spans[0]["file_name"], package, worktree, stack_root)
    path = relative(spans[0]["file_name"], worktree, base)
    return CollectError(path, code, f"{path}:{spans[0]['line_start']}: {message['message']}")


def _compile_folder(file: str, package: str, worktree: str, stack_root: str) -> str:
    """The folder in which cargo compiled: the uppermost one from which the file is found.

    Cargo compiles in the root of its workspace, and does not say which folder that is.
    """
    folder = worktree
    steps = posixpath.relpath(package, worktree).split("/") if package.startswith(worktree) else []
    for step in [*steps, ""]:
        if posixpath.join(folder, file).startswith(package + "/"):
            return folder
        folder = posixpath.join(folder, step)
    return posixpath.join(worktree, stack_root)


_FAILED = r"^test (\S+)(?: - should panic)? \.\.\. FAILED$"
_COMPILER_ERROR = r"^error\[(E\d+)\]:.*\n +--> ([^:\n]+)"


def read_log(text: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(_FAILED, text, re.MULTILINE):
        asserted = re.search(
            rf"thread '{re.escape(match[1])}'[^\n]* panicked at[^\n]*\n?[^\n]*assertion", text
        )
        yield match[1], "assertion" if asserted else "panic"
    yield from ((match[2], match[1]) for match in re.finditer(_COMPILER_ERROR, text, re.MULTILINE))


KINDS = (
    RunnerKind(
        "cargo",
        oldest_program=(1, 70),
        read_log=read_log,
        downloads=(
            (r"toolchain '?[^\s']+'? is not installed", "`rustup toolchain install`"),
            (
                r"offline mode \(--offline\)|--offline was specified|attempting to make an HTTP request",
                "`cargo fetch`",
            ),
        ),
        is_doc_test=is_doc_id,
        harness=Harness(
            "parse_log_cargo",
            lambda native: native.partition("::")[2],
            lambda _: "cargo test --no-fail-fast",
            "rust:1",
            ("cargo fetch",),
        ),
    ),
)
