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
    return 0 if found.whole and accepted else 1


class Screen:
    def act(self, text: str) -> None:
        show([Line(""), Line(f"agent: {text}")])

    def answer(self, *lines: str) -> None:
        show(_answered(line) for line in lines)


def _answered(line: str) -> Line:
    if line.startswith("denied"):
        return Line(line, "red")
    return Line(line, "green") if line.startswith("[tdd] accepted") else Line(f"  {line}")
