"""Assertions changed so that honest code fails them, in JavaScript, TypeScript, Rust and Go."""

from __future__ import annotations

import pytest

from verdigris.kernel.grammar.probing import changed, probes, waves

NODE = "import {{ it, test }} from 'x';\nit('a', async () => {{\n  {}\n}});\n"
RUST = "#[test]\nfn a() {{\n    {}\n}}\n"
GO = "package a\n\nfunc TestA(t *testing.T) {{\n\t{}\n}}\n"
FORMS = {"a.test.ts": (NODE, "a"), "tests/a.rs": (RUST, "a"), "a_test.go": (GO, "TestA")}


def tried(path: str, body: str) -> list[str]:
    """What each wave makes of the body."""
    form, name = FORMS[path]
    data = form.format(body).encode()
    before, after = form.format("\0").split("\0")
    found = [changed({path: data}, wave)[path].decode() for wave in waves(probes(path, data, [name], "qzx"))]
    return [text.removeprefix(before).removesuffix(after) for text in found]


@pytest.mark.parametrize(
    ("path", "body", "other"),
    [
        ("a.test.ts", "expect(f(1)).toBe(3);", "expect(f(1)).toBe(4);"),
        ("a.test.ts", "expect(f('a')).toEqual({ b: 'c' });", "expect(f('a')).toEqual({ b: 'cqzx' });"),
        ("a.test.ts", "await expect(f()).resolves.toBe(true);", "await expect(f()).resolves.toBe(false);"),
        ("a.test.ts", "expect(f()).not.toContain('a');", "expect(f()).toContain('a');"),
        ("a.test.ts", "expect(f()).not.to.equal(3);", "expect(f()).to.equal(3);"),
        ("a.test.ts", "expect(f()).to.equal(3);", "expect(f()).to.equal(4);"),
        ("a.test.ts", "expect(f()).toBeTruthy();", "expect(f()).not.toBeTruthy();"),
        ("a.test.ts", "assert.equal(f(2), '19');", "assert.equal(f(2), '19320');"),
        ("a.test.ts", "assert.ok(f(2), 'said');", "assert.ok(!(f(2)), 'said');"),
        ("a.test.ts", "assert.throws(() => f());", "assert.doesNotThrow(() => f());"),
        ("tests/a.rs", 'assert_eq!(f(1), "IV");', 'assert_eq!(f(1), "IVqzx");'),
        ("tests/a.rs", "assert_eq!(f(1), Some(A { b: 7u8 }));", "assert_eq!(f(1), Some(A { b: 8u8 }));"),
        ("tests/a.rs", "assert_eq!(f(), 255);", "assert_eq!(f(), 254);"),
        ("tests/a.rs", "assert_eq!(vec![1, 2], f());", "assert_eq!(vec![1, 3], f());"),
        ("tests/a.rs", "assert_eq!(f(), Vec::<u8>::with_capacity(4));", None),
        ("tests/a.rs", "assert_eq!(f().0, g());", "assert_ne!(f().0, g());"),
        ("tests/a.rs", 'assert!(f(1) > 2, "{}", 3);', 'assert!(!(f(1) > 2), "{}", 3);'),
        ("tests/a.rs", "assert_ne!(f(), 3);", "assert_eq!(f(), 3);"),
        (
            "tests/a.rs",
            "for (n, want) in [(1, true), (2, false)] { assert_eq!(f(n), want); }",
            "for (n, want) in [(1, false), (2, true)] { assert_eq!(f(n), want); }",
        ),
        ("a_test.go", "if got := F(1); got != 3 { t.Error() }", "if got := F(1); got != 4 { t.Error() }"),
        ("a_test.go", "if F() == 3 { t.Error() }", "if !(F() == 3) { t.Error() }"),
        ("a_test.go", "if !F().Equal(M{7}) { t.Fatal() }", "if !F().Equal(M{8}) { t.Fatal() }"),
        ("a_test.go", "if F().Equal(M{7}) { t.Fatal() }", "if !(F().Equal(M{7})) { t.Fatal() }"),
        (
            "a_test.go",
            "for _, c := range []struct{ n, e int }{{n: 1}, {e: 1}} { if F(c.n) != c.e { t.Error() } }",
            "for _, c := range []struct{ n, e int }{{n: 1}, {e: 1}} { if !(F(c.n) != c.e) { t.Error() } }",
        ),
        ("a_test.go", "require.NoError(t, F())", "require.Error(t, F())"),
        ("a_test.go", 'assert.Equal(t, "a", F())', 'assert.Equal(t, "aqzx", F())'),
        (
            "a_test.go",
            "for _, c := range []struct{ n, w int }{{1, 2}, {n: 3, w: 4}} { if F(c.n) != c.w { t.Error() } }",
            "for _, c := range []struct{ n, w int }{{1, 3}, {n: 3, w: 5}} { if F(c.n) != c.w { t.Error() } }",
        ),
    ],
)
def test_the_change(path: str, body: str, other: str | None) -> None:
    assert tried(path, body) == [other or body.replace("assert_eq", "assert_ne")]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("a.test.ts", "if (x) expect(f()).toBe(3);"),
        ("a.test.ts", "bus.on(() => { expect(f()).toBe(3); });"),
        ("a.test.ts", "try { f(); } catch (e) { expect(e).toBe(3); }"),
        ("tests/a.rs", "if x { assert_eq!(f(), 3); }"),
        ("a_test.go", "s.Equal(3, F())"),
        ("tests/a.rs", "thread::spawn(|| { assert_eq!(f(), 3); });"),
        ("a_test.go", "if x { if F() != 3 { t.Error() } }"),
        ("a_test.go", "go func() { if F() != 3 { t.Error() } }()"),
    ],
)
def test_what_may_not_run_is_not_tried(path: str, body: str) -> None:
    assert tried(path, body) == []


def test_what_is_to_fail_is_not_tried() -> None:
    panics = b"#[test]\n#[should_panic]\nfn a() {\n    assert_eq!(f(), 3);\n}\n"
    assert probes("tests/a.rs", panics, ["a"], "x") == ()
    fails = b"it.fails('a', () => {\n  expect(f()).toBe(3);\n});\n"
    assert probes("a.test.ts", fails, ["a"], "x") == ()


def test_each_assertion_of_a_test_has_a_run_of_its_own() -> None:
    first, second = tried("tests/a.rs", "assert_eq!(f(), 1);\n    assert_eq!(g(), 1);")
    assert first == "assert_eq!(f(), 2);\n    assert_eq!(g(), 1);"
    assert second == "assert_eq!(f(), 1);\n    assert_eq!(g(), 2);"


def test_a_value_that_the_text_does_not_tell_is_spoilt_when_it_comes() -> None:
    [text] = tried("a.test.ts", "expect(f()).toBe(wanted);")
    assert text.startswith("expect(f()).toBe((v => ")
    assert text.endswith(")(wanted));")
