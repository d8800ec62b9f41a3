"""What source of JavaScript and TypeScript rarely, or never, has for an honest reason."""

from __future__ import annotations

from verdigris.languages.grammar.concerns import ASKS, ENDS, FOR_ALL, LOOKS, RAW, TRIES, rule

RULES = (
    rule("exits", "call_expression", r"process\.(?:exit|abort|reallyExit|kill)\(", ENDS),
    rule(
        "detects-runner",
        "member_expression subscript_expression",
        r"""process\.env(?:\.|\[['"])(?:VITEST|JEST_|NODE_TEST_CONTEXT|MOCHA_)""",
        ASKS,
        blocks=True,
    ),
    rule("detects-runner", "binary_expression", r"""process\.env\.NODE_ENV\s*[!=]==?\s*['"]test['"]""", ASKS),
    rule("detects-runner", "binary_expression", r"""['"]test['"]\s*[!=]==?\s*process\.env\.NODE_ENV""", ASKS),
    rule("detects-runner", "member_expression", r"import\.meta\.vitest\Z", ASKS),
    rule("detects-runner", "member_expression", r"process\.execArgv\Z", ASKS, blocks=True),
    rule(
        "detects-runner",
        "call_expression binary_expression",
        r"(?=.*process\.argv(?:0|\[1\])).*\b(?:test|spec|vitest|jest|mocha)\b(?!\()",
        ASKS,
        blocks=True,
    ),
    rule(
        "detects-runner",
        "call_expression",
        r"""(?:\(?new )?Error\([^)]*\)\)?\.stack\b.*['"`/](?:[^'"`]*[^'"`a-z])?(?:tests?|spec)\b""",
        ASKS,
        blocks=True,
    ),
    rule(
        "detects-runner",
        "unary_expression",
        r"typeof (?:jest|vi|vitest|describe|expect|beforeEach)\b",
        ASKS,
        blocks=True,
    ),
    rule(
        "patches",
        "assignment_expression",
        r"(?:globalThis|global|window|self)\.(?:expect|describe|it|test|vi|jest|assert)\b",
        FOR_ALL,
        blocks=True,
    ),
    rule("patches", "call_expression", r"expect\.(?:extend|addEqualityTesters)\(", FOR_ALL, blocks=True),
    rule(
        "patches",
        "assignment_expression",
        r"(?:Object|Array|String|Number|Boolean|Promise|Map|Set|Error|Function|RegExp|Symbol)\.prototype\b",
        FOR_ALL,
    ),
    rule(
        "patches",
        "assignment_expression",
        r"(?:Object\.is|JSON\.stringify|require\.cache|Module\._load)\b",
        FOR_ALL,
    ),
    rule(
        "answers-everything",
        "method_definition pair",
        r"""(?:async )?\[?['"]?asymmetricMatch\b""",
        "makes an object equal to whatever it is compared with",
        blocks=True,
    ),
    rule(
        "frames",
        "member_expression",
        r"(?:\(?new )?Error\([^)]*\)\)?\.stack\Z|Error\.prepareStackTrace\Z",
        LOOKS,
    ),
    rule("raw-output", "call_expression", r"(?:fs\.)?writeSync\(\s*\d", RAW),
    rule("raw-output", "call_expression", r"process\.(?:binding|_linkedBinding|send)\(", RAW),
    rule(
        "obscured",
        "call_expression new_expression",
        r"(?:eval|new Function|Function)\(",
        "runs what cannot be read here",
    ),
    rule(
        "framework-in-source",
        "import_statement call_expression",
        r"""(?:import\b.*|require\()['"](?:vitest|jest|@jest/globals|node:test|mocha|chai)['"]""",
        "imports the test framework into source",
    ),
    rule(
        "properties",
        "import_statement call_expression",
        r"""(?:import\b.*|(?:require|import)\()['"](?:fast-check|@fast-check/\w+|jsverify|testcheck)['"]""",
        TRIES,
        blocks=True,
    ),
)
