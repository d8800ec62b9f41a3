"""What source of Rust rarely, or never, has for an honest reason."""

from __future__ import annotations

from verdigris.languages.grammar.concerns import ASKS, ENDS, FOR_ALL, LOOKS, RAW, TRIES, rule

RULES = (
    rule("exits", "call_expression", r"(?:std::)?process::(?:exit|abort)\(|libc::_?exit\(", ENDS),
    rule(
        "detects-runner",
        "macro_invocation",
        r"cfg!\(\s*(?:not\(\s*|all\(\s*|any\(\s*)*test\b",
        ASKS,
        blocks=True,
    ),
    rule("detects-runner", "attribute_item", r"#\[cfg\(.*\bnot\([^)]*\btest\b", ASKS, blocks=True),
    rule("detects-runner", "attribute_item", r"#\[cfg\((?:[^\]]*\b)?test\b", ASKS),
    rule(
        "detects-runner",
        "match_expression binary_expression let_condition",
        r"(?:match |let .* = )?(?:std::)?thread::current\(\)\.name\(\)",
        ASKS,
        blocks=True,
    ),
    rule(
        "detects-runner",
        "string_literal",
        r'"(?:/?(?:target/debug/)?deps/?|-Z\W?unstable-options|--test-threads|--nocapture)"',
        ASKS,
        blocks=True,
    ),
    rule(
        "reads-tests",
        "macro_invocation",
        r'include_(?:str|bytes)!\(\s*"[^"]*\.rs"',
        "includes code as text",
        blocks=True,
    ),
    rule(
        "patches",
        "attribute_item",
        r'#\[(?:(?:unsafe\()?link_section = "\.(?:(?:pre)?init_array|fini_array|[cd]tors)|[cd]tor\b)',
        "runs before or after `main`",
        blocks=True,
    ),
    rule(
        "detects-runner",
        "call_expression macro_invocation",
        r'(?:std::)?(?:env::)?(?:var|var_os|option_env!|env!)\(\s*"(?:RUST_TEST|NEXTEST)',
        ASKS,
        blocks=True,
    ),
    rule("detects-runner", "call_expression", r"(?:std::)?thread::current\(\)\.name\(\)\Z", ASKS),
    rule(
        "patches",
        "macro_definition",
        r"macro_rules! (?:debug_)?(?:assert|assert_eq|assert_ne|panic|matches|unreachable)\b",
        "shadows the language's own macro",
        blocks=True,
    ),
    rule("patches", "call_expression", r"(?:std::)?panic::(?:set_hook|take_hook)\(", FOR_ALL),
    rule(
        "swallow",
        "call_expression",
        r"(?:std::)?(?:panic::)?catch_unwind\(",
        "catches a failed assertion too",
    ),
    rule(
        "properties",
        "call_expression macro_invocation struct_expression",
        r"(?:\w+::)*(?:ProptestConfig|Config::with_cases|QuickCheck::new|Gen::new|prop_assume!)"
        r'|(?:std::)?env::set_var\(\s*"(?:PROPTEST|QUICKCHECK)_',
        TRIES,
        blocks=True,
    ),
    rule("frames", "call_expression", r"(?:std::)?(?:backtrace::)?Backtrace::\w+\(", LOOKS),
    rule("raw-output", "call_expression", r"(?:\w+::)*from_raw_fd\(|libc::write\(", RAW),
    rule(
        "answers-everything",
        "function_item",
        r"fn eq\(&self, (\w+): [^)]*\) -> bool \{(?:(?:(?!\bself\b).)*|(?:(?!\b\1\b).)*)\Z",
        "does not compare the two",
    ),
)
