"""`tdd demo`: a scripted agent meets the laws, on the screen."""

from __future__ import annotations

import click

from verdigris.cli.output import show
from verdigris.views import events
from verdigris.views.line import Line

LANGUAGES = ("python", "node", "rust", "go")


@click.command("demo")
@click.option("--lang", type=click.Choice(LANGUAGES), default="python", help="The language of the play.")
def command(lang: str) -> int:
    """Watch a scripted agent in a temporary repository: each answer is the kernel's own.

    With --lang the play is in JavaScript (node), Rust or Go, by the tool that is on PATH.
    """
    from verdigris.drivers.demo.play import SCRIPTS, play, prepare

    script = SCRIPTS[lang]()
    project = prepare(script)
    play(script, project, Screen())
    found = project.log.verify()
    show([Line("the log it leaves:"), *events.verification_lines(found)])
    show([Line(f"the repository is in {project.root}")])
    accepted = any(record.type == "accepted" for record in project.log.records(reverse=True))
    done = found.whole and accepted and (lang != "python" or _machine())
    return 0 if done else 1


def _machine() -> bool:
    """The other half of the product, on a real kata."""
    import tempfile
    from pathlib import Path

    from verdigris.cli.machine import SUCCEEDED, watching
    from verdigris.cli.opening import PERSON
    from verdigris.drivers.machine.recorded import replay
    from verdigris.kernel.project import open_project

    root = Path(tempfile.mkdtemp(prefix="tdd-demo-machine-"))
    show([Line(""), Line("the machine builds a kata: recorded answers, verdicts of now")])
    with watching(as_json=False) as watch:
        ended = replay(root, PERSON, watch)
    found = open_project(root, PERSON).log.verify()
    show([*events.verification_lines(found), Line(f"its commits: git -C {root} log")])
    return found.whole and ended.outcome in SUCCEEDED


class Screen:
    def act(self, text: str) -> None:
        show([Line(""), Line(f"agent: {text}")])

    def answer(self, *lines: str) -> None:
        show(_answered(line) for line in lines)


def _answered(line: str) -> Line:
    if line.startswith("denied"):
        return Line(line, "red")
    return Line(line, "green") if line.startswith("[tdd] accepted") else Line(f"  {line}")
