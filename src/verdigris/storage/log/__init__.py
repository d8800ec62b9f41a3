"""The append-only, hash-chained log of events."""

from __future__ import annotations

TYPE_CHECKING = False  # a hook imports `light` alone, without these
if TYPE_CHECKING:
    from verdigris.core.records import Draft, Record, Stamp
    from verdigris.storage.log.log import Appended, Log

__all__ = ["Appended", "Draft", "Log", "Record", "Stamp"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    from verdigris.storage.log import log

    return getattr(log, name)
