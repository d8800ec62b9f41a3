"""The pre-push hook that audits what is about to be pushed: written, chained, and taken away."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError, UserError
from verdigris.core.value import value
from verdigris.storage.git import ask_users_git

if TYPE_CHECKING:
    from pathlib import Path

NAME = "pre-push"
EARLIER = "pre-push.before-tdd"
"""What was the hook before ours; it is asked first."""
_MARK = "# Written by `tdd init --pre-push`"
_HOOK = """\
#!/bin/sh
{mark}; `tdd uninit` takes it away. `git push --no-verify` pushes without it.
# It audits what is about to be pushed. The hook that was here before is beside it, and is asked first.
refs=$(cat)
earlier="$(dirname "$0")/{earlier}"
if [ -x "$earlier" ]; then
  printf '%s\\n' "$refs" | "$earlier" "$@" || exit $?
fi
if ! [ -x {python} ]; then
  echo "tdd: {python} is gone, so this push is not audited." >&2
  echo "hint: \\`tdd init --pre-push\\` writes the hook anew" >&2
  exit 0
fi
printf '%s\\n' "$refs" | {python} -m verdigris audit pre-push "$@"
"""


@value
class PrePushHook:
    path: Path
    earlier: bool
    """Another hook is there, which ours will call."""
    ours: bool
    """Ours is there already."""


def plan_hook(root: Path) -> PrePushHook:
    folder = _hooks_folder(root)
    path = folder / NAME
    ours = _is_ours(path)
    return PrePushHook(path, not ours and os.path.lexists(path), ours)


def write_hook(plan: PrePushHook) -> None:
    """Safe to repeat, and after a kill: the earlier hook is renamed first, and ours calls it by that name."""
    path, aside = plan.path, plan.path.with_name(EARLIER)
    if plan.earlier and os.path.lexists(aside):
        raise UserError(
            f"{path} and {aside} are both there, and neither is ours.",
            hint=f"join them, or remove {aside.name}; then `tdd init --pre-push` again",
        )
    text = _HOOK.format(mark=_MARK, earlier=EARLIER, python=shlex.quote(sys.executable))
    new = path.with_name(f".{NAME}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, "utf-8")
        new.chmod(0o755)
        if plan.earlier:
            path.rename(aside)
        new.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error


def remove_hook(root: Path) -> Path | None:
    """Where it was; the earlier one is put back. None where ours is not there."""
    path = _hooks_folder(root) / NAME
    if not _is_ours(path):
        return None
    aside = path.with_name(EARLIER)
    try:
        if os.path.lexists(aside):
            aside.replace(path)
        else:
            path.unlink()
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def _hooks_folder(root: Path) -> Path:
    """As the user's git says: `core.hooksPath` may name another."""
    return root / ask_users_git(root, "rev-parse", "--git-path", "hooks")


def _is_ours(path: Path) -> bool:
    try:
        return _MARK in path.read_text("utf-8", "replace")
    except OSError:
        return False


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be changed: {error.strerror}", hint="make its folder writable and try again"
    )
