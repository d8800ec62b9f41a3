"""A hand-made audit report with every outcome and every kind of finding."""

from __future__ import annotations

from verdigris.drivers.audit.report import (
    AuditOutcome,
    AuditReport,
    Commit,
    FoundPlace,
    LostCheck,
    RedTest,
    UnitReport,
)

STUB = """\
--- a/src/cart.py
+++ b/src/cart.py
@@ -1 +1,4 @@
 PRICES = {}
+
+
+def total(prices):  # STUB:TDD
+    raise NotImplementedError
"""


def commit(number: int, title: str) -> Commit:
    ids = [f"{count:x}" * 40 for count in (number, number - 1)]
    return Commit(ids[0], (ids[1],), title, "Ann Author", f"2026-03-{number:02}T09:30:00Z")


def unit(number: int, title: str, outcome: AuditOutcome, why: str = "", **found: object) -> UnitReport:
    made: dict[str, object] = {"environment": "present", "seconds": 1.25 * number, **found}
    return UnitReport(commit(number, title), "1" * 40, "2" * 40, outcome, why, **made)  # type: ignore[arg-type]


DRIVEN = unit(
    *(1, "Add up the prices of a cart", AuditOutcome.TEST_DRIVEN),
    "tests/test_cart.py::test_prices_are_added was red and is green",
    reds=(
        RedTest(
            *("tests/test_cart.py::test_prices_are_added", "import", "tests/test_cart.py", 1),
            "ImportError: cannot import name 'total' from 'cart'",
            stub=STUB,
        ),
        RedTest("tests/test_cart.py::test_empty", "assertion", "tests/test_cart.py", 7, "assert None == 0"),
    ),
    concerns=(FoundPlace("src/cart.py", 3, "the value 7 stands in a test too", "literal"),),
    paths=("src/cart.py", "tests/test_cart.py"),
)
UNTESTED = unit(
    *(2, "Round to cents <script>alert(1)</script>", AuditOutcome.UNTESTED),
    "source changed, and no test was red before",
    uncovered=(
        FoundPlace("src/cart.py", 11, "    return round(value, 2)"),
        FoundPlace("src/cart.py", 10, "    value = float(value)"),
        FoundPlace("src/cart.py", 20, "    pass"),
    ),
    paths=("src/cart.py",),
)
WEAKENED = unit(
    *(3, "Make the suite pass again", AuditOutcome.WEAKENED),
    "1 test asks less than before",
    weakened=(
        LostCheck("weaker", "tests/test_cart.py", 4, "assert total([3, 4]) == 7", "assert total([3, 4])"),
        LostCheck("removed", "tests/test_cart.py", 9, "def test_empty():", ""),
    ),
    paths=("tests/test_cart.py",),
)
REGRESSED = unit(
    *(4, "Speed up | with a cache", AuditOutcome.REGRESSED),
    "1 test that passed before fails now",
    regressed=(
        FoundPlace(
            "tests/test_cart.py", 4, "tests/test_cart.py::test_prices_are_added: assert 8 == 7, 50% more"
        ),
    ),
    paths=("src/cart.py",),
)
HOLLOW = unit(
    *(5, "Support vouchers", AuditOutcome.HOLLOW),
    "the code is written for the values of its tests",
    hollow=("tests/test_vouchers.py::test_ten_percent",),
    paths=("src/vouchers.py", "tests/test_vouchers.py"),
)
CHARACTERIZATION = unit(
    6, "Pin what shipping costs", AuditOutcome.CHARACTERIZATION, "new tests pass on both sides"
)
REFACTOR = unit(7, "Take the loop out", AuditOutcome.REFACTOR, "same results, and tests run what changed")
NO_CODE = unit(
    8, "Describe how to install it, 日本語でも", AuditOutcome.NO_CODE, "neither source nor tests changed"
)
UNVERIFIED = unit(
    *(9, "Bump everything", AuditOutcome.UNVERIFIED),
    "the suite is broken before and after: pytest is not installed",
    notes=("liveness was not tried: the suite did not run",),
)
INFRASTRUCTURE = unit(10, "Add a door", AuditOutcome.INFRASTRUCTURE, "no space left on the device")

UNITS = (
    *(DRIVEN, UNTESTED, WEAKENED, REGRESSED, HOLLOW),
    *(CHARACTERIZATION, REFACTOR, NO_CODE, UNVERIFIED, INFRASTRUCTURE),
)


def report(*units: UnitReport) -> AuditReport:
    return AuditReport(
        "main..HEAD", "0" * 40, "a" * 40, units, version="0.1", settings={"env": "present", "deep": "no"}
    )


EVERYTHING = report(*UNITS)
