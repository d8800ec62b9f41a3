"""The scripted agent: it knows no rules, tries, and shows what the kernel answers."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.redness import VALID, WHY_NOT, judge_collect_error
from verdigris.core.test_ids import shell_words
from verdigris.core.value import value
from verdigris.core.verdict import Kind, first_line
from verdigris.drivers.demo import scenes as s
from verdigris.turns.claim import claim
from verdigris.turns.settle import settle
from verdigris.turns.test import run_tests
from verdigris.turns.write import write

if TYPE_CHECKING:
    from verdigris.languages.starter import PlainTool
    from verdigris.storage.project import Project


@value
class Agent:
    project: Project
    stage: s.Stage

    def writes(self, path: str, text: str, wish: str) -> None:
        self.stage.show(s.Wish(wish))
        before = (self.project.root / path).read_text("utf-8")
        self.stage.show(s.edit(path, before, text))
        answered = write(self.project, {path: text.encode()}, cwd=self.project.root)
        self.stage.show(_as_scene(answered) if isinstance(answered, Deny) else s.AllowedScene("written"))

    def tests(self, test_id: str) -> None:
        self.stage.show(s.CommandScene(f"tdd test {shell_words(test_id)}"))
        tested = run_tests(self.project, [test_id], cwd=self.project.root)
        for run in tested.tests:
            self.stage.show(_red(run.failure, run.red) if run.red else s.Passing("it passes"))
        for error in tested.report.errors if tested.report else ():
            failure = f"{error.kind}: {first_line(error.message)}"
            self.stage.show(_red(failure, judge_collect_error(error)))

    def claims(self, test_id: str, path: str) -> None:
        self.stage.show(s.CommandScene(f"tdd claim {shell_words(test_id, path)}"))
        answered = claim(self.project, [test_id], [path], cwd=self.project.root)
        freed = f"claimed: {path} may be edited now, and the tests are frozen"
        self.stage.show(_as_scene(answered) if isinstance(answered, Deny) else s.AllowedScene(freed))

    def settles(self) -> Kind | None:
        """The verdict; None where there was none."""
        self.stage.show(s.CommandScene("tdd settle"))
        found = settle(self.project)
        if isinstance(found, Deny):
            self.stage.show(_as_scene(found))
            return None
        verdict = found.verdict
        named = self._line_named(verdict.reasons[0]) if verdict.kind is Kind.HOLLOW else ""
        self.stage.show(s.JudgedScene(verdict.kind, ", ".join(found.accepted), verdict.reasons, named))
        return verdict.kind

    def _line_named(self, reason: str) -> str:
        """Of a reason that begins with FILE:LINE."""
        if not (place := re.match(r"(.+?):(\d+):", reason)):
            return ""
        lines = (self.project.root / place[1]).read_text("utf-8").splitlines()
        return lines[int(place[2]) - 1].strip()

    def tests_plainly(self, tool: PlainTool) -> None:
        """As without Verdigris: the tool is run in the folder, and what it prints is believed."""
        self.stage.show(s.CommandScene(tool.shown))
        ran = subprocess.run(
            tool.argv, cwd=self.project.root, capture_output=True, text=True, check=False, timeout=60
        )
        self.stage.show(s.PlainRun(tool.name, _output_lines(ran.stdout + ran.stderr), ran.returncode == 0))


def _as_scene(no: Deny) -> s.DeniedScene:
    return s.DeniedScene(no.rule, no.reason, no.next)


def _red(failure: str, red: str) -> s.RedScene:
    wrong, following = ("", "") if red == VALID else WHY_NOT.get(red, (red, ""))
    return s.RedScene(failure, wrong, following)


def _output_lines(output: str) -> tuple[str, ...]:
    return tuple(line for line in output.splitlines() if line.strip("-= \t"))
