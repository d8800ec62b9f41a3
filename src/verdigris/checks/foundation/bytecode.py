"""Tells bytecode that an interpreter wrote from bytecode that somebody put in its place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.execution.process import Command, run
from verdigris.sandbox.query import apart, environment_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.execution.interpreter import Interpreter

_SECONDS = 120
_CHECK = """
import importlib.util, marshal, os, sys
def genuine(cached):
    with open(cached, "rb") as file:
        data = file.read()
    source = importlib.util.source_from_cache(cached)
    with open(source, "rb") as file:
        text = file.read()
    stamp = int(os.stat(source).st_mtime) & 0xFFFFFFFF, len(text) & 0xFFFFFFFF
    found = tuple(int.from_bytes(data[at:at + 4], "little") for at in (8, 12))
    if data[:4] != importlib.util.MAGIC_NUMBER or (data[4:8] == bytes(4) and found != stamp):
        return True  # not what Python would load
    level = cached.rpartition(".opt-")[2][:-4] if ".opt-" in cached else 0
    return marshal.loads(data[16:]) == compile(text, source, "exec", dont_inherit=True, optimize=int(level))
for number, cached in enumerate(sys.argv[1:]):
    try:
        good = genuine(cached)
    except Exception:
        good = False
    print(number, int(good))
"""


def foreign(interpreter: Interpreter, caches: Sequence[str], root: Path) -> tuple[str, ...]:
    """Those that are not what the interpreter makes of the source beside them."""
    if not caches:
        return ()
    words = (str(interpreter.path), "-I", "-S", "-B", "-c", _CHECK, *caches)
    reads = (*environment_of(interpreter.path), *(Path(path).parent for path in caches))
    with apart(root, reads=reads) as confine:
        command = Command(words, interpreter.path.parent, os.environ, confine=confine)
        finished = run(command, timeout=_SECONDS)
    told = (line.split() for line in finished.output.splitlines())
    good = {int(fields[0]) for fields in told if fields[1:] == [b"1"]}
    return tuple(path for number, path in enumerate(caches) if number not in good)
