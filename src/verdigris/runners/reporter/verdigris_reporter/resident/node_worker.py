"""Started by a resident node in place of a worker: joins the room of the run, and then becomes node."""

from __future__ import annotations

import json
import os
import sys

WORKER = "VERDIGRIS_WORKER"


def main() -> None:
    sys.path.append(os.path.abspath(__file__).rpartition("/verdigris_reporter/")[0])  # noqa: PTH100
    from verdigris_reporter.resident import namespaces  # type: ignore[import-not-found]

    told = json.loads(os.environ.pop(WORKER))
    namespaces.die_with(os.getppid())
    doors = {kind: os.open(f"/proc/{told['pid']}/fd/{fd}", os.O_RDONLY) for kind, fd in told["doors"].items()}
    namespaces.join(doors, told["kept"])
    for door in doors.values():
        os.close(door)
    os.chdir(told["cwd"])
    os.environ.update(told["env"])
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - the node that would have been started


if __name__ == "__main__":
    main()
