"""What source of Go rarely, or never, has for an honest reason."""

from __future__ import annotations

from verdigris.languages.grammar.concerns import ASKS, ENDS, LOOKS, RAW, TRIES, rule

RULES = (
    rule("exits", "call_expression", r"(?:os|syscall)\.Exit\(|runtime\.Goexit\(", ENDS),
    rule("detects-runner", "call_expression", r"testing\.Testing\(", ASKS, blocks=True),
    rule(
        "detects-runner",
        "interpreted_string_literal raw_string_literal",
        r"""["`]-{0,2}test\.(?:v|run|bench|count|timeout|short|list|paniconexit0|testlogfile)?["`]\Z""",
        ASKS,
        blocks=True,
    ),
    rule("detects-runner", "call_expression", r"testing\.(?:Short|Verbose|CoverMode)\(", ASKS),
    rule("detects-runner", "call_expression", r'flag\.Visit(?:All)?\(.*"-?test', ASKS, blocks=True),
    rule(
        "detects-runner",
        "function_declaration method_declaration",
        r'(?=.*\bos\.(?:Args|Executable)\b).*"[^"]*(?:\btest\.\w*|-test\b|\.test)"',
        ASKS,
        blocks=True,
    ),
    rule(
        "detects-runner",
        "function_declaration method_declaration",
        r'(?=.*\bruntime\.(?:Caller|Callers|FuncForPC|Stack)\b).*"[^"]*(?:Test|_test)',
        ASKS,
        blocks=True,
    ),
    rule("reads-tests", "comment", r"//go:embed .*_test\.go", "embeds the tests as text", blocks=True),
    rule("detects-runner", "call_expression", r'flag\.Lookup\(\s*"test\.', ASKS, blocks=True),
    rule(
        "detects-runner",
        "call_expression",
        r'strings\.\w+\(\s*os\.Args\[0\],\s*"[^"]*test',
        ASKS,
        blocks=True,
    ),
    rule(
        "properties",
        "import_spec",
        r'(?:\w+ )?"(?:testing/quick|pgregory\.net/rapid|github\.com/leanovate/gopter(?:/\w+)?)"',
        TRIES,
        blocks=True,
    ),
    rule(
        "framework-in-source", "import_spec", r'(?:\w+ )?"testing"', "imports the test framework into source"
    ),
    rule(
        "frames",
        "call_expression",
        r"runtime\.(?:Caller|Callers|CallersFrames|Stack)\(|debug\.Stack\(",
        LOOKS,
    ),
    rule("raw-output", "call_expression", r"os\.NewFile\(|syscall\.(?:Write|Dup2|Dup3)\(", RAW),
    rule("patches", "comment", r"//go:linkname ", "reaches into another package", blocks=True),
)
