"""Whether this system lets us confine a process, found out by confining one."""

from __future__ import annotations

from verdigris.kernel import sandbox
from verdigris.kernel.doctor.finding import Finding


def check_namespaces() -> Finding:
    found = sandbox.available()
    if found.ok:
        return Finding("namespaces", "ok", "a process can be confined: mounts, ids and network of its own")
    return Finding(
        "namespaces",
        "warn",
        f"no process can be confined here ({found.why}): settlements cannot try whether assertions are live,"
        " and a command's writes to protected paths are found afterwards instead of being stopped",
        "allow unprivileged user namespaces (sysctl, AppArmor, the container's profile), or live with it",
    )
