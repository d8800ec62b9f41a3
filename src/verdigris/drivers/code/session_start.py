"""Opens a new or a resumed session, works on a task, and reports the result."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from verdigris.core.actions import Deny
from verdigris.core.agents import INSTRUCTIONS
from verdigris.core.errors import UserError, VerdigrisError
from verdigris.core.policy.next_move import FIRST_MOVE
from verdigris.core.records import Actor
from verdigris.core.settings import HUMAN, REPLAY, Player
from verdigris.core.state import Phase
from verdigris.core.value import value
from verdigris.drivers.budget import Limits, Meter
from verdigris.drivers.code import session_file as entries
from verdigris.drivers.code.conversation import describe_law, in_tools, pin_prefix
from verdigris.drivers.code.outcome import EXIT_CODES, SessionResult
from verdigris.drivers.code.plan import lint_plan
from verdigris.drivers.code.session import Session
from verdigris.drivers.code.session_file import (
    SessionFile,
    find_session,
    fold_session,
    note_current,
    read_current,
    session_path,
)
from verdigris.drivers.code.settings import AGENT, CodeSettings, Mode, Permission, Sweep, load_code
from verdigris.drivers.code.tools.dispatch import SYSTEM, Dispatcher, is_patching, tools_for
from verdigris.drivers.code.tools.law import last_event
from verdigris.drivers.code.tools.workbench import CLIENT, Jobs, Workbench, jobs_folder
from verdigris.drivers.edits import describe_tools
from verdigris.drivers.happenings import (
    Delayed,
    ModelWrote,
    Noted,
    SessionBegan,
    SessionEnded,
    Watcher,
    scrub_events,
)
from verdigris.models.protocol import Model
from verdigris.models.role_models import RoleModels
from verdigris.models.roles.context import as_text
from verdigris.setup.doctor_checks import DoctorFinding
from verdigris.storage.lock import hold_alone
from verdigris.storage.project import Project, open_project
from verdigris.storage.repository import find_repository
from verdigris.turns import refactor
from verdigris.turns.baseline import known_baseline
from verdigris.turns.completion import begin_session as start_session
from verdigris.turns.next_move import following_move

_OFFER = (
    "there are no tests here: the model is told to write tests of the present behaviour before it changes "
    "anything. Or permit a refactor of code that no test runs: "
    "/refactor --uncovered, or `tdd code --uncovered`"
)
_UNTESTED = (
    "There are no tests here, so nothing says what the code does now. Before you change what exists, "
    "write tests that pass as it is (characterization tests; run_tests records them), then a failing one."
)


@value
class SessionOptions:
    model: str = ""
    """Replaces the model that `tdd.yaml` names."""
    resume: str | None = None
    """The beginning of a session's name; empty: the last session; None: a new one."""
    record: Path | None = None
    limits: Limits = Limits()
    permission: Mode | None = None


@contextmanager
def open_session(
    start: Path,
    watch: Watcher,
    options: SessionOptions,
    ask_person: Callable[[str, str], bool] | None = None,
) -> Iterator[Session]:
    """`ask_person`: asks a person to permit a call; None if nobody is there."""
    name = secrets.token_hex(4)
    project = open_project(start, Actor("agent", name, CLIENT))
    settings = load_code(project.root)
    _require_law(project)
    limits = options.limits
    if limits.money and AGENT not in settings.prices:
        raise UserError(
            "--max-cost needs prices, and tdd.yaml has none.",
            hint="llm: {prices: {input: …, cached: …, output: …}}, of a million tokens",
        )
    if options.resume is not None:
        name = find_session(project.repo, options.resume)
        project = replace(project, actor=Actor("agent", name, CLIENT))
        chosen = fold_session(session_path(project.repo, name)).chosen
        options = replace(options, model=options.model or chosen)
    busy = f"session {read_current(project.repo) or 'of another'} is at work in this worktree already"
    wait = "let it end, or stop it with Ctrl-C there; `git worktree add` makes room for a second one"
    with ExitStack() as held:
        role_models = held.enter_context(_open_models(settings, options, project, watch))
        held.enter_context(hold_alone(project.repo.lock(CLIENT), busy, wait))
        note_current(project.repo, name)
        watcher = scrub_events(watch, role_models.scrub)
        session = _make_session(
            project,
            SessionFile(project.repo, name, role_models.scrub),
            role_models,
            settings,
            watcher,
            options.model,
        )
        session.limits = replace(limits, tokens=limits.tokens or settings.tokens)
        mode = options.permission or settings.permission or ("all" if ask_person is None else "edits")
        session.dispatcher.permission = Permission(mode, settings.allow)
        session.dispatcher.ask_person = ask_person
        held.callback(session.bench.jobs.close)

        def open_model(name: str) -> Model:
            opened = held.enter_context(_open_models(settings, replace(options, model=name), project, watch))
            return _model_of(opened, session.file)

        session.open_model = open_model
        yield session


def _require_law(project: Project) -> None:
    state = project.state()
    if state.phase is Phase.OFF:
        raise UserError(f"Verdigris is off here ({state.off_why}).", hint="`tdd on`")
    if state.open_cycle is not None:
        raise UserError(
            "a cycle is open in this worktree, and its stages have roles of their own.",
            hint="`tdd cycle status`; a session goes in another worktree",
        )


def _open_models(
    settings: CodeSettings, options: SessionOptions, project: Project, watch: Watcher
) -> RoleModels:
    player = settings.player(AGENT)
    player = Player(options.model, player.served) if options.model else player
    if not player.model or player.model == HUMAN:
        raise UserError(
            "no model is named for the agent." if not player.model else "the agent is a model, not a person.",
            hint="--model PROVIDER:NAME, or `roles: {agent: {model: …}}` in tdd.yaml; see `tdd help code`",
        )
    return RoleModels(
        {AGENT: player},
        settings.llm,
        root=project.root,
        record=options.record,
        notice=lambda why: watch(Delayed(why)),
        hear=lambda text: watch(ModelWrote(text)),
    )


def _make_session(
    project: Project,
    file: SessionFile,
    role_models: RoleModels,
    settings: CodeSettings,
    watch: Watcher,
    chosen: str,
) -> Session:
    spoken = file.record.model or _spoken_name(role_models)
    chosen = "" if chosen.startswith(REPLAY) else chosen
    if file.record.openings:
        file.add(entries.Opened(spoken, chosen=chosen))
    else:
        prefix = pin_prefix(SYSTEM.read_text("utf-8"), _instructions(project.root))
        file.add(entries.Opened(spoken, prefix, last_event(project), chosen))
        start_session(project, file.name)
    tools = tools_for(spoken)
    bench = Workbench(
        project,
        file.name,
        role_models.scrub,
        Jobs(jobs_folder(project.repo, file.name)),
        seconds=settings.shell_seconds,
        sweep=file.record.sweep,
        patching=is_patching(spoken),
    )
    return Session(
        bench,
        file,
        Dispatcher(bench, file, tools),
        _model_of(role_models, file),
        tools,
        Meter(0, watch, settings.prices),
        settings,
        watch,
    )


def _model_of(role_models: RoleModels, file: SessionFile) -> Model:
    """In a recording each opening, and each choice of a model, has exchanges of its own."""
    return role_models.model(AGENT, file.record.openings + file.record.choices)


def _spoken_name(role_models: RoleModels) -> str:
    """The model's own name, which decides its tools; for a recording, the name recorded there."""
    if AGENT in role_models.endpoints:
        return role_models.endpoints[AGENT].model
    places = role_models.recordings[AGENT].places.values()
    return next((exchange.reply.model for place in places for exchange in place), "")


def _instructions(root: Path) -> Iterator[tuple[str, str]]:
    """The repository's files for agents; equal texts under several names are shown once."""
    shown: set[str] = set()
    for name in INSTRUCTIONS:
        try:
            text = as_text((root / name).read_bytes()) or ""
        except OSError:
            continue
        if text.strip() and text not in shown:
            shown.add(text)
            yield name, text


def run_session(
    session: Session, task: str, *, uncovered: bool = False, sweep: Sweep | None = None
) -> SessionEnded:
    """Runs a whole session. `uncovered`: a person permits a refactor of code without tests."""
    begin_session(session, task, uncovered=uncovered, sweep=sweep)
    resumed = bool(session.file.record.tasks)
    words = task or ("Go on with the task." if resumed else "")
    if not words:
        raise UserError("there is no task.", hint='tdd code -p "TASK", or a task on standard input')
    return work_on_task(session, words, resumed=resumed)


def begin_session(
    session: Session, task: str = "", *, uncovered: bool = False, sweep: Sweep | None = None
) -> None:
    resumed = session.file.record.openings > 1
    root, replay = str(session.bench.project.root), session.model.name.startswith("replay:")
    session.watch(SessionBegan(session.file.name, session.model.name, resumed, root, task, replay))
    _take_baseline(session)
    if uncovered or sweep is not None:
        begin_refactor(session, uncovered=uncovered, sweep=sweep)
    elif not resumed and session.bench.is_untested():
        session.watch(Noted(_OFFER))


def _take_baseline(session: Session) -> None:
    """A suite that does not run is said before anything is worked on."""
    project = replace(session.bench.project, actor=Actor(client=CLIENT))
    health = known_baseline(project) if session.bench.has_tests() else project.state().suite
    if project.state().hindrance is not None:
        session.watch(Noted(health))


def work_on_task(session: Session, task: str, *, resumed: bool = False, notes: str = "") -> SessionEnded:
    """`notes`: what the person did since their last task."""
    facts = "\n".join(filter(None, (notes, _facts(session, resumed=resumed))))
    ended = _report(session, session.work_on(task, facts))
    session.watch(ended)
    return ended


def begin_refactor(session: Session, *, uncovered: bool, sweep: Sweep | None) -> None:
    """Begins a refactor for a person, perhaps with untested lines, or with a scope for a codemod."""
    person = replace(session.bench.project, actor=Actor(client=CLIENT))
    begun = refactor.begin(person, uncovered=uncovered)
    if isinstance(begun, Deny):
        raise UserError(begun.reason, hint=begun.next)
    line = f"a refactor is open: {begun.passed} tests pass, {begun.failed} do not"
    if uncovered:
        line += "; lines that no test runs may be added (--uncovered)"
    if sweep is not None:
        session.file.add(entries.SweepBegan(sweep))
        session.bench.sweep = sweep
        line += f"; it may touch {sweep.files} files of {', '.join(sweep.globs)} (--sweep)"
    session.watch(Noted(line))


def _facts(session: Session, *, resumed: bool) -> str:
    """The present state, for the end of the person's message. It is not changed afterwards."""
    project = session.bench.project
    state = project.state()
    lines = [f"{stack.language} with {stack.runner} in {stack.root}" for stack in project.settings.stacks]
    lines += list(describe_tools(project))
    lines += filter(None, (state.suite,))
    if not resumed and state.phase is Phase.RED and session.bench.is_untested():
        lines.append(_UNTESTED)
    lines += list(describe_law(state))
    if state.phase is Phase.REFACTOR and (sweep := session.bench.sweep) is not None:
        scope = f"at most {sweep.files} files of {', '.join(sweep.globs)}"
        lines.append(
            f"This refactor is a sweep: edit {scope}, by tools, shell or a script; then refactor_end."
        )
    move = following_move(project, state, session=session.file.name)
    lines += [] if move == FIRST_MOVE else [f"next: {in_tools(move)}"]
    return "\n".join(("[tdd] where things stand:", *lines))


def _report(session: Session, result: SessionResult) -> SessionEnded:
    usage, spent, account = session.meter.usage, session.spent(), session.account()
    return SessionEnded(
        session.file.name,
        result.end,
        result.text,
        result.why,
        session.turns,
        session.meter.tokens,
        usage.cached if usage.cache_known else None,
        usage.prompt - usage.cached if usage.cache_known else None,
        usage.completion,
        round(session.meter.prefix, 4),
        None if spent.money is None else round(spent.money, 6),
        round(spent.seconds, 1),
        "" if EXIT_CODES[result.end] == 0 else f"`tdd code --resume {session.file.name}` goes on",
        account.files,
        account.accepted,
        tuple(dict.fromkeys((*account.concerns, *result.notes))),
        result.open,
    )


def check_plan(start: Path) -> tuple[DoctorFinding, ...]:
    """Warnings about the plan of the last session."""
    try:
        repo = find_repository(start)
        name = find_session(repo, "")
        plan = fold_session(session_path(repo, name)).plan
    except VerdigrisError:
        return ()
    odd = lint_plan(plan)
    fix = "tell the agent to revise its plan: each step with a test_id names the file of the test"
    return (DoctorFinding(f"plan of session {name}", "warn", odd[0], fix, odd[1:]),) if odd else ()
