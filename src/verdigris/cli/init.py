"""`tdd init`: shows what will be written, asks, and does it."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from verdigris.cli.context import PERSON, deny, here, live, persons_only, project, say, show
from verdigris.core.errors import NotARepository
from verdigris.core.value import value
from verdigris.gates.clients.registry import BUILT_IN, Client
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.core.settings import Stack
    from verdigris.gates.clients.installation import CycleFiles
    from verdigris.setup.initialisation import Initialised, InitPlan
    from verdigris.setup.scaffold import Scaffold
    from verdigris.setup.scaffold_files import ScaffoldResult


_AGENTS = f"Connect a coding agent: {', '.join(BUILT_IN)}, …"


@value
class Additions:
    """What `tdd init` sets up besides tdd.yaml."""

    agents: tuple[Client, ...]
    plays: bool
    """The agents play the cycle by sub-agents of their own."""
    audits: bool
    """`git push` audits what it sends."""
    team: bool = False
    """The agents' hooks are committed, for everybody who clones the repository."""

    @property
    def any(self) -> bool:
        return bool(self.agents) or self.audits


@click.command("init")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help=_AGENTS)
@click.option(
    "--cycle",
    "plays",
    is_flag=True,
    help="With --agent: the agent plays `tdd cycle` by sub-agents of its own.",
)
@click.option(
    "--team", is_flag=True, help="With --agent: also write the settings that are committed, for the team."
)
@click.option("--lang", metavar="NAME", help="Only the stacks of this language: python, node, rust, go, …")
@click.option(
    "--kata", metavar="PATH", help="The text that says what is to be built; scaffolds a project for it."
)
@click.option("--pre-push", "audits", is_flag=True, help="Audit what `git push` would send, before it goes.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def command(agents: tuple[str, ...], lang: str | None, kata: str | None, *, yes: bool, **asked: bool) -> int:
    """Set Verdigris up in this repository, and with --agent connect that coding agent.

    Writes tdd.yaml, and records it with the tree as it stands in the log inside the git folder. With --kata,
    or with --lang python, rust or node in an empty folder, it makes what is missing of a project too: a git
    repository, a test that runs, formatter and linter, the kata. With --pre-push, `git push` audits what it
    sends. `tdd uninit` undoes it.
    """
    from verdigris.setup.scaffold import plan_scaffold

    additions = Additions(_clients(agents, plays=asked["plays"], team=asked["team"]), **asked)
    with suppress(NotARepository):
        if denial := persons_only("init"):
            return deny(denial)
    if (scaffold := plan_scaffold(here(), lang, kata)) is not None:
        return _scaffold(scaffold, additions, yes=yes)
    return _set_up(lang, additions, yes=yes)


def _set_up(lang: str | None, asked: Additions, *, yes: bool) -> int:
    from verdigris.setup.initialisation import carry_out, plan, with_baseline

    try:
        planned = plan(here(), lang=lang)
    except NotARepository as error:
        if any(here().iterdir()):
            raise
        hint = "`tdd init --lang NAME` (python, rust, node) makes a project here; or `git init` first"
        raise NotARepository(error.message, hint=hint) from None
    show([*plan_lines(planned), *asked_lines(asked)], err=True)
    if not _ask_person(yes=yes or not (planned.content is not None or asked.any)):
        return 1
    done = carry_out(planned, PERSON)
    with live() as progress:
        done = with_baseline(planned.repo.root, PERSON, done, progress)
    show([*done_lines(done), *_install(asked)])
    return 0


def _scaffold(scaffold: Scaffold, asked: Additions, *, yes: bool) -> int:
    from verdigris.setup.scaffold_files import make

    show([*map(Line, scaffold_plan(scaffold)), *asked_lines(asked)], err=True)
    if not _ask_person(yes=yes or not (scaffold.changes or asked.any)):
        return 1
    made = make(scaffold, PERSON)
    show([*scaffolded_lines(made, scaffold), *_install(asked)])
    return 0


def _ask_person(*, yes: bool) -> bool:
    if yes or not sys.stdin.isatty() or click.confirm("write this?", default=True, err=True):
        return True
    say("nothing was written")
    return False


def _clients(agents: Sequence[str], *, plays: bool, team: bool) -> tuple[Client, ...]:
    """The clients of the named agents; an unknown name is refused before anything is written."""
    if not agents:
        if plays or team:
            raise click.UsageError(
                f"{'--cycle' if plays else '--team'} is about an agent: name it with --agent NAME"
            )
        return ()
    from verdigris.gates.clients.registry import find

    found = tuple(map(find, dict.fromkeys(agents)))
    if plays:
        from verdigris.gates.clients.installation import check_plays

        for client in found:
            check_plays(client)
    return found


def _install(asked: Additions) -> Iterator[Line]:
    if not asked.any:
        return
    here = project()
    for client in asked.agents:
        written = " and ".join(client.install(here, team=asked.team))
        yield Line(
            f"{client.title} is connected by {written}; restart it"
            if written
            else f"{client.title} is connected already"
        )
        if asked.plays:
            from verdigris.gates.clients.installation import install_cycle_files

            yield from cycle_lines(client, install_cycle_files(here, client))
    if asked.audits:
        from verdigris.setup.initialisation import plan_hook, write_hook

        hook = plan_hook(here.root)
        write_hook(hook)
        yield Line(f"`git push` audits what it sends, by {hook.path}; `git push --no-verify` does without")


def plan_lines(plan: InitPlan) -> list[Line]:
    if plan.content is None:
        return [Line(f"tdd.yaml is there and stays as it is: {_stacks(plan)}")]
    active = [
        line for line in plan.content.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    shown = [Line(f"    {line}") for line in active]
    found = [Line(f"found {told_stack(stack)}") for stack in plan.settings.stacks]
    if plan.assumed:
        named = "for another language: `tdd init --lang NAME`"
        found = [Line(f"no code found: {_stacks(plan)} is assumed; {named}")]
    return [
        *found,
        *(Line(f"note: {note}") for note in plan.notes),
        Line("will write tdd.yaml:"),
        *shown,
        Line(f"will record the configuration and the tree as it stands in {plan.log}"),
    ]


def _stacks(plan: InitPlan) -> str:
    return ", ".join(map(told_stack, plan.settings.stacks))


def told_stack(stack: Stack) -> str:
    tool = f" ({stack.junit.preset})" if stack.junit and stack.junit.preset else ""
    return f"{stack.language} with {stack.runner}{tool} in {stack.root}"


def done_lines(done: Initialised) -> list[Line]:
    head = "already set up" if done.already else "set up"
    none = [
        Line("there are no tests yet: write the first one, or bring old code under test in a refactor"),
        Line("that may touch uncovered lines: `tdd refactor begin --uncovered`"),
    ]
    return [
        Line(f"{head}; phase {done.phase}"),
        *([] if done.tests else none),
        *([Line(done.baseline)] if done.baseline else []),
        Line(f"next: {done.next}"),
    ]


def asked_lines(asked: Additions) -> Iterator[Line]:
    for client in asked.agents:
        yield from map(Line, client.plan(team=asked.team))
        if asked.plays:
            yield Line(f"will write {', '.join(client.cycle_files())} (shared: commit them)")
            yield Line("will set `cycle: {judgement: required}` in tdd.yaml, where it says nothing else")
    if asked.audits:
        yield Line("will write a pre-push hook for git; one that is there already is kept, and asked first")


def cycle_lines(client: Client, files: CycleFiles) -> Iterator[Line]:
    from verdigris.gates.clients.installation import REQUIRED

    yield from (
        Line(f"kept {path}: it is your own; move it away and repeat this to have ours") for path in files.kept
    )
    if files.judgement != REQUIRED:
        yield Line(f"kept `judgement: {files.judgement}` in tdd.yaml: the kernel's checks suffice for a PASS")
    if files.written:
        yield Line(f"{client.title} plays the cycle by {', '.join(files.written)}; restart it")
    else:
        yield Line(f"{client.title} has its files for the cycle already")


def scaffold_plan(scaffold: Scaffold) -> Iterator[str]:
    if scaffold.makes_repository:
        yield f"will make a git repository in {scaffold.root}"
    yield from (f"note: {note}" for note in scaffold.notes)
    yield from (f"will write {path}" for path in scaffold.files)
    yield from (f"{path} is there and stays as it is" for path in scaffold.kept)
    if scaffold.config is None:
        yield "tdd.yaml is there and stays as it is"
    else:
        stacks = ", ".join(map(told_stack, scaffold.settings.stacks))
        yield f"will write tdd.yaml: {stacks}"


def scaffolded_lines(made: ScaffoldResult, scaffold: Scaffold) -> list[Line]:
    head = "already set up" if made.done.already and not scaffold.files else "set up"
    lines = [f"{head}; phase {made.done.phase}"]
    lines += [f"the first commit is made: {made.commit[:10]}"] if made.commit else []
    lines += [f"git refused the first commit: {made.refused}"] if made.refused else []
    first, *later = _moves(made, scaffold)
    return [*map(Line, lines), Line(f"next: {first}"), *(Line(f"then: {move}") for move in later)]


def _moves(made: ScaffoldResult, scaffold: Scaffold) -> Iterator[str]:
    yield from scaffold.before
    if not scaffold.has_kata:
        yield f"describe in {scaffold.kata} what is to be built"
    yield "`tdd test` shows that the tools work"
    yield "for the machine: name a model for each role in tdd.yaml (`roles:`)"
    files = shlex.join(dict.fromkeys((*made.uncommitted, "tdd.yaml")))
    yield f"commit that, since it works on what is committed: `git add -- {files} && git commit`"
    yield "`tdd run`"
