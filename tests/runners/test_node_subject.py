"""Which file lacks what a test asked for, by the imports of the test; the words are those of real errors."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.node_tools import present

SUBJECT = Path(__file__).parents[2] / "src/verdigris/runners/reporter/node/subject.cjs"
ASK = """
const [module, message, file] = process.argv.slice(1);
console.log(JSON.stringify(require(module).subject({ name: "TypeError", message }, file) ?? null));
"""


@pytest.mark.parametrize(
    ("test", "message", "found"),
    [
        ("import { sub } from '../calc';\nsub(1);", "(0 , __vi_import_1__.sub) is not a function", True),
        ("import * as calc from '../calc';\ncalc.sub(1);", "calc.sub is not a function", True),
        (
            "import * as calc from '../calc';\ncalc.sub(1);",
            "(0 , __vi_import_1__.sub) is not a function",
            True,
        ),
        ("import * as calc from 'calc';\ncalc.sub(1);", "(0 , __vi_import_1__.sub) is not a function", False),
        ("const calc = {};\ncalc.sub(1);", "calc.sub is not a function", False),
    ],
)
def test_what_lacks_it(tmp_path: Path, test: str, message: str, found: bool) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "calc.ts").write_text("export {};\n")
    file = tmp_path / "test" / "a.test.ts"
    file.write_text(test)
    argv = [present(), "-e", ASK, str(SUBJECT), message, str(file)]
    told = json.loads(subprocess.run(argv, capture_output=True, check=True, text=True).stdout)
    assert told == (str(tmp_path / "calc.ts") if found else None)
