"""The one error tree, and the exit code of each.

    VerdigrisError            70
    ├── UserError              2   the call or the configuration is wrong
    │   ├── NotARepository     2   no git worktree here
    │   ├── NotConfigured      2   `tdd init` has not been run
    │   ├── ConfigError        2   tdd.yaml cannot be used
    │   ├── ModelMisused       2   a model's key, name or address is wrong, or it refuses what is asked
    │   ├── UnknownTest        2   no such test id
    │   └── OthersCallOpen     3   another agent's open call may have written the tree
    ├── LogDamaged             4   the log is not what the kernel wrote
    ├── StorageError          70   a full, read-only or failing disk
    ├── ToolMissing           69   git, an interpreter or a test runner cannot be had
    ├── ModelUnavailable      69   a model's server is down, cut off or over its limit; may be resumed
    ├── ContextOverflow       70   a model was shown more than it can read; the caller shows less
    ├── ConfinementLost       69   what was confined once cannot be confined any more, so it is not run
    ├── TimedOut             124   a tool did not end in time
    └── HarnessError          70   our fault

Denials and verdicts are values, never exceptions.
"""

from __future__ import annotations

import errno

REPAIR = (
    "a person runs `tdd log repair --why WHY`: it keeps what is whole, and what is damaged beside it, and"
    " says what is lost"
)


class VerdigrisError(Exception):
    """What happened, and the next move."""

    exit_code = 70

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(VerdigrisError):
    exit_code = 2


class NotARepository(UserError):
    pass


class NotConfigured(UserError):
    pass


class ConfigError(UserError):
    pass


class UnknownTest(UserError):
    pass


class OthersCallOpen(UserError):
    exit_code = 3


class ModelMisused(UserError):
    pass


class LogDamaged(VerdigrisError):
    exit_code = 4


class StorageError(VerdigrisError):
    pass


def storage_error(what: str, error: OSError, place: object) -> StorageError:
    """An error of the disk, with the way out of it. `place`: what has to be writable."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            hint = "free some space and run the command again"
        case errno.EROFS | errno.EACCES | errno.EPERM:
            hint = f"make {place} writable and run the command again"
        case errno.EISDIR | errno.ENOTDIR | errno.EEXIST | errno.ENOTEMPTY:
            hint = REPAIR
        case _:
            hint = f"check the disk under {place} and run the command again"
    return StorageError(f"{what}: {error.strerror or error}", hint=hint)


class ToolMissing(VerdigrisError):
    exit_code = 69


class ModelUnavailable(VerdigrisError):
    exit_code = 69


class ConfinementLost(VerdigrisError):
    exit_code = 69


class ContextOverflow(VerdigrisError):
    pass


class TimedOut(VerdigrisError):
    exit_code = 124


class HarnessError(VerdigrisError):
    pass
