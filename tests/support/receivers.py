"""JavaScript tests that use a missing member of a project's object, through every kind of receiver."""

from __future__ import annotations

from support.node_tools import Project
from verdigris.core.paths import PathClass
from verdigris.core.verdict.redness import judge_red

_TESTS = """\
it("made", () => { expect(new Money(1).format()).toBe("1"); });
it("chain", () => { expect(new Money(1).add(new Money(2)).format()).toBe("3"); });
it("long chain", () => {
  expect(
    new Money(1)
      .add(new Money(2))
      .format(),
  ).toBe("3");
});
it("index", () => { const ms = [new Money(1)]; expect(ms[0].format()).toBe("1"); });
it("awaited", async () => { expect(await new Money(1).fetch()).toBe(1); });
it("property", () => { const x = new Money(1); expect(x.currency.code).toBe("EUR"); });
it("property of a new one", () => { expect(new Money(1).currency.code).toBe("EUR"); });
it("each".toUpperCase() + " title", () => { expect(new Money(1).format()).toBe("1"); });
it(`title ${1 + 1}`, () => { expect(Money.of(1).format()).toBe("1"); });
it("own", () => { const own = { a: 1 }; expect(own.b.c).toBe(1); });
"""
_VALID = (
    "made",
    "chain",
    "long chain",
    "index",
    "awaited",
    "property",
    "property of a new one",
    "EACH title",
)
EXPECTED = {**dict.fromkeys((*_VALID, "EACH title", "title 2"), "valid"), "own": "not-behaviour"}


def judged(made: Project, heading: str, *, common: bool = False) -> dict[str, str]:
    """The core's judgement of each test; `heading` imports the tool's names, `common` requires modules."""
    brings = "const { Money } = require" if common else "import { Money } from"
    imported = f'{brings}("./money.js");' if common else f'{brings} "./money.js";'
    exported = "exports.Money =" if common else "export const Money ="
    made.write("lack/money.js", f"{exported} class {{ add() {{ return this; }} }};\n")
    made.write("lack/money.test.js", f"{heading}\n{imported}\n{_TESTS}")
    classes = {"lack/money.js": PathClass.SOURCE, "lack/money.test.js": PathClass.TEST}
    return {
        result.native_id.partition("::")[2]: judge_red(
            result, classify=lambda path: classes.get(path, PathClass.OTHER), rule="behaviour"
        )
        for result in made.run("lack/money.test.js").results
    }
