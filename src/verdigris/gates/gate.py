"""The gate in front of a coding agent: takes one hook call, and answers it in the client's format.

Before a tool call it allows, asks the person, or denies. After one it puts protected paths back.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.actions import Allow, Deny
from verdigris.core.agents import INSTRUCTIONS
from verdigris.core.errors import VerdigrisError, storage_error
from verdigris.core.events import ToolAllowed, Violation
from verdigris.core.paths import PathClass
from verdigris.core.policy.cycle import next_step
from verdigris.core.state import Phase
from verdigris.core.turn_events import denial_event
from verdigris.core.value import replace
from verdigris.gates.agent_shell.places import could_be_written, refuse
from verdigris.gates.calls import (
    NO_PRIVILEGES,
    PASS,
    SIGNS,
    HookAnswer,
    HookCall,
    Manner,
    Moment,
    Reply,
    home,
    is_control,
    is_name,
    is_switch,
    readings,
)
from verdigris.storage.calls.callers import end_edit, note_caller, note_edit
from verdigris.storage.calls.open_calls import alive
from verdigris.storage.paths import canonical, class_of
from verdigris.storage.relied_files import take_news

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.gates.clients.registry import Client
    from verdigris.storage.project import Project
    from verdigris.turns.write import Rewrite


def before(project: Project, call: HookCall) -> Reply:
    match call.manner:
        case Manner.WRITES:
            return _writes(project, call)
        case Manner.READS:
            return _reads(project, call)
        case Manner.SHELL:
            return _shell(project, call)
        case Manner.OWN:
            return _judge_own_prompt(project, call)
        case Manner.FOREIGN:
            return _foreign(project, call)


def _writes(project: Project, call: HookCall) -> Reply:
    if call.writes is None:
        return _no(project, call, _unreadable(call))
    return _decide_writes(project, call, call.writes)


def _unreadable(call: HookCall) -> Deny:
    return Deny(
        "unreadable-call",
        f"this {call.tool} call does not name the file that it writes in a way that Verdigris can read.",
        "repeat it with the path of one file",
    )


def _decide_writes(project: Project, call: HookCall, writes: Mapping[str, Rewrite | None]) -> Reply:
    """Decides every path that a spelling may mean, each in the worktree where it lies."""
    from verdigris.turns.write import decide_writes

    cwd = _cwd(project, call)
    places: defaultdict[Path, dict[str, Rewrite | None]] = defaultdict(dict)
    homes: dict[Path, Project] = {}
    for spelling, rewrite in writes.items():
        names = readings(spelling)
        if not names:
            return _no(project, call, _unreadable(call))
        for name in names:
            where = home(project, name, cwd)
            if is_switch(where, name, cwd, call.guarded):
                return _no(project, call, _switch(name))
            if denial := refuse(project, name, cwd, call.actor.client) or _refuse_header(name, cwd, rewrite):
                return _no(project, call, denial)
            homes[where.root] = where
            places[where.root][name] = rewrite
    texts = []
    for root, named in places.items():
        match decide_writes(homes[root], named, cwd=cwd):
            case Deny() as no:
                return _denial(no)
            case Allow(claims=reds):
                texts += [_describe_claims(homes[root], [red.test_id for red in reds])] if reds else []
                for path in _paths_in(homes[root], named, cwd):
                    note_edit(str(homes[root].repo.private), project.context, path)
    return Reply(text="\n".join(texts))


def _refuse_header(name: str, cwd: Path, rewrite: Rewrite | None) -> Deny | None:
    """Instructions are text; in a header clients may find hooks and servers."""
    path = cwd / name
    if rewrite is None or path.name not in INSTRUCTIONS:
        return None
    after = rewrite(path.read_bytes() if path.is_file() else None) or b""
    if not after.lstrip(b"\xef\xbb\xbf").startswith(b"---"):
        return None
    return Deny(
        "switch",
        f"{name} would begin with a header, in which hooks and servers can be named.",
        "leave `---` out",
    )


def _switch(name: str) -> Deny:
    return Deny(
        "switch", f"{name} turns Verdigris itself on or off, so no agent may write it.", "leave it as it is"
    )


def _describe_claims(project: Project, test_ids: Sequence[str]) -> str:
    from verdigris.turns.next_move import following_move

    return (
        f"[tdd] this edit claims {', '.join(test_ids)}: the phase is green, tests are frozen until the "
        f"verdict. next: {following_move(project, project.state())}"
    )


def _reads(project: Project, call: HookCall) -> Reply:
    cwd = _cwd(project, call)
    for text in call.strings or ():
        if any(is_control(project, name, cwd) for name in readings(text)):
            return _no(project, call, _control(text))
    return PASS


def _control(text: str) -> Deny:
    return Deny(
        "control",
        f"Verdigris keeps its records in {text}, so no agent may read or write there.",
        "`tdd status` and `tdd log` show what is recorded",
    )


def _shell(project: Project, call: HookCall) -> Reply:
    from verdigris.turns.tripwire.calls import before_call

    private = str(project.repo.private)
    tripped = before_call(project, agent_alive=alive(private), begins=not call.confinable)
    if call.confined or not call.confinable:
        note_caller(private, call.session, call.command, call.actor.context if call.subagent else "")
        return Reply(text=tripped.text)
    denial = Deny(
        "unconfined-shell",
        "shell commands of this session do not run in the sandbox yet.",
        "repeat the command in a moment: the client is reading its settings; if it is refused again, "
        f"ask the user to run `tdd init --agent {call.actor.client}` and restart the client",
    )
    return _also(tripped.text, _no(project, call, denial))


def _also(news: str, reply: Reply) -> Reply:
    """The reply, and what the agent was to hear."""
    return replace(reply, text="\n".join(filter(None, (reply.text, news)))) if news else reply


def _judge_own_prompt(project: Project, call: HookCall) -> Reply:
    """Refuses a person's command in a prompt that the agent leaves for itself, and a URL of git's files."""
    from verdigris.gates.prompts import is_a_persons

    urls = [text for text in call.strings or () if text.strip().lower().startswith("file:")]
    if any(".git" in Path(name).parts for url in urls for name in readings(url)):
        return _no(project, call, _control(urls[0]))
    if any(is_a_persons(text) for text in call.strings or ()):
        denial = Deny(
            "persons-verb", "only a person may give that command.", "ask the user to type it as a prompt"
        )
        return _no(project, call, denial)
    return PASS


def _foreign(project: Project, call: HookCall) -> Reply:
    from verdigris.turns.tripwire.calls import before_call

    tripped = before_call(project, agent_alive=alive(str(project.repo.private)))
    state = project.state()
    if call.strings is None:
        return _also(tripped.text, _no(project, call, _unreadable(call)))
    known = call.source in state.tools or state.phase is Phase.OFF
    if not known and not call.attended:
        return _also(tripped.text, _no(project, call, _unknown(call)))
    named = _protected_names(project, call, call.strings)
    reply = _decide_writes(project, call, dict.fromkeys(named)) if named else PASS
    if reply.kind == "deny" or known:
        return _also(tripped.text, reply)
    return Reply(
        "ask", f"Verdigris does not know the tool {call.source}. If you allow it, you are not asked again."
    )


def _unknown(call: HookCall) -> Deny:
    return Deny(
        "unknown-tool",
        f"Verdigris does not know the tool {call.tool}, and no person is here to allow it.",
        "use the file tools or the shell; in an attended session a person can allow the tool, once for all",
    )


def _protected_names(project: Project, call: HookCall, strings: Iterable[str]) -> list[str]:
    """The names in a tool's arguments that it may not write; each string may also be a part of one."""
    cwd = _cwd(project, call)
    spellings = [spelling for text in strings for spelling in mentioned_paths(text)]
    names = dict.fromkeys(name for spelling in spellings for name in readings(spelling))
    folders = [name for name in names if (cwd / name).is_dir()][:MOST_PARTS]
    files = [name for name in names if _FILE_NAME.fullmatch(name)][:MOST_PARTS]
    names |= dict.fromkeys(f"{folder}/{name}" for folder in folders for name in files)
    return [
        name
        for name in names
        if is_switch(project, name, cwd, call.guarded)
        or _class(project, name, cwd) is not PathClass.OTHER
        or (could_be_written(project, name, cwd) and refuse(project, name, cwd, call.actor.client))
    ]


def _class(project: Project, name: str, cwd: Path) -> PathClass:
    """The class of a path; a folder has the class of a file in it."""
    where = home(project, name, cwd)
    folder = (cwd / name).is_dir()
    return class_of(where.root, f"{name}/x" if folder else name, where.classes, cwd=cwd)[0]


def _cwd(project: Project, call: HookCall) -> Path:
    return Path(call.cwd) if call.cwd.startswith("/") and is_name(call.cwd) else project.root


def _no(project: Project, call: HookCall, denial: Deny) -> Reply:
    project.record(denial_event(denial, call.tool))
    return _denial(denial)


def _denial(denial: Deny) -> Reply:
    return Reply("deny", "\n".join(denial.lines()))


MOST_PARTS = 20
_FILE_NAME = re.compile(r"(?!/)[\w@+./-]*[./][\w@+-]+")
"""A relative path that has an ending or a folder."""
_PATCH = re.compile(
    r"^(?:\*\*\* (?:(?:Add|Update|Delete) File|Move to): |(?:---|\+\+\+) (?:[ab]/)?|rename (?:from|to) )"
    r"(.+?)(?:\t.*)?\r?$",
    re.MULTILINE,
)


def mentioned_paths(text: str) -> tuple[str, ...]:
    return (text, *_PATCH.findall(text)) if "\n" in text else (text,)


def after(project: Project, call: HookCall) -> Reply:
    from verdigris.turns.tripwire.calls import after_call  # not needed by a denial before the call

    private = str(project.repo.private)
    end_edit(private, project.context)
    tripped = after_call(project, agent_alive=alive(private), wrote=_could_write(project, call))
    if call.moment is Moment.AFTER and call.manner is Manner.FOREIGN:
        _remember(project, call)
    if tripped.text:
        return Reply(text=tripped.text)
    return Reply(text="\n".join(f"[tdd] {_explain(project, sign)}" for sign in call.stopped))


def _explain(project: Project, sign: str) -> str:
    """Says why a command could not write, by the phase."""
    state = project.state()
    if state.open_cycle is None or state.phase not in {Phase.PLAN, Phase.HELD} or sign == NO_PRIVILEGES:
        return SIGNS[sign]
    stage, following = state.open_cycle.stage, next_step(state.open_cycle)
    return f"in stage {stage} of the cycle nobody writes that path. next: {following}"


def _could_write(project: Project, call: HookCall) -> tuple[str, ...] | None:
    """The paths that the tool could write: other changes are a person's. None if that is not known."""
    match call.manner:
        case Manner.READS | Manner.OWN:
            return ()
        case Manner.WRITES if call.writes is not None:
            names = [name for spelling in call.writes for name in readings(spelling)]
            return _paths_in(project, names, _cwd(project, call))
        case _:
            return None


def _paths_in(project: Project, names: Iterable[str], cwd: Path) -> tuple[str, ...]:
    found = (canonical(project.root, name, cwd=cwd) for name in names)
    return tuple(dict.fromkeys(place.path for place in found if place.path is not None))


def _remember(project: Project, call: HookCall) -> None:
    """Remembers a tool that has run: a person was asked, and allowed it."""
    state = project.state()
    if call.source not in state.tools and state.phase is not Phase.OFF:
        project.record(ToolAllowed(source=call.source))


def answer(
    client: Client,
    raw: bytes,
    environment: Mapping[str, str] | None = None,
    project: Project | None = None,
) -> HookAnswer:
    """Always answers: a fault of ours refuses the agent's call, and never stands in a person's way.

    `project`: the one that the call is about, if it is open already.
    """
    call = HookCall(Moment.JUNK)
    try:
        given = os.environ if environment is None else environment
        call = client.parse(raw, given)
        if call.fault:
            return client.fault(call, call.fault, "report it; a person may go on by hand")
        if call.moment is Moment.OTHER:
            return client.render(call, PASS)
        return _decide(client, call, given, project)
    except VerdigrisError as error:
        return client.fault(call, error.message, error.hint or "`tdd doctor`")
    except OSError as error:
        told = storage_error(f"cannot use {error.filename}", error, "its folder")
        return client.fault(call, told.message, told.hint or "`tdd doctor`")
    except Exception as error:  # noqa: BLE001 - the last line of defence: whatever else comes is our fault
        what = f"a bug in Verdigris, {type(error).__name__}: {error}"
        return client.fault(call, what, "`tdd doctor`, and report it")


def _decide(
    client: Client, call: HookCall, environment: Mapping[str, str], opened: Project | None
) -> HookAnswer:
    from verdigris.gates.agent_shell.launcher import add_import_paths

    add_import_paths(environment)
    from verdigris.storage.project import open_project

    if opened is None:
        project = open_project(_start(client, call, environment), call.actor)
    else:
        project = replace(opened, actor=call.actor)
    around = client.surroundings(project, environment)
    call = replace(call, confined=around.confined, confinable=around.confinable, guarded=around.guarded)
    reply = _reply(client, project, call)
    return client.render(call, _also(_tell_undone(project), reply))


def _tell_undone(project: Project) -> str:
    """What was put back because it changed while a file tool wrote."""
    news = take_news(str(project.repo.private))
    project.record(*(Violation(path=line.partition(" ")[0], what=line) for line in news))
    return "\n".join(f"[tdd] {line}" for line in news)


def _start(client: Client, call: HookCall, environment: Mapping[str, str]) -> Path:
    named = client.start(call, environment)
    return Path(named) if is_name(named) else Path.cwd()


def _reply(client: Client, project: Project, call: HookCall) -> Reply:
    match call.moment:
        case Moment.BEFORE:
            return before(project, call)
        case Moment.AFTER | Moment.FAILED:
            return after(project, call)
        case Moment.STOP | Moment.SUBAGENT_STOP:
            from verdigris.gates.stops import stop, subagent_stop

            return stop(project, call) if call.moment is Moment.STOP else subagent_stop(project, call)
        case Moment.START:
            from verdigris.gates.prompts import start

            if not call.confined and call.confinable:
                client.confine(project)
            return start(project, call)
        case Moment.SUBAGENT_START:
            from verdigris.gates.prompts import subagent_start

            return subagent_start(project, call)
        case Moment.PROMPT:
            from verdigris.gates.prompts import prompt

            return prompt(project, call)
        case Moment.OTHER | Moment.JUNK:
            return PASS
