"""The program that a client's shell prefix names: it gets a command as one argument, and runs it confined.

Run as `python -I -S shell.py ROOT PRIVATE PATHS COMMAND`; it is compiled at each start, so it is short.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/verdigris/")[0])
    from verdigris.gates.agent_shell.run import main

    main(sys.argv[1:])
