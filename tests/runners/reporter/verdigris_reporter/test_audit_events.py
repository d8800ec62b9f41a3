"""One audit hook for all who listen; it stays for as long as its process, so each test has one of its own."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """\
import sys
from verdigris.runners.reporter.verdigris_reporter import audit_events

hooks, events = [], []
sys.addaudithook(lambda event, args: hooks.append(event) if event == "sys.addaudithook" else None)

def fail(args):
    raise ValueError(args)

audit_events.listen({"shop.sale": fail, "shop.visit": lambda args: events.append(("visit", *args))})
audit_events.listen({"shop.sale": lambda args: events.append((*args, sys._getframe(2).f_code.co_name))})

def sell():
    sys.audit("shop.sale", 3)

sell()
sys.audit("shop.visit", 1)
sys.audit("shop.closes")
print(len(hooks), events)
"""


def test_each_listener_gets_its_events_by_one_hook_and_an_error_of_one_disturbs_nobody() -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert ended.stdout == "1 [(3, 'sell'), ('visit', 1)]\n"
