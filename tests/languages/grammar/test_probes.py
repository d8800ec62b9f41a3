"""Assertions changed so that honest code fails them, in JavaScript, TypeScript, Rust and Go."""

# ruff: noqa: E501 - a table of texts

from __future__ import annotations

from random import Random

import pytest

from verdigris.languages.probes import Probe, changed_texts, draw_members
from verdigris.languages.registry import reader_of

NODE = "import {{ it, test }} from 'x';\nit('a', async () => {{\n  {}\n}});\n"
RUST = "#[test]\nfn a() {{\n    {}\n}}\n"
GO = "package a\n\nfunc TestA(t *testing.T) {{\n\t{}\n}}\n"
FORMS = {"a.test.ts": (NODE, "a"), "tests/a.rs": (RUST, "a"), "a_test.go": (GO, "TestA")}


def found(path: str, text: str, *names: str, seed: int = 0) -> tuple[Probe, ...]:
    asked = [f"{path}::{name}" for name in names]
    return reader_of(path).liveness.probes({path: text.encode()}, asked, Random(seed), 6)


def tried(path: str, body: str, seed: int = 0) -> list[str]:
    """What each changed text makes of the body."""
    form, name = FORMS[path]
    text = form.format(body)
    before, after = form.format("\0").split("\0")
    members = draw_members(found(path, text, name, seed=seed), Random(seed), 6, 3)
    made = [changed_texts({path: text.encode()}, member)[path].decode() for member in members]
    return [text.removeprefix(before).removesuffix(after) for text in made]


def all_tried(path: str, body: str) -> set[str]:
    return {text for seed in range(12) for text in tried(path, body, seed)}


@pytest.mark.parametrize(
    ("path", "body", "others"),
    [
        ("a.test.ts", "expect(f(1)).toBe(3);", {"expect(f(1)).toBe(4);", "expect(f(1)).toBe(2);"}),
        ("a.test.ts", "expect(f('a')).toEqual({ b: 'cd' });", {"expect(f('a')).toEqual({ b: 'dc' });"}),
        ("a.test.ts", "await expect(f()).resolves.toBe(true);", {"await expect(f()).resolves.toBe(false);"}),
        ("a.test.ts", "expect(f()).not.toContain('a');", {"expect(f()).toContain('a');"}),
        ("a.test.ts", "expect(f()).not.to.equal(3);", {"expect(f()).to.equal(3);"}),
        ("a.test.ts", "expect(f()).to.equal(3);", {"expect(f()).to.equal(4);"}),
        ("a.test.ts", "expect(f()).toBeTruthy();", {"expect(f()).not.toBeTruthy();"}),
        ("a.test.ts", "expect(f()).toBeCloseTo(0.31, 5);", {"expect(f()).toBeCloseTo(1.31, 5);"}),
        (
            "a.test.ts",
            "assert.equal(f(2), '19');",
            {"assert.equal(f(2), '91');", "assert.equal(f(2), '11');"},
        ),
        ("a.test.ts", "assert.ok(f(2), 'said');", {"assert.ok(!(f(2)), 'said');"}),
        ("a.test.ts", "assert.throws(() => f());", {"assert.doesNotThrow(() => f());"}),
        (
            "a.test.ts",
            "expect(f()).toEqual([1, 2]);",
            {"expect(f()).toEqual([1]);", "expect(f()).toEqual([1, 3]);"},
        ),
        (
            "a.test.ts",
            "expect(f()).toBe(Hue.Red); expect(g()).toBe(Hue.Green);",
            {"expect(f()).toBe(Hue.Green); expect(g()).toBe(Hue.Green);"},
        ),
        ("a.test.ts", "const want = 3; expect(f()).toBe(want);", {"const want = 4; expect(f()).toBe(want);"}),
        (
            "a.test.ts",
            "for (const [n, w] of [[1, 2], [3, 4]]) { expect(f(n)).toBe(w); }",
            {"for (const [n, w] of [[1, 3], [3, 5]]) { expect(f(n)).toBe(w); }"},
        ),
        (
            "a.test.ts",
            "[{ n: 1, w: 2 }].forEach((c) => { expect(f(c.n)).toBe(c.w); });",
            {"[{ n: 1, w: 3 }].forEach((c) => { expect(f(c.n)).toBe(c.w); });"},
        ),
        ("tests/a.rs", 'assert_eq!(f(1), "IV");', {'assert_eq!(f(1), "VI");', 'assert_eq!(f(1), "II");'}),
        ("tests/a.rs", "assert_eq!(f(1), Some(A { b: 7u8 }));", {"assert_eq!(f(1), Some(A { b: 8u8 }));"}),
        ("tests/a.rs", "assert_eq!(f(), 255);", {"assert_eq!(f(), 254);"}),
        (
            "tests/a.rs",
            "assert_eq!(vec![1, 2], f());",
            {"assert_eq!(vec![1, 3], f());", "assert_eq!(vec![1], f());"},
        ),
        ("tests/a.rs", "assert_eq!(f(), 'x');", {"assert_eq!(f(), 'y');"}),
        (
            "tests/a.rs",
            "assert_eq!(f(), Hue::Red);\n    assert_eq!(g(), Hue::Blue);",
            {"assert_eq!(f(), Hue::Blue);\n    assert_eq!(g(), Hue::Blue);"},
        ),
        (
            "tests/a.rs",
            'let want = "IV"; assert_eq!(f(1), want);',
            {'let want = "VI"; assert_eq!(f(1), want);'},
        ),
        ("tests/a.rs", "assert_eq!(f().0, g());", {"assert_ne!(f().0, g());"}),
        ("tests/a.rs", "assert_eq!(f(), 6 / 2);", {"assert_ne!(f(), 6 / 2);"}),
        (
            "tests/a.rs",
            "assert_eq!(f(), Vec::<u8>::with_capacity(4));",
            {"assert_ne!(f(), Vec::<u8>::with_capacity(4));"},
        ),
        ("tests/a.rs", 'assert!(f(1) > 2, "{}", 3);', {'assert!(f(1) > 2147483647, "{}", 3);'}),
        ("tests/a.rs", "assert!(f() == 5);", {"assert!(f() == 6);", "assert!(f() == 4);"}),
        ("tests/a.rs", "assert!(f() <= 0.5);", {"assert!(f() <= -1e30);"}),
        ("tests/a.rs", "assert!(f() && g() < 2);", {"assert!(!(f() && g() < 2));"}),
        ("a.test.ts", "expect(f()).toBeGreaterThan(3);", {"expect(f()).toBeGreaterThan(Infinity);"}),
        ("a.test.ts", "assert.ok(f() < 3);", {"assert.ok(f() < -Infinity);"}),
        ("a.test.ts", "assert.ok(3 <= f());", {"assert.ok(Infinity <= f());"}),
        ("a.test.ts", "assert(f() === 3);", {"assert(f() === 4);", "assert(f() === 2);"}),
        ("a.test.ts", "expect(f()).toThrow(RangeError);", {"expect(f()).toThrow(URIError);"}),
        ("a.test.ts", "expect(f()).toBeInstanceOf(Cart);", {"expect(f()).toBeInstanceOf(WeakSet);"}),
        ("a.test.ts", "assert.throws(f, { code: 'E19' });", {"assert.throws(f, { code: 'E91' });"}),
        ("a.test.ts", "expect(f).toHaveBeenCalledWith('ab');", {"expect(f).toHaveBeenCalledWith('ba');"}),
        ("a_test.go", "if F() < 3 { t.Error() }", {"if F() < (1 << 62) { t.Error() }"}),
        ("a_test.go", "if 3 < len(F()) { t.Error() }", {"if (-1 << 62) < len(F()) { t.Error() }"}),
        ("a_test.go", "assert.Len(t, F(), 3)", {"assert.Len(t, F(), 4)", "assert.Len(t, F(), 2)"}),
        ("a_test.go", "assert.ElementsMatch(t, F(), []int{1})", {"assert.ElementsMatch(t, F(), []int{2})"}),
        ("tests/a.rs", "assert_ne!(f(), 3);", {"assert_eq!(f(), 3);"}),
        (
            "tests/a.rs",
            "for (n, want) in [(1, true), (2, false)] { assert_eq!(f(n), want); }",
            {"for (n, want) in [(1, false), (2, true)] { assert_eq!(f(n), want); }"},
        ),
        ("a_test.go", "if got := F(1); got != 3 { t.Error() }", {"if got := F(1); got != 4 { t.Error() }"}),
        ("a_test.go", "if F() == 3 { t.Error() }", {"if !(F() == 3) { t.Error() }"}),
        ("a_test.go", "if !F().Equal(M{7}) { t.Fatal() }", {"if !F().Equal(M{8}) { t.Fatal() }"}),
        ("a_test.go", "if F().Equal(M{7}) { t.Fatal() }", {"if !(F().Equal(M{7})) { t.Fatal() }"}),
        (
            "a_test.go",
            'want := "IV"\n\tif got := F(); got != want { t.Errorf("%v %v", got, want) }',
            {'want := "VI"\n\tif got := F(); got != want { t.Errorf("%v %v", got, want) }'},
        ),
        (
            "a_test.go",
            "for _, c := range []struct{ n, e int }{{n: 1}, {e: 1}} { if F(c.n) != c.e { t.Error() } }",
            {"for _, c := range []struct{ n, e int }{{n: 1}, {e: 1}} { if !(F(c.n) != c.e) { t.Error() } }"},
        ),
        ("a_test.go", "require.NoError(t, F())", {"require.Error(t, F())"}),
        ("a_test.go", "assert.InDelta(t, 1.5, F(), 0.01)", {"assert.InDelta(t, 2.5, F(), 0.01)"}),
        ("a_test.go", 'assert.Equal(t, "ab", F())', {'assert.Equal(t, "ba", F())'}),
        (
            "a_test.go",
            "for _, c := range []struct{ n, w int }{{1, 2}, {n: 3, w: 4}} { if F(c.n) != c.w { t.Error() } }",
            {
                "for _, c := range []struct{ n, w int }{{1, 3}, {n: 3, w: 5}} { if F(c.n) != c.w { t.Error() } }"
            },
        ),
    ],
)
def test_the_change(path: str, body: str, others: set[str]) -> None:
    found = all_tried(path, body)
    assert others <= found
    assert body not in found


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("a.test.ts", "expect(f(1)).toBe(3);"),
        ("a.test.ts", "expect(f(1)).toEqual({ a: 'some words', b: [12, 345] });"),
        ("tests/a.rs", 'assert_eq!(f(1), "MCMXCIV");'),
        ("a_test.go", 'if got := F(1); got != "MCMXCIV" { t.Error() }'),
    ],
)
def test_several_texts_are_tried_and_lines_stay_where_they_are(path: str, body: str) -> None:
    made = tried(path, body)
    assert len(set(made)) == len(made) >= 2
    assert {text.count("\n") for text in made} == {body.count("\n")}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("a.test.ts", "const want = 'ab'; expect(f(want)).toBe(want);"),
        ("a.test.ts", "for (const [n, w] of [[1, 2]]) { const got = f(w); expect(got).toBe(w); }"),
        ("tests/a.rs", 'let want = "ab"; let got = f(want); assert_eq!(got, want);'),
        ("a_test.go", 'want := "ab"\n\tgot := F(want)\n\tif got != want { t.Error() }'),
        ("a_test.go", "for _, c := range []struct{ n, w int }{{1, 2}} { if F(c) != c.w { t.Error() } }"),
    ],
)
def test_a_value_that_is_also_given_to_the_code_is_not_another_one(path: str, body: str) -> None:
    """Honest code may agree with whatever stands there."""
    literals = {"'ab'", '"ab"', "[[1, 2]]", "{1, 2}"}
    kept = [literal for literal in literals if literal in body]
    assert all(kept[0] in text for text in all_tried(path, body))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("a.test.ts", "if (x) expect(f()).toBe(3);"),
        ("a.test.ts", "bus.on(() => { expect(f()).toBe(3); });"),
        ("a.test.ts", "try { f(); } catch (e) { expect(e).toBe(3); }"),
        ("a.test.ts", "expect(f()).resolves.toBe(3);"),
        ("tests/a.rs", "if x { assert_eq!(f(), 3); }"),
        ("tests/a.rs", "thread::spawn(|| { assert_eq!(f(), 3); });"),
        ("a_test.go", "if x { if F() != 3 { t.Error() } }"),
        ("a_test.go", "go func() { if F() != 3 { t.Error() } }()"),
    ],
)
def test_what_may_not_run_is_tried_and_need_not_fail(path: str, body: str) -> None:
    form, name = FORMS[path]
    [probe] = found(path, form.format(body), name)
    assert (set(probe.names), set(probe.maybe)) == (set(), {f"{path}::{name}"})
    assert tried(path, body)


def test_assertions_that_may_not_run_are_changed_together() -> None:
    [first, *_] = tried(
        "a.test.ts", "on(() => { expect(f()).toBe(true); }); on(() => { expect(g()).toBe(true); });"
    )
    assert first.count("false") == 2


def test_what_is_to_fail_is_not_tried() -> None:
    panics = "#[test]\n#[should_panic]\nfn a() {\n    assert_eq!(f(), 3);\n}\n"
    assert found("tests/a.rs", panics, "a") == ()
    fails = "it.fails('a', () => {\n  expect(f()).toBe(3);\n});\n"
    assert found("a.test.ts", fails, "a") == ()


def test_each_assertion_of_a_test_has_a_run_of_its_own() -> None:
    made = all_tried("tests/a.rs", "assert_eq!(f(), true);\n    assert_eq!(g(), true);")
    assert made == {
        "assert_eq!(f(), false);\n    assert_eq!(g(), true);",
        "assert_eq!(f(), true);\n    assert_eq!(g(), false);",
    }


def test_a_value_that_the_text_does_not_tell_is_made_another_one_when_it_comes() -> None:
    [text] = tried("a.test.ts", "expect(f()).toBe(wanted());")
    assert text.startswith("expect(f()).toBe((v=>")
    assert text.endswith(")(wanted()));")


def test_what_a_helper_is_given_is_another_value_in_each_of_its_calls() -> None:
    text = (
        "fn check(n: u32, want: &str) {\n    assert_eq!(f(n), want);\n}\n"
        '#[test]\nfn a() {\n    check(4, "IV");\n    check(6, "VI");\n}\n'
    )
    members = draw_members(found("tests/a.rs", text, "a"), Random(1), 3, 2)
    made = changed_texts({"tests/a.rs": text.encode()}, members[0])["tests/a.rs"].decode()
    assert 'check(4, "IV")' not in made
    assert 'check(6, "VI")' not in made
    assert "assert_eq!(f(n), want)" in made


def test_what_an_example_prints_is_other_text() -> None:
    text = "package a\n\nfunc ExampleA() {\n\tA()\n\t// Output: ab\n}\n"
    made = {
        changed_texts({"a_test.go": text.encode()}, member)["a_test.go"].decode()
        for member in draw_members(found("a_test.go", text, "ExampleA"), Random(1), 3, 2)
    }
    assert made <= {text.replace("ab", other) for other in ("ba", "aa", "bb")}
    assert made


def test_a_test_within_a_test_is_tried_with_the_one_around_it() -> None:
    text = "test('a', async (t) => {\n  await t.test('b', () => {\n    assert.equal(f(), 3);\n  });\n});\n"
    [probe] = found("a.test.ts", text, "a", "a › b")
    assert set(probe.names) == {"a.test.ts::a", "a.test.ts::a › b"}


def test_only_where_values_are_compared_an_opposite_is_less_than_another_value() -> None:
    [throws] = found("a.test.ts", NODE.format("assert.throws(() => f());"), "a")
    [equal] = found("tests/a.rs", RUST.format("assert_eq!(f(), g());"), "a")
    assert [throws.changes[0].plausible, equal.changes[0].plausible] == [True, False]


@pytest.mark.parametrize(
    ("path", "before", "word", "after"),
    [
        ("a.test.ts", "expect(f()).toContain('", "ab", "');"),
        ("a.test.ts", "expect(f()).toMatch(/", "ab", "/i);"),
        ("a.test.ts", "expect(f).toThrow('", "ab", "');"),
        ("a.test.ts", "assert.match(f(), /", "^ab?", "/);"),
        ("a.test.ts", "assert.ok(f().startsWith('", "ab", "'));"),
        ("a_test.go", 'if !strings.Contains(F(), "', "ab", '") { t.Error() }'),
        ("a_test.go", 'require.ErrorContains(t, F(), "', "ab", '")'),
        ("tests/a.rs", 'assert!(f().contains("', "ab", '"), "said");'),
        ("tests/a.rs", 'assert!(f().x().starts_with("', "ab", '"));'),
    ],
)
def test_what_is_looked_for_becomes_another_word(path: str, before: str, word: str, after: str) -> None:
    texts = all_tried(path, f"{before}{word}{after}")
    words = {text.removeprefix(before).removesuffix(after) for text in texts}
    assert words
    assert all(len(one) == 9 and one.isalpha() for one in words), words


def test_an_answer_that_is_compared_with_true_depends_on_what_was_asked() -> None:
    texts = all_tried("a.test.ts", "expect(f().includes('ab')).toBe(true);")
    assert "expect(f().includes('ab')).toBe(false);" in texts
    assert any("toBe(true)" in text for text in texts)


def test_what_must_not_be_held_is_only_negated() -> None:
    assert all_tried("a.test.ts", "expect(f()).not.toContain('ab');") == {"expect(f()).toContain('ab');"}
    assert all_tried("tests/a.rs", 'assert!(!f().contains("ab"));') == {'assert!(!(!f().contains("ab")));'}
