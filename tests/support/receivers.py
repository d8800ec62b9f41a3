"""JavaScript tests that use a missing member of a project's object, through every kind of receiver."""

from __future__ import annotations

from support.node_tools import Project
from support.pages import project_files
from verdigris.core.paths import PathClass
from verdigris.core.verdict.redness import judge_red

TESTS = project_files("receivers")["money.test.js"]
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
    made.write("lack/money.test.js", f"{heading}\n{imported}\n{TESTS}")
    classes = {"lack/money.js": PathClass.SOURCE, "lack/money.test.js": PathClass.TEST}
    return {
        result.native_id.partition("::")[2]: judge_red(
            result, classify=lambda path: classes.get(path, PathClass.OTHER), rule="behaviour"
        )
        for result in made.run("lack/money.test.js").results
    }
