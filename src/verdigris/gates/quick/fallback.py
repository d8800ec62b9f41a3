"""The fallback: loads the kernel, decides, and renews the quick state."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in storage/log/format.py
if TYPE_CHECKING:
    from typing import NoReturn

    from verdigris.storage.project import Project

OPEN = frozenset({"SessionStart", "UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop"})
"""Where a fault of ours is no reason to stand in a person's way."""
IN_TIME = 2 / 3
"""Of the time that a hook has, for waiting."""


def answer(raw: bytes, arguments: list[str]) -> NoReturn:
    """Exit 0 or 2, whatever happens."""
    code, out, err = 2, "", ""
    try:
        _find_packages()
        _keep_time(arguments)
        code, out, err = (0, "{}\n", "") if _now_plain(raw, arguments) else _decided(raw)
    except Exception as error:  # noqa: BLE001 - unexpected means no, and says so
        code = 0 if arguments[1:2] and arguments[1] in OPEN else 2
        err = f"Verdigris cannot judge this call: {error!r}. next: tell the user to run `tdd doctor`\n"
    sys.stdout.write(out)
    sys.stderr.write(err)
    sys.exit(code)


def _find_packages() -> None:
    """`-S` was for the quick entry: now what we are installed with is needed, and nobody's start-up files."""
    import os

    from verdigris.gates.clients.claude.install import paths

    found = paths(os.environ)
    if found:
        sys.path += [path for path in found if path not in sys.path]
        return
    import site

    site.main()


def _keep_time(arguments: list[str]) -> None:
    """Within what the client allows: a lock that somebody holds is told of in time."""
    from verdigris.gates.clients.claude.settings import HOOKS
    from verdigris.storage.lock import answer_within

    allowed = {hook.event: hook.seconds for hook in HOOKS}
    answer_within(allowed.get(arguments[1] if arguments[1:] else "", min(allowed.values())) * IN_TIME)


def _decided(raw: bytes) -> tuple[int, str, str]:
    from verdigris.gates.clients.claude import answer as decide

    given = decide(raw)
    return given.exit_code, given.stdout, given.stderr


def _now_plain(raw: bytes, arguments: list[str]) -> bool:
    """Often it was only the card that was stale."""
    try:
        return arguments[:1] == ["claude"] and _judged_anew(raw)
    except Exception:  # noqa: BLE001 - not plain, then
        return False


def _judged_anew(raw: bytes) -> bool:
    import os
    from pathlib import Path

    from verdigris.core.actions import Actor
    from verdigris.gates.clients.claude.checkup import guarded
    from verdigris.gates.quick.quick import home, judged, start
    from verdigris.gates.quick.quick_state import refresh
    from verdigris.storage.log import Draft, light
    from verdigris.storage.project import open_project

    place = start(light.loads(raw.decode("utf-8")))
    project = open_project(Path(place), Actor("agent", "", "claude"))
    if _good(project) or not refresh(project, map(os.fspath, guarded(os.environ)), home()):
        return False
    allowed = judged(raw)
    if allowed.recorded():
        return True
    head = light.head(allowed.card.control)
    if not allowed.kind or head is None or light.stamp(head) != allowed.card.stamp:
        return False
    where = allowed.envelope
    draft = Draft(allowed.kind, allowed.data, where["worktree"], where["branch"], where["actor"])
    project.log.append([draft])
    return True


def _good(project: Project) -> bool:
    """The card was not what kept the quick entry from answering."""
    import os

    from verdigris.gates.quick.quick import home
    from verdigris.storage import card
    from verdigris.storage.log import light

    known, head = card.read(os.fspath(project.repo.private)), light.head(os.fspath(project.repo.control))
    if known is None or head is None or head.get("light", 0) >= light.MOST_IN_A_ROW:
        return False
    return (known.stamp, known.home) == (light.stamp(head), home())
