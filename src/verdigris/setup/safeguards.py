"""What holds on this machine: one row for each ability of the system, with it and without it.

The same rows are the table in `docs/security.md`.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable

from verdigris.core.value import value
from verdigris.sandbox import child
from verdigris.sandbox.child import Availability
from verdigris.sandbox.syscalls import set_mount_attributes
from verdigris.setup.doctor_checks import DoctorFinding


@value
class Safeguard:
    name: str
    present: str
    """What holds with it."""
    absent: str
    """What holds without it."""


@value
class Holding:
    """A row, filled in for this machine."""

    name: str
    present: bool
    holds: str


MOUNTS = Safeguard(
    "mount namespaces",
    "What is protected is read-only while an agent's command runs; what a test run writes has no effect"
    " outside; a call sees no other call's socket.",
    "Writes to protected paths are found and put back afterwards instead of being stopped. Tests run with"
    " your rights, held-out tests can be read, and settlements cannot try whether assertions are live.",
)
USERS = Safeguard(
    "user namespaces",
    "A confined process cannot look into another one or undo its mounts, as root neither.",
    "As root, a confined process may look into other processes of root by ptrace and `/proc`, and only"
    " missing capabilities keep its mounts. A plain user has no mount namespaces either.",
)
NETWORK = Safeguard(
    "network namespaces",
    "`room.network` is what a run gets.",
    "Runs reach the machine's network, and the verdict says so.",
)
PROCESSES = Safeguard(
    "process namespaces",
    "A run, and an agent's command, sees and signals no process but its own; a run leaves none behind.",
    "A run, or an agent's command, can see and end your processes; a run can leave some behind, and the"
    " verdict says so.",
)
ATTRIBUTES = Safeguard(
    "mount attributes (Linux 5.12)",
    "All mounts become read-only at once.",
    "Mounts are sealed one by one; other mounts inside a writable folder are read-only, too.",
)
_PROBES: dict[Safeguard, Callable[[Availability], bool]] = {
    MOUNTS: lambda found: found.ok,
    USERS: lambda found: found.way in {"own", "mapped"},
    NETWORK: lambda found: found.ok and found.network,
    PROCESSES: lambda found: found.ok and found.processes,
    ATTRIBUTES: lambda _: _has_mount_attributes(),
}
SAFEGUARDS = tuple(_PROBES)


def holdings() -> tuple[Holding, ...]:
    found = child.available()
    tried = ((row, probe(found)) for row, probe in _PROBES.items())
    return tuple(Holding(row.name, ok, row.present if ok else row.absent) for row, ok in tried)


def _has_mount_attributes() -> bool:
    try:
        set_mount_attributes("/")
    except OSError as error:
        return error.errno != errno.ENOSYS
    return sys.platform == "linux"


_ALLOW = "allow unprivileged user namespaces (sysctl, AppArmor, the container's profile), or live with it"


def check_sandbox() -> DoctorFinding:
    rows = holdings()
    details = tuple(f"{row.name}: {'yes' if row.present else 'no'}. {row.holds}" for row in rows)
    lacking = [row for row in rows if not row.present]
    if not lacking:
        return DoctorFinding("sandbox", "ok", "what a run writes has no effect outside", details=details)
    why = child.available().why
    what = f"this system has no {' and no '.join(row.name for row in lacking)}" + (f" ({why})" if why else "")
    return DoctorFinding("sandbox", "warn", what, _ALLOW, details)
