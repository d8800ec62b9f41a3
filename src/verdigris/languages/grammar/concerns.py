"""Finds what a change of source adds that honest code rarely or never has."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core import languages
from verdigris.core.value import value
from verdigris.languages.findings import Concern
from verdigris.languages.grammar.answers import NODES, pieced_words
from verdigris.languages.grammar.trees import Unparsed, grammar_of, line_of, on_one_line, parsed, short, walk
from verdigris.languages.rust import test_regions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node


@value
class _Rule:
    kind: str
    nodes: frozenset[str]
    """Types of the nodes whose text tells."""
    words: re.Pattern[str]
    """Of that text from its beginning."""
    what: str
    blocks: bool = False


def _rule(kind: str, nodes: str, words: str, what: str, *, blocks: bool = False) -> _Rule:
    return _Rule(kind, frozenset(nodes.split()), re.compile(words), what, blocks)


_ENDS, _ASKS, _LOOKS = "ends the process", "asks who runs it", "looks at the stack"
_TRIES = "has a say in how properties are tried"
_FOR_ALL, _RAW = "changes it for everyone", "writes past everyone who listens"
_NODE = (
    _rule("exits", "call_expression", r"process\.(?:exit|abort|reallyExit|kill)\(", _ENDS),
    _rule(
        "detects-runner",
        "member_expression subscript_expression",
        r"""process\.env(?:\.|\[['"])(?:VITEST|JEST_|NODE_TEST_CONTEXT|MOCHA_)""",
        _ASKS,
        blocks=True,
    ),
    _rule(
        "detects-runner", "binary_expression", r"""process\.env\.NODE_ENV\s*[!=]==?\s*['"]test['"]""", _ASKS
    ),
    _rule(
        "detects-runner", "binary_expression", r"""['"]test['"]\s*[!=]==?\s*process\.env\.NODE_ENV""", _ASKS
    ),
    _rule("detects-runner", "member_expression", r"import\.meta\.vitest\Z", _ASKS),
    _rule("detects-runner", "member_expression", r"process\.execArgv\Z", _ASKS, blocks=True),
    _rule(
        "detects-runner",
        "call_expression binary_expression",
        r"(?=.*process\.argv(?:0|\[1\])).*\b(?:test|spec|vitest|jest|mocha)\b(?!\()",
        _ASKS,
        blocks=True,
    ),
    _rule(
        "detects-runner",
        "call_expression",
        r"""(?:\(?new )?Error\([^)]*\)\)?\.stack\b.*['"`/](?:[^'"`]*[^'"`a-z])?(?:tests?|spec)\b""",
        _ASKS,
        blocks=True,
    ),
    _rule(
        "detects-runner",
        "unary_expression",
        r"typeof (?:jest|vi|vitest|describe|expect|beforeEach)\b",
        _ASKS,
        blocks=True,
    ),
    _rule(
        "patches",
        "assignment_expression",
        r"(?:globalThis|global|window|self)\.(?:expect|describe|it|test|vi|jest|assert)\b",
        _FOR_ALL,
        blocks=True,
    ),
    _rule("patches", "call_expression", r"expect\.(?:extend|addEqualityTesters)\(", _FOR_ALL, blocks=True),
    _rule(
        "patches",
        "assignment_expression",
        r"(?:Object|Array|String|Number|Boolean|Promise|Map|Set|Error|Function|RegExp|Symbol)\.prototype\b",
        _FOR_ALL,
    ),
    _rule(
        "patches",
        "assignment_expression",
        r"(?:Object\.is|JSON\.stringify|require\.cache|Module\._load)\b",
        _FOR_ALL,
    ),
    _rule(
        "answers-everything",
        "method_definition pair",
        r"""(?:async )?\[?['"]?asymmetricMatch\b""",
        "makes an object equal to whatever it is compared with",
        blocks=True,
    ),
    _rule(
        "frames",
        "member_expression",
        r"(?:\(?new )?Error\([^)]*\)\)?\.stack\Z|Error\.prepareStackTrace\Z",
        _LOOKS,
    ),
    _rule("raw-output", "call_expression", r"(?:fs\.)?writeSync\(\s*\d", _RAW),
    _rule("raw-output", "call_expression", r"process\.(?:binding|_linkedBinding|send)\(", _RAW),
    _rule(
        "obscured",
        "call_expression new_expression",
        r"(?:eval|new Function|Function)\(",
        "runs what cannot be read here",
    ),
    _rule(
        "framework-in-source",
        "import_statement call_expression",
        r"""(?:import\b.*|require\()['"](?:vitest|jest|@jest/globals|node:test|mocha|chai)['"]""",
        "brings the test framework into source",
    ),
    _rule(
        "properties",
        "import_statement call_expression",
        r"""(?:import\b.*|(?:require|import)\()['"](?:fast-check|@fast-check/\w+|jsverify|testcheck)['"]""",
        _TRIES,
        blocks=True,
    ),
)
_RUST = (
    _rule("exits", "call_expression", r"(?:std::)?process::(?:exit|abort)\(|libc::_?exit\(", _ENDS),
    _rule(
        "detects-runner",
        "macro_invocation",
        r"cfg!\(\s*(?:not\(\s*|all\(\s*|any\(\s*)*test\b",
        _ASKS,
        blocks=True,
    ),
    _rule("detects-runner", "attribute_item", r"#\[cfg\(.*\bnot\([^)]*\btest\b", _ASKS, blocks=True),
    _rule("detects-runner", "attribute_item", r"#\[cfg\((?:[^\]]*\b)?test\b", _ASKS),
    _rule(
        "detects-runner",
        "match_expression binary_expression let_condition",
        r"(?:match |let .* = )?(?:std::)?thread::current\(\)\.name\(\)",
        _ASKS,
        blocks=True,
    ),
    _rule(
        "detects-runner",
        "string_literal",
        r'"(?:/?(?:target/debug/)?deps/?|-Z\W?unstable-options|--test-threads|--nocapture)"',
        _ASKS,
        blocks=True,
    ),
    _rule(
        "reads-tests",
        "macro_invocation",
        r'include_(?:str|bytes)!\(\s*"[^"]*\.rs"',
        "takes in code as text",
        blocks=True,
    ),
    _rule(
        "patches",
        "attribute_item",
        r'#\[(?:(?:unsafe\()?link_section = "\.(?:(?:pre)?init_array|fini_array|[cd]tors)|[cd]tor\b)',
        "runs before or after everything else",
        blocks=True,
    ),
    _rule(
        "detects-runner",
        "call_expression macro_invocation",
        r'(?:std::)?(?:env::)?(?:var|var_os|option_env!|env!)\(\s*"(?:RUST_TEST|NEXTEST)',
        _ASKS,
        blocks=True,
    ),
    _rule("detects-runner", "call_expression", r"(?:std::)?thread::current\(\)\.name\(\)\Z", _ASKS),
    _rule(
        "patches",
        "macro_definition",
        r"macro_rules! (?:debug_)?(?:assert|assert_eq|assert_ne|panic|matches|unreachable)\b",
        "stands before the language's own",
        blocks=True,
    ),
    _rule("patches", "call_expression", r"(?:std::)?panic::(?:set_hook|take_hook)\(", _FOR_ALL),
    _rule(
        "swallow",
        "call_expression",
        r"(?:std::)?(?:panic::)?catch_unwind\(",
        "catches a failed assertion too",
    ),
    _rule(
        "properties",
        "call_expression macro_invocation struct_expression",
        r"(?:\w+::)*(?:ProptestConfig|Config::with_cases|QuickCheck::new|Gen::new|prop_assume!)"
        r'|(?:std::)?env::set_var\(\s*"(?:PROPTEST|QUICKCHECK)_',
        _TRIES,
        blocks=True,
    ),
    _rule("frames", "call_expression", r"(?:std::)?(?:backtrace::)?Backtrace::\w+\(", _LOOKS),
    _rule("raw-output", "call_expression", r"(?:\w+::)*from_raw_fd\(|libc::write\(", _RAW),
    _rule(
        "answers-everything",
        "function_item",
        r"fn eq\(&self, (\w+): [^)]*\) -> bool \{(?:(?:(?!\bself\b).)*|(?:(?!\b\1\b).)*)\Z",
        "does not compare the two",
    ),
)
_GO = (
    _rule("exits", "call_expression", r"(?:os|syscall)\.Exit\(|runtime\.Goexit\(", _ENDS),
    _rule("detects-runner", "call_expression", r"testing\.Testing\(", _ASKS, blocks=True),
    _rule(
        "detects-runner",
        "interpreted_string_literal raw_string_literal",
        r"""["`]-{0,2}test\.(?:v|run|bench|count|timeout|short|list|paniconexit0|testlogfile)?["`]\Z""",
        _ASKS,
        blocks=True,
    ),
    _rule("detects-runner", "call_expression", r"testing\.(?:Short|Verbose|CoverMode)\(", _ASKS),
    _rule("detects-runner", "call_expression", r'flag\.Visit(?:All)?\(.*"-?test', _ASKS, blocks=True),
    _rule(
        "detects-runner",
        "function_declaration method_declaration",
        r'(?=.*\bos\.(?:Args|Executable)\b).*"[^"]*(?:\btest\.\w*|-test\b|\.test)"',
        _ASKS,
        blocks=True,
    ),
    _rule(
        "detects-runner",
        "function_declaration method_declaration",
        r'(?=.*\bruntime\.(?:Caller|Callers|FuncForPC|Stack)\b).*"[^"]*(?:Test|_test)',
        _ASKS,
        blocks=True,
    ),
    _rule("reads-tests", "comment", r"//go:embed .*_test\.go", "takes in the tests as text", blocks=True),
    _rule("detects-runner", "call_expression", r'flag\.Lookup\(\s*"test\.', _ASKS, blocks=True),
    _rule(
        "detects-runner",
        "call_expression",
        r'strings\.\w+\(\s*os\.Args\[0\],\s*"[^"]*test',
        _ASKS,
        blocks=True,
    ),
    _rule(
        "properties",
        "import_spec",
        r'(?:\w+ )?"(?:testing/quick|pgregory\.net/rapid|github\.com/leanovate/gopter(?:/\w+)?)"',
        _TRIES,
        blocks=True,
    ),
    _rule(
        "framework-in-source", "import_spec", r'(?:\w+ )?"testing"', "brings the test framework into source"
    ),
    _rule(
        "frames",
        "call_expression",
        r"runtime\.(?:Caller|Callers|CallersFrames|Stack)\(|debug\.Stack\(",
        _LOOKS,
    ),
    _rule("raw-output", "call_expression", r"os\.NewFile\(|syscall\.(?:Write|Dup2|Dup3)\(", _RAW),
    _rule("patches", "comment", r"//go:linkname ", "reaches into another package", blocks=True),
)
_IN_PIECES = _rule("obscured", "", "", "puts a word of the test tools together out of pieces", blocks=True)
_RULES = {languages.NODE: _NODE, languages.RUST: _RUST, languages.GO: _GO}
_PROGRAMS = re.compile(r"(?:.*/)?(?:main\.(?:rs|go)|(?:bin|cli|cmd|scripts?)/.*|cli\.[cm]?[jt]s)\Z")
"""Files that are programs: to end is theirs."""


def grammar_concerns(
    before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> tuple[Concern, ...]:
    """Source by path, None where there is no file; tests among Rust's source are not looked at."""
    return tuple(
        concern
        for path, data in after.items()
        if data is not None and data != before.get(path) and grammar_of(path) is not None
        for concern in _new(path, before.get(path) or b"", data)
    )


def _new(path: str, before: bytes, after: bytes) -> Iterator[Concern]:
    if grammar_of(path) == languages.RUST:
        before, after = test_regions.without_tests(before), test_regions.without_tests(after)
    old, new = parsed(path, before), parsed(path, after)
    if isinstance(new, Unparsed):
        yield Concern(
            "obscured",
            path,
            new.line,
            f"it does not parse ({new.what}): nothing was looked for",
            blocks=False,
        )
        return
    seen = Counter(
        (rule.kind, text) for rule, _, text in ([] if isinstance(old, Unparsed) else _hits(path, old))
    )
    for rule, node, text in _hits(path, new):
        seen[rule.kind, text] -= 1
        if seen[rule.kind, text] < 0:
            yield Concern(rule.kind, path, line_of(node), f"`{short(text)}` {rule.what}", rule.blocks)


def _hits(path: str, root: Node) -> Iterator[tuple[_Rule, Node, str]]:
    rules = [
        rule for rule in _RULES[grammar_of(path) or ""] if rule.kind != "exits" or not _PROGRAMS.match(path)
    ]
    kinds = frozenset[str]().union(*(rule.nodes for rule in rules))
    for node in walk(root):
        if node.type in NODES and pieced_words(node):
            yield _IN_PIECES, node, on_one_line(node)
            continue
        if node.type not in kinds:
            continue
        text = on_one_line(node)
        for rule in rules:
            if node.type in rule.nodes and rule.words.match(text):
                yield rule, node, text
                break
