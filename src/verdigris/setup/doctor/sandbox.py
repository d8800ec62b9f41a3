"""Whether this system lets us confine a process, found out by confining one, and what is open if not."""

from __future__ import annotations

from verdigris import sandbox
from verdigris.setup.doctor.finding import Finding

_ALLOW = "allow unprivileged user namespaces (sysctl, AppArmor, the container's profile), or live with it"


def check_sandbox() -> Finding:
    found = sandbox.available()
    if not found.ok:
        return Finding(
            "sandbox",
            "warn",
            f"no process can be confined here ({found.why}): tests run with your rights, and what they or an"
            " agent's commands write to protected paths is found and put back afterwards instead of being"
            " stopped; held-out tests can be read, `room.network` has no effect, and settlements cannot try"
            " whether assertions are live",
            _ALLOW,
        )
    if not found.network:
        return Finding(
            "sandbox",
            "warn",
            f"a confined process has no network of its own here ({found.why}): runs reach the machine's",
            f"{_ALLOW}; `room: {{network: host}}` says that it is meant",
        )
    if found.way == "plain":
        return Finding(
            "sandbox",
            "warn",
            "a process can be confined, but without a user namespace: as root it may look into other"
            " processes of root by ptrace and /proc",
            f"work as a plain user; {_ALLOW}",
        )
    return Finding(
        "sandbox", "ok", "what a run writes has no effect outside; mounts, ids and network of its own"
    )
