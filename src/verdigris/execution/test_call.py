"""A request for tests in its place: of which project and stack, on which tree, and who watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import replace, value
from verdigris.runners.protocol import RunnerAnswer

if TYPE_CHECKING:
    from verdigris.core.settings import Stack
    from verdigris.execution.process import Finished
    from verdigris.execution.room.layers import Layer
    from verdigris.runners.protocol import Progress, RunnerCall, TestRequest
    from verdigris.storage.project import Project


@value
class TestCall:
    __test__ = False

    project: Project
    stack: Stack
    request: TestRequest
    layer: Layer | None = None
    """The tree that the room shows; None: the worktree's own."""
    progress: Progress | None = None
    bare: bool = False
    """As the user would run it, without a room, to compare."""

    @property
    def timeout(self) -> float:
        return self.request.timeout or self.project.settings.timeout

    @property
    def feedback(self) -> bool:
        """No verdict, on the tree as it is: a process that has loaded things before may make it."""
        plain = not (self.layer or self.bare or self.request.trace) and self.request.sources is None
        return self.project.settings.warm and plain

    def place_request(self, report_folder: str) -> TestRequest:
        """The request with all that a runner must know of the place."""
        return replace(
            self.request,
            worktree=str(self.project.root),
            stack_root="" if self.stack.root == "." else self.stack.root,
            report_folder=report_folder,
            extra=(*self.stack.test_command, *self.request.extra),
        )


def answer_of(call: RunnerCall, finished: Finished) -> RunnerAnswer:
    """What every runner reads its report from; lines of a channel and report files are added to it."""
    return RunnerAnswer(
        call=call,
        exit_code=finished.exit_code,
        timed_out=finished.timed_out,
        duration_ms=finished.duration_ms,
        output=finished.output,
    )
