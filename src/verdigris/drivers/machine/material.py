"""What a role is told: the committed project, and what is particular about this step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.agents.roles.material import Material
from verdigris.agents.roles.role import Role
from verdigris.drivers.machine import history

if TYPE_CHECKING:
    from verdigris.core.machine import MachineSettings
    from verdigris.drivers.machine.opening import Machine
    from verdigris.drivers.machine.position import Position

_CAME_BACK = """\
Your last test came back from the implementor, who found: {finding}
The last test may be wrong. Look at it again and revise that test, no other, so that it follows from the \
kata and is red for the right reason. If it is right as it is, answer kata-is-wrong or test-is-wrong with \
the reason."""


def material_of(machine: Machine) -> Material:
    """From git alone, so that a resumed run tells the same; without what is held out in either worktree."""
    project = machine.project
    told = history.record(project.repo, history.commits(project.root), project.classify)
    stack = project.settings.stacks[0]
    return Material(
        kata=machine.kata(),
        classify=project.classify,
        language=stack.language,
        runner=stack.runner,
        kata_path=machine.settings.kata,
        ground=told.ground,
        commits=told.commits,
        withheld=frozenset({*project.state().held_out, *machine.home.state().held_out}),
        budget=machine.settings.prompt_tokens,
    )


def notes_for(now: Position, settings: MachineSettings) -> tuple[str, ...]:
    if now.role is Role.REFACTORER:
        lines = f"{settings.refactor_lines} lines, added and removed"
        return (f"The limits of this refactor: {settings.refactor_files} files and {lines}.",)
    if now.role is Role.TESTER and now.finding:
        return (_CAME_BACK.format(finding=now.finding),)
    return ()
