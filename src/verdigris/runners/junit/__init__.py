"""Any tool that writes JUnit XML, as `tdd.yaml` describes it, with presets for some: the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.runners.protocol import RunnerKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verdigris.languages.folders import Folder, FoundStacks


def _detect(root: Path, known: Sequence[Folder]) -> FoundStacks:
    from verdigris.runners.junit.detection import find_stacks

    return find_stacks(root, known)


KINDS = (
    RunnerKind(
        "junit",
        has_templates=True,
        downloads=(
            (
                r"in offline mode and the artifact|Cannot access \S+ .*in offline mode",
                "`mvn dependency:go-offline`",
            ),
        ),
        detect=_detect,
    ),
)
