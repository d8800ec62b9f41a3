"""The hook process of every client: `python -I -S entry.py CLIENT EVENT`, one call on stdin, exit 0 or 2."""

# A script is compiled anew at each start, so this one only finds the modules that are not.
# ruff: noqa: I002 - `__future__` is a module to be loaded, too

import sys

OPEN = (["SessionStart"], ["UserPromptSubmit"], ["Stop"], ["SubagentStart"], ["SubagentStop"])
"""Events, as agents call them, at which a refusal would lock a person out. Elsewhere the hooks of a `Client`
say it; here they cannot be loaded."""

if __name__ == "__main__":
    try:
        sys.path.insert(0, __file__.rpartition("/verdigris/gates/")[0])
        from verdigris.gates.quick import main

        main(sys.argv[1:])
    except Exception as error:  # noqa: BLE001 - a traceback is no answer
        sys.stderr.write(
            f"Verdigris could not start: {error!r}. next: install it again, or ask the user to\n"
        )
        sys.exit(0 if sys.argv[2:3] in OPEN else 2)
