"""What a confined process may still do as root: what tests of files and servers need, nothing of mounts."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH123

from __future__ import annotations

import errno
import os
from itertools import count

from verdigris.sandbox.syscalls import (
    PR_CAP_AMBIENT,
    PR_CAP_AMBIENT_CLEAR_ALL,
    PR_CAPBSET_DROP,
    PR_SET_NO_NEW_PRIVS,
    prctl,
    set_capabilities,
)

CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE = 0, 1, 3, 4, 5, 6, 7, 10

_FILES = frozenset({CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, NET_BIND_SERVICE})
_IDS = frozenset({SETGID, SETUID})


def kept(*, user_namespace: bool) -> frozenset[int]:
    """DAC_READ_SEARCH is not among them: with it files are opened by handle, past what masks them.

    Without a user namespace, to become another user is to look into that user's processes outside.
    """
    if os.geteuid() != 0:
        return frozenset()
    return _FILES | _IDS if user_namespace else _FILES


def drop_all_but(keep: frozenset[int]) -> None:
    """For good: `no_new_privs`, and out of the set that any later program could get them from."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    for capability in count():
        if capability in keep:
            continue
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno == errno.EINVAL:
                break
            raise
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    set_capabilities(sum(1 << capability for capability in keep & _permitted()))


def _permitted() -> frozenset[int]:
    with open("/proc/self/status", encoding="utf-8", errors="replace") as status:
        bits = next(int(line.split()[1], 16) for line in status if line.startswith("CapPrm:"))
    return frozenset(n for n in range(bits.bit_length()) if bits >> n & 1)
