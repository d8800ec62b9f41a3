"""The quick entry of the gate: answers what is plainly allowed, and leaves the rest to the fallback.

Nothing here decides against a call. A doubt, an exception, a stale card, a busy log: the slow entry decides.
"""

from __future__ import annotations

import gc
import posix

TYPE_CHECKING = False  # as in storage/log/light.py
if TYPE_CHECKING:
    from typing import NoReturn

NOTHING_TO_SAY = b"{}\n"
FEW_CYCLES = 50_000
"""As in `cli.main`."""


def main(arguments: list[str]) -> NoReturn:
    """`arguments`: the client, and the event where its settings name it."""
    gc.disable()  # this process is gone before there is anything to collect
    raw = _stdin()
    try:
        from verdigris.gates.quick.quick import plainly_allowed, quick_module

        allowed = plainly_allowed(raw, quick_module(arguments[0]))
    except Exception:  # noqa: BLE001 - whatever it is, the slow entry knows what to say
        allowed = False
    if not allowed or posix.write(1, NOTHING_TO_SAY) != len(NOTHING_TO_SAY):
        gc.set_threshold(FEW_CYCLES)
        gc.enable()
        from verdigris.gates.quick.fallback import answer

        answer(raw, arguments)
    # Taking the interpreter down in order would cost more than the whole decision.
    posix._exit(0)  # noqa: SLF001


def _stdin() -> bytes:
    parts = []
    while part := posix.read(0, 1 << 16):
        parts.append(part)
    return b"".join(parts)
