"""The program that a client's shell prefix names: it gets a command as one argument, and runs it confined.

Launchers on users' disks name this module and this file, so neither moves. Run as
`python -I -S shell.py ROOT PRIVATE PATHS COMMAND`; it is compiled at each start, so it is short.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from typing import NoReturn


def main(arguments: list[str]) -> NoReturn:
    """ROOT PRIVATE PATHS [-c] COMMAND, as the launcher and the client give them.

    Where the launcher lies tells a copied or moved repository from the one that it was written for.
    """
    import os

    from verdigris.gates.agent_shell.users_shell import become_shell, needs_no_confinement

    root, private, paths, *words = arguments
    folder, _, name = sys.argv[0].rpartition("/")
    if name == "shell" and folder != private:
        from verdigris.gates.agent_shell.launcher import find_place

        root, private = find_place(sys.argv[0], root, private)
    command = words[-1] if words else ":"
    if needs_no_confinement(private, command):
        become_shell(command, os.environ)
    from verdigris.gates.agent_shell.run import REFUSED, CallPlace, run

    try:
        run(CallPlace(root, private, paths), command)
    except OSError as error:
        said = f"verdigris: the command cannot be run: {error}. next: `tdd doctor`\n"
        os.write(2, said.encode(errors="surrogateescape"))
        os._exit(REFUSED)


if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/verdigris/")[0])
    main(sys.argv[1:])
