"""`tdd init` and `tdd uninit`: show what will be written or taken back, ask, and do it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from verdigris.cli.context import PERSON, deny, here, persons_only, project, say, show
from verdigris.core.errors import NotARepository, NotConfigured
from verdigris.core.value import value
from verdigris.gates.clients.registry import BUILT_IN
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from verdigris.core.actions import Deny
    from verdigris.core.settings import Stack
    from verdigris.gates.clients.registry import Client
    from verdigris.gates.cycle_files import CycleFiles
    from verdigris.setup.initialisation import Initialised, InitPlan, Removed
    from verdigris.setup.scaffold import Scaffold
    from verdigris.setup.scaffold_files import RemovedScaffold, ScaffoldResult


_AGENTS = f"Connect a coding agent: {', '.join(BUILT_IN)}, …"


@value
class Additions:
    """What is connected besides the law itself."""

    agents: tuple[Client, ...]
    plays: bool
    """The agents play the cycle by sub-agents of their own."""
    audits: bool
    """`git push` audits what it sends."""

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
@click.option("--lang", metavar="NAME", help="Only the stacks of this language: python, node, rust, go, …")
@click.option(
    "--kata", metavar="PATH", help="The text that says what is to be built; scaffolds a project for it."
)
@click.option("--pre-push", "audits", is_flag=True, help="Audit what `git push` would send, before it goes.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def init_command(
    agents: tuple[str, ...], lang: str | None, kata: str | None, *, plays: bool, audits: bool, yes: bool
) -> int:
    """Set Verdigris up in this repository, and with --agent connect that coding agent.

    Writes tdd.yaml, and records it with the tree as it stands in the log inside the git folder. With --kata,
    or with --lang python, rust or node in an empty folder, it makes what is missing of a project too: a git
    repository, a test that runs, formatter and linter, the kata. With --pre-push, `git push` audits what it
    sends. `tdd uninit` undoes it.
    """
    from verdigris.setup.scaffold import plan_scaffold

    asked = Additions(_clients(agents, plays=plays), plays=plays, audits=audits)
    if denial := _refusal():
        return deny(denial)
    if (scaffold := plan_scaffold(here(), lang, kata)) is not None:
        return _scaffold(scaffold, asked, yes=yes)
    return _set_up(lang, asked, yes=yes)


def _refusal() -> Deny | None:
    try:
        return persons_only("init")
    except NotARepository:
        return None


def _set_up(lang: str | None, asked: Additions, *, yes: bool) -> int:
    from verdigris.setup.initialisation import carry_out, plan

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
    show([*done_lines(done), *_install(asked)])
    return 0


def _scaffold(scaffold: Scaffold, asked: Additions, *, yes: bool) -> int:
    from verdigris.setup.scaffold_files import make

    show([*scaffold_lines(scaffold), *asked_lines(asked)], err=True)
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


def _clients(agents: Sequence[str], *, plays: bool) -> tuple[Client, ...]:
    """The clients of the named agents; an unknown name is refused before anything is written."""
    if not agents:
        if plays:
            raise click.UsageError("--cycle says what an agent is given: name it by --agent NAME")
        return ()
    from verdigris.gates.clients.registry import find

    found = tuple(map(find, dict.fromkeys(agents)))
    if plays:
        from verdigris.gates.cycle_files import check_plays

        for client in found:
            check_plays(client)
    return found


def _install(asked: Additions) -> Iterator[Line]:
    if not asked.any:
        return
    here = project()
    for client in asked.agents:
        yield gate_line(client, client.install(here))
        if asked.plays:
            from verdigris.gates.cycle_files import install_cycle_files

            yield from cycle_lines(client, install_cycle_files(here, client))
    if asked.audits:
        from verdigris.setup.pre_push import plan_hook, write_hook

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
        Line("will write tdd.yaml (every key stands in it as a comment):"),
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
    return [Line(f"{head}; phase {done.phase}"), *([] if done.tests else none), Line(f"next: {done.next}")]


def removed_lines(removed: Removed) -> list[Line]:
    match removed.file:
        case "removed":
            what = "tdd.yaml is removed"
        case "kept":
            what = (
                "tdd.yaml is not as `tdd init` wrote it, so it is kept, and the next command adopts it again"
                " (`tdd uninit --force` removes it)"
            )
        case "missing":
            what = "there was no tdd.yaml"
    head = "Verdigris is no longer set up here" if removed.was_configured else "Verdigris was not set up here"
    return [Line(f"{head}; {what}; the log stays")]


def leftover_lines(found: Iterable[tuple[str, str]]) -> list[Line]:
    """What goes, and what stays with the reason."""
    return [Line(f"kept {what}: {why}" if why else f"will remove {what}") for what, why in found]


def asked_lines(asked: Additions) -> Iterator[Line]:
    for client in asked.agents:
        yield from map(Line, client.plan())
        if asked.plays:
            yield Line(f"will write {', '.join(client.cycle_files())} (shared: commit them)")
            yield Line("will set `cycle: {judgement: required}` in tdd.yaml, where it says nothing else")
    if asked.audits:
        yield Line("will write a pre-push hook for git; one that is there already is kept, and asked first")


def cycle_lines(client: Client, files: CycleFiles) -> Iterator[Line]:
    from verdigris.gates.cycle_files import REQUIRED

    yield from (
        Line(f"kept {path}: it is your own; move it away and repeat this to have ours") for path in files.kept
    )
    if files.judgement != REQUIRED:
        yield Line(f"kept `judgement: {files.judgement}` in tdd.yaml: the kernel's checks suffice for a PASS")
    if files.written:
        yield Line(f"{client.title} plays the cycle by {', '.join(files.written)}; restart it")
    else:
        yield Line(f"{client.title} has its files for the cycle already")


def gate_line(client: Client, written: Sequence[str]) -> Line:
    if not written:
        return Line(f"{client.title} is connected already")
    return Line(f"{client.title} is connected by {' and '.join(written)}; restart it")


def gate_removed_lines(taken_out: Mapping[str, Sequence[str]]) -> list[Line]:
    return [
        Line(f"{title} is disconnected: its hooks are taken out of {' and '.join(files)}")
        for title, files in taken_out.items()
        if files
    ]


def cycle_removed_lines(files: Sequence[str]) -> list[Line]:
    return [Line(f"the cycle's files are as they were before: {' '.join(files)}")] if files else []


def scaffold_lines(scaffold: Scaffold) -> list[Line]:
    return [Line(text) for text in _describe_plan(scaffold)]


def _describe_plan(scaffold: Scaffold) -> Iterator[str]:
    if scaffold.makes_repository:
        yield f"will make a git repository in {scaffold.root}"
    yield from (f"note: {note}" for note in scaffold.notes)
    yield from (f"will write {path}" for path in scaffold.files)
    yield from (f"{path} is there and stays as it is" for path in scaffold.kept)
    if scaffold.config is None:
        yield "tdd.yaml is there and stays as it is"
    else:
        stacks = ", ".join(map(told_stack, scaffold.settings.stacks))
        yield f"will write tdd.yaml: {stacks}; every key stands in it as a comment"


def scaffolded_lines(made: ScaffoldResult, scaffold: Scaffold) -> list[Line]:
    head = "already set up" if made.done.already and not scaffold.files else "set up"
    return [Line(f"{head}; phase {made.done.phase}"), *map(Line, _following(made, scaffold))]


def _following(made: ScaffoldResult, scaffold: Scaffold) -> Iterator[str]:
    if made.commit:
        yield f"the first commit is made: {made.commit[:10]}"
    if made.refused:
        yield f"git refused the first commit: {made.refused}"
    yield from (f"{'then' if index else 'next'}: {move}" for index, move in enumerate(_moves(made, scaffold)))


def _moves(made: ScaffoldResult, scaffold: Scaffold) -> Iterator[str]:
    yield from scaffold.before
    if not scaffold.has_kata:
        yield f"describe in {scaffold.kata} what is to be built"
    yield "`tdd test` shows that the tools work"
    yield "for the machine: name a model for each role in tdd.yaml (`roles:`)"
    files = shlex.join(dict.fromkeys((*made.uncommitted, "tdd.yaml")))
    yield f"commit that, since it works on what is committed: `git add -- {files} && git commit`"
    yield "`tdd run`"


def undone_lines(undone: RemovedScaffold) -> list[Line]:
    match undone.scaffold:
        case "removed":
            return [Line(f"removed what `tdd init` wrote: {' '.join(undone.paths)}")]
        case "kept":
            return [Line(f"the scaffold stays, for there is work in it ({undone.worked})")]
        case "none":
            return []


@click.command("uninit")
@click.option("--force", is_flag=True, help="Remove tdd.yaml although it is not as `tdd init` wrote it.")
def uninit_command(*, force: bool) -> int:
    """Undo `tdd init`: take the gates out of agents' settings, remove tdd.yaml if it is as init wrote it.

    A scaffold is removed while nobody has worked in it; what the machine left (worktree, branch, .tdd) is
    removed where your branch has all of its commits, and a program's worktree where it holds no changes. The
    log stays, and so does the git repository.
    """
    from verdigris.setup.initialisation import uninitialise
    from verdigris.setup.scaffold_files import undo

    if denial := persons_only("uninit"):
        return deny(denial)
    _remove_leftovers()
    played = _remove_cycle_files()
    taken_out = _taken_out()
    undone = undo(here())
    removed = uninitialise(here(), PERSON, force=force)
    show([*removed_lines(removed), *undone_lines(undone), *gate_removed_lines(taken_out)])
    show(cycle_removed_lines(played))
    show(_remove_pre_push())
    return 0


def _remove_pre_push() -> list[Line]:
    from verdigris.setup.pre_push import remove_hook
    from verdigris.storage.repository import find_repository

    removed = remove_hook(find_repository(here()).root)
    return [] if removed is None else [Line(f"the hook {removed} is as it was before `tdd init --pre-push`")]


def _remove_leftovers() -> None:
    """Shown before anything is done; nothing goes that is nowhere else."""
    from verdigris.drivers.loop.branches import work
    from verdigris.drivers.machine import worktree
    from verdigris.drivers.private_worktree import remove
    from verdigris.storage.repository import find_repository

    root = find_repository(here()).root
    found = (*worktree.leftovers(root), *work.leftovers(root))
    show(leftover_lines((one.what, one.kept) for one in found))
    remove(root, found)


def _remove_cycle_files() -> tuple[str, ...]:
    """Before the gates: what is left of an agent's folder goes with those."""
    from verdigris.gates.clients.registry import clients
    from verdigris.gates.cycle_files import remove_cycle_files

    try:
        here = project()
    except NotConfigured:
        return ()
    return tuple(path for client in clients() for path in remove_cycle_files(here, client))


def _taken_out() -> dict[str, tuple[str, ...]]:
    """The files from which each client's hooks were taken, by the name that people call it."""
    from verdigris.gates.clients.registry import clients

    try:
        here = project()
    except NotConfigured:
        return {}
    return {client.title: client.uninstall(here) for client in clients()}
