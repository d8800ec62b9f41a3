"""The fallback: loads the kernel, decides, and renews the quick state."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in storage/log/light.py
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn

    from verdigris.gates.clients.registry import Client
    from verdigris.storage.project import Project

IN_TIME = 2 / 3
"""Of the time that a hook has, for waiting."""


def answer(raw: bytes, arguments: list[str]) -> NoReturn:
    """Exit 0 or 2, whatever happens."""
    code, out, err = 2, "", ""
    try:
        _find_packages()
        from verdigris.gates.clients.registry import find

        client = find(arguments[0])
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
    import os

    try:
        for stream, text in ((sys.stdout, out), (sys.stderr, err)):
            stream.write(text)
            stream.flush()
    finally:
        os._exit(code)


def _find_packages() -> None:
    """`-S` was for the quick entry: now what we are installed with is needed, and nobody's start-up files."""
    import os

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
    from verdigris.gates.gate import answer as decide

    words = _words(client)
    project = None if words is None else _project(raw, words)
    if words is None or project is None:
        given = decide(client, raw)
        return given.exit_code, given.stdout, given.stderr
    if _is_plain_now(client, words, project, raw):
        return 0, "{}\n", ""
    before = _standing(project)
    given = decide(client, raw, project=project)
    if before is not None:
        _prepare_next_call(client, words, project, before)
    return given.exit_code, given.stdout, given.stderr


def _words(client: Client) -> ModuleType | None:
    """None where the client's folder has none for the quick entry: then each call is decided here."""
    from verdigris.gates.quick.quick import words_of

    try:
        return words_of(client.name)
    except Exception:  # noqa: BLE001 - not plain, then
        return None


def _project(raw: bytes, words: ModuleType) -> Project | None:
    """None where the call does not say plainly where it is: whoever decides finds the words for that."""
    from pathlib import Path

    from verdigris.core.records import Actor
    from verdigris.gates.quick.quick import start
    from verdigris.storage.log import light
    from verdigris.storage.project import open_project

    try:
        place = start(light.loads(raw.decode("utf-8")), words)
        _recall_compiled(place)
        return open_project(Path(place), Actor("agent", "", words.NAME))
    except Exception:  # noqa: BLE001 - not plain, then
        return None


def _recall_compiled(place: str) -> None:
    """The card is stale, and yet its patterns are the configuration's as a rule."""
    from verdigris.core.paths import recall_compiled
    from verdigris.gates.quick.place import Doubt, find
    from verdigris.storage import card

    try:
        known = card.read(find(place).private)
    except (Doubt, OSError):
        return
    recall_compiled({text: card.regex(rule) for text, rule in card.rules_by_text(known).items()})


def _is_plain_now(client: Client, words: ModuleType, project: Project, raw: bytes) -> bool:
    """Often it was only the card that was stale."""
    try:
        if _is_good(project, words) or not _refresh(client, words, project):
            return False
        return _judged_anew(project, raw, words)
    except Exception:  # noqa: BLE001 - not plain, then
        return False


def _judged_anew(project: Project, raw: bytes, words: ModuleType) -> bool:
    from verdigris.gates.quick.quick import judge_call
    from verdigris.storage.log import Draft, light

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


def _standing(project: Project) -> tuple[int, object] | None:
    """The last record that may have changed the state, and what of it decides which paths are protected."""
    import os

    from verdigris.storage.log import light

    head, state = light.head(os.fspath(project.repo.control)), project.state()
    if head is None:
        return None
    parts = (state.phase, state.turn, state.refactor, state.ground, state.cycle, state.configuration)
    return light.changed_at(head), parts


def _prepare_next_call(
    client: Client, words: ModuleType, project: Project, before: tuple[int, object]
) -> None:
    """A denial is an event, too: the next call finds card and stamps that are good for the log as it is."""
    from contextlib import suppress

    from verdigris.core.value import replace
    from verdigris.storage import stat_cache

    with suppress(Exception):
        if _is_good(project, words):
            return
        # A copy, since the classes that the first one remembers may be those before a claim.
        _refresh(client, words, replace(project))
        after = _standing(project)
        if after is not None and after[1] == before[1]:
            stat_cache.renumber(project.repo.private, before[0], after[0])


def _refresh(client: Client, words: ModuleType, project: Project) -> bool:
    import os

    from verdigris.gates.quick.quick import home
    from verdigris.gates.quick.quick_state import refresh

    places = tuple(map(os.fspath, client.guarded(os.environ)))
    return refresh(project, {"guarded": places, "home": home(words), "prefix": client.prefix(project)})


def _is_good(project: Project, words: ModuleType) -> bool:
    """The card was not what kept the quick entry from answering."""
    import os

    from verdigris.gates.quick.quick import home
    from verdigris.storage import card
    from verdigris.storage.log import light

    known, head = card.read(os.fspath(project.repo.private)), light.head(os.fspath(project.repo.control))
    if known is None or head is None or head.get("light", 0) >= light.MOST_IN_A_ROW:
        return False
    return (known.stamp, known.home) == (light.stamp(head), home(words))
