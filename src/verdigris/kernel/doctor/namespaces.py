"""Whether this system lets us make a mount namespace, found out by making one in a child."""

from __future__ import annotations

import ctypes
import os
import sys

from verdigris.kernel.doctor.finding import Finding

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_UNKNOWN = 255


def check_namespaces() -> Finding:
    if sys.platform != "linux":
        return _refused("namespaces are a Linux thing")
    error = _tried()
    if error == 0:
        return Finding("namespaces", "ok", "user and mount namespaces can be made")
    return _refused(os.strerror(error) if error != _UNKNOWN else "the attempt died")


def _refused(why: str) -> Finding:
    return Finding(
        "namespaces",
        "warn",
        f"no mount namespace can be made here ({why}): a command's writes to protected paths are not stopped"
        " while it runs; they are found afterwards",
        "allow unprivileged user namespaces (sysctl, AppArmor, the container's profile), or live with it",
    )


def _tried() -> int:
    """The errno of the step that was refused, from a child that ends with the attempt; 0 where none was."""
    child = os.fork()
    if child == 0:
        code = _UNKNOWN
        try:
            code = _attempt()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else _UNKNOWN


def _attempt() -> int:
    """All that a sandbox needs: some systems allow the namespace and then refuse the mount in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    refused = (
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS)
        or libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None)
        or libc.mount(b"/tmp", b"/tmp", None, _MS_BIND | _MS_REC, None)
        or libc.mount(None, b"/tmp", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY, None)
    )
    return ctypes.get_errno() if refused else 0
