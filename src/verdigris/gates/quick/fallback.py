"""The fallback: loads the kernel, decides, and renews the quick state, from which the quick entry answers."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from verdigris.core.agents import INSTRUCTIONS
from verdigris.core.errors import ConfigError, NotARepository, StorageError
from verdigris.core.languages import manifest_names, suffixes_with_tests
from verdigris.core.paths import compile_glob
from verdigris.core.policy.actors import claimers
from verdigris.core.records import SCHEMA, Actor, Draft
from verdigris.core.value import replace
from verdigris.gates.late_links import decide_held
from verdigris.gates.quick.quick import home, judge_call, quick_module, start
from verdigris.storage import quick_state, stat_cache
from verdigris.storage.calls.callers import at_work
from verdigris.storage.log import light
from verdigris.storage.quick_patterns import read_pattern
from verdigris.storage.repository import head

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import ModuleType
    from typing import NoReturn

    from verdigris.core.state import WorktreeState
    from verdigris.gates.clients.registry import Client
    from verdigris.storage.project import Project
    from verdigris.storage.quick_patterns import Pattern


NO_CLIENT: Mapping[str, Any] = {"guarded": (), "home": "", "prefix": ""}


def refresh(project: Project, client: Mapping[str, Any] = NO_CLIENT) -> bool:
    """Whether there is a card now; there is none while an operation or HEAD has to be looked at first.

    `client`: the fields of the card that the client's side knows.
    """
    private, control = os.fspath(project.repo.private), os.fspath(project.repo.control)
    made = _make_card(project, control, client)
    if made is None:
        quick_state.forget(private)
        return False
    with suppress(OSError):
        quick_state.write(private, made)
        return True
    return False


def _make_card(project: Project, control: str, more: Mapping[str, Any]) -> quick_state.QuickCard | None:
    before, refs, git = light.head(control), _refs(project), _look_at_configuration(project)
    if before is None or refs is None:
        return None
    state = project.state()
    try:
        seen = head(project.repo)
    except (NotARepository, StorageError):
        return None
    settled = state.intent is None and state.ground is not None and state.configuration is not None
    if not settled or state.head is None or (state.head.on, state.head.commit) != (seen.branch, seen.commit):
        return None
    after = light.head(control)
    if after is None or light.stamp(after) != light.stamp(before) or _refs(project) != refs:
        return None
    fields = {**_fields(project, state), **more, "stamp": light.stamp(after), "refs": refs, "git": git}
    if state.open_cycle is not None:
        # Its spec is of a class that red lets everyone write.
        spec = os.fspath(project.root / state.open_cycle.spec_path)
        fields["guarded"] = (*fields["guarded"], spec)
    return quick_state.QuickCard(fields)


def _refs(project: Project) -> quick_state.Refs | None:
    return quick_state.refs(os.fspath(project.repo.git_dir), os.fspath(project.repo.common_dir))


def _look_at_configuration(project: Project) -> tuple[int, int, int] | None:
    return quick_state.look(os.fspath(project.repo.common_dir / "config"))


def _fields(project: Project, state: WorktreeState) -> dict[str, Any]:
    frozen = state.turn is not None or state.refactor is not None or state.open_cycle is not None
    return {
        "root": os.fspath(project.root),
        "control": os.fspath(project.repo.control),
        "worktree": project.repo.worktree,
        "schema": SCHEMA.current,
        "phase": state.phase.value,
        "suspended": state.turn is not None and state.turn.suspended,
        "targets": _target_rule(target for claim in state.claims.values() for target in claim.targets),
        "claimers": sorted(claimers(state) & at_work(os.fspath(project.repo.private), "")),
        "rules": [(cls.value, read_pattern(regex)) for cls, regex in project.classes.rules],
        "instructions": INSTRUCTIONS,
        "mixed": sorted(manifest_names()),
        "mixed_source": suffixes_with_tests(),
        "held_out": sorted(state.held_out),
        "config": None if frozen or state.configuration is None else state.configuration.tdd_yaml,
    }


def _target_rule(targets: Iterable[str]) -> Pattern | None:
    """Decides as `core.policy.next_move.covers` does."""
    regexes = [regex for target in targets for regex in _target(target)]
    return read_pattern("|".join(dict.fromkeys(regexes))) if regexes else None


def _target(target: str) -> Iterator[str]:
    if target == ".":
        yield r".*\Z"
        return
    yield re.escape(target.rstrip("/")) + r"(?:/.*)?\Z"
    with suppress(ConfigError):
        yield compile_glob(target)


IN_TIME = 2 / 3
"""Of the time that a hook has, for waiting."""


def answer(raw: bytes, arguments: list[str]) -> NoReturn:
    """Exit 0 or 2, whatever happens."""
    code, out, err = 2, "", ""
    try:
        _find_packages()
        from verdigris.gates.clients import registry

        client = registry.find(arguments[0])
        event = arguments[1] if arguments[1:] else ""
        # Where no answer is no refusal, a fault of ours is no reason to stand in a person's way.
        code = 0 if any(hook.event == event and not hook.closed for hook in client.hooks) else 2
        _keep_time(client, event)
        code, out, err = _decide(client, raw)
    except Exception as error:  # noqa: BLE001 - unexpected means no, and says so
        err = f"Verdigris cannot judge this call: {error!r}. next: tell the user to run `tdd doctor`\n"
    _leave(code, out, err)


def _leave(code: int, out: str, err: str) -> NoReturn:
    """Taking every module apart again would cost as much as a fifth of a denial."""
    try:
        for stream, text in ((sys.stdout, out), (sys.stderr, err)):
            stream.write(text)
            stream.flush()
    finally:
        os._exit(code)


def _find_packages() -> None:
    """Adds our packages to the path: the interpreter was started without `site`, for the quick entry."""
    from verdigris.gates.agent_shell.launcher import add_import_paths

    if not add_import_paths(os.environ):
        import site

        site.main()


def _keep_time(client: Client, event: str) -> None:
    """Limits waiting to what the client allows, so that a held lock is reported in time."""
    from verdigris.storage.lock import answer_within

    allowed = {hook.event: hook.seconds for hook in client.hooks}
    answer_within(allowed.get(event, min(allowed.values())) * IN_TIME)


def _decide(client: Client, raw: bytes) -> tuple[int, str, str]:
    """The project is opened once; what is plain once the card is fresh needs no more than that."""
    return decide_held(client, raw, lambda: _answer(client, _words(client), raw))


def _answer(client: Client, words: ModuleType | None, raw: bytes) -> tuple[int, str, str]:
    from verdigris.gates.gate import answer as decide

    project = None if words is None else _project(raw, words)
    if words is None or project is None:
        given = decide(client, raw)
        return given.exit_code, given.stdout, given.stderr
    if _is_plain_now(client, words, project, raw):
        return 0, "{}\n", ""
    before = _read_standing(project)
    given = decide(client, raw, project=project)
    if before is not None:
        _prepare_next_call(client, words, project, before)
    return given.exit_code, given.stdout, given.stderr


def _words(client: Client) -> ModuleType | None:
    """What the quick entry knows of the client; None if nothing: the slow entry decides each of its calls."""
    try:
        return quick_module(client.name)
    except Exception:  # noqa: BLE001 - not plain, then
        return None


def _project(raw: bytes, words: ModuleType) -> Project | None:
    """None if the call does not say plainly where it is: the gate then words the refusal."""
    from pathlib import Path

    from verdigris.storage.project import open_project

    try:
        place = start(light.loads(raw.decode("utf-8")), words)
        return open_project(Path(place), Actor("agent", "", words.NAME))
    except Exception:  # noqa: BLE001 - not plain, then
        return None


def _is_plain_now(client: Client, words: ModuleType, project: Project, raw: bytes) -> bool:
    """Whether the call is plainly allowed by a fresh card: often only the card was stale."""
    try:
        if _is_good(project, words) or not _refresh(client, words, project):
            return False
        return _judge_anew(project, raw, words)
    except Exception:  # noqa: BLE001 - not plain, then
        return False


def _judge_anew(project: Project, raw: bytes, words: ModuleType) -> bool:
    allowed = judge_call(raw, words)
    if allowed.record():
        return True
    head = light.head(allowed.card.control)
    if not allowed.kind or head is None or light.stamp(head) != allowed.card.stamp:
        return False
    where = allowed.envelope
    draft = Draft(allowed.kind, allowed.data, where["worktree"], where["branch"], where["actor"])
    project.log.append([draft])
    return True


def _read_standing(project: Project) -> tuple[int, object] | None:
    """The last record that may have changed the state, and what of it decides which paths are protected."""
    head, state = light.head(os.fspath(project.repo.control)), project.state()
    if head is None:
        return None
    parts = (state.phase, state.turn, state.refactor, state.ground, state.cycle, state.configuration)
    return light.changed_at(head), parts


def _prepare_next_call(
    client: Client, words: ModuleType, project: Project, before: tuple[int, object]
) -> None:
    """A denial is an event, too: the next call finds card and stamps that are good for the log as it is."""
    with suppress(Exception):
        if _is_good(project, words):
            return
        # A copy, since the classes that the first one remembers may be those before a claim.
        _refresh(client, words, replace(project))
        after = _read_standing(project)
        if after is not None and after[1] == before[1]:
            stat_cache.renumber(project.repo.private, before[0], after[0])


def _refresh(client: Client, words: ModuleType, project: Project) -> bool:
    from verdigris.gates.agent_shell.git_regions import hooks_in

    hooks = hooks_in(project.root, os.environ)
    places = (*map(os.fspath, client.guarded(os.environ)), *hooks)
    return refresh(project, {"guarded": places, "home": home(words), "prefix": client.prefix(project)})


def _is_good(project: Project, words: ModuleType) -> bool:
    """The card was not what kept the quick entry from answering."""
    known = quick_state.read(os.fspath(project.repo.private))
    head = light.head(os.fspath(project.repo.control))
    if known is None or head is None or head.get("light", 0) >= light.MOST_IN_A_ROW:
        return False
    return (known.stamp, known.home) == (light.stamp(head), home(words))
