"""What a test of JavaScript or TypeScript seems to show, and does not."""

# ruff: noqa: E501 - texts of tests

from __future__ import annotations

import pytest

from support.empty_assertions import check_single, empty_assertions
from verdigris.languages.findings import TestText
from verdigris.languages.registry import language_named

NODE = language_named("node")
HEAD = """\
import { expect, test, vi } from "vitest";
import assert from "node:assert/strict";
import { add, Cart } from "../src/cart.js";
import * as mail from "../src/mail.js";
import { fetchUser } from "../src/api.js";
"""


PATH = "test/cart.test.ts"


def text_of_test(body: str, head: str = "", *, done: str = "") -> str:
    return f'{HEAD}{head}\ntest("it", async ({done}) => {{\n{body}\n}});\n'


def faults(body: str, *, done: str = "") -> list[str]:
    return empty_assertions("node", PATH, "it", text_of_test(body, done=done))


def mocked_subjects(body: str, head: str) -> tuple[object, ...] | None:
    return NODE.validation.mocked_subjects(TestText(PATH, "it", {PATH: text_of_test(body, head)}), ())


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("expect(true).toBe(true);", "itself"),
        ("expect(1).toBe(2);", "outcome is fixed"),
        ("const got = 3;\nexpect(got).toBe(3);", "outcome is fixed"),
        ("const got = add(1, 2);\nexpect(got).toBe(got);", "itself"),
        ("const got = add(1, 2);\nconst want = got;\nexpect(got).toEqual(want);", "itself"),
        ("expect(add(1, 2)).toBe(add(1, 2));", "itself"),
        ("assert.equal(add(1, 2), add(1, 2));", "itself"),
        ("assert.ok(true);", "outcome is fixed"),
        ("return;\nexpect(add(1, 2)).toBe(3);", "never reached"),
        ("if (false) {\n  expect(add(1, 2)).toBe(3);\n}", "never reached"),
        ("try {\n  expect(add(1, 2)).toBe(3);\n} catch {}", "unnoticed"),
        ("expect(add(1, 2)).resolves.toBe(3);", "await"),
        ("add(1, 2).then((got) => { expect(got).toBe(3); });", "await"),
        ("setTimeout(() => { expect(add(1, 2)).toBe(3); }, 1);", "await"),
        ("expect(add(1, 2));", "no matcher"),
        ("expect(add(1, 2)).toBeTruthy;", "not called"),
        ("assert.fail('to do');", "whatever"),
    ],
)
def test_what_cannot_fail_or_is_not_heard_is_found(body: str, word: str) -> None:
    check_single(faults(body), word)


@pytest.mark.parametrize(
    "body",
    [
        "expect(add(1, 2)).toBe(3);",
        "const want = 3;\nexpect(add(1, 2)).toBe(want);",
        "const one = add(1, 2);\nconst two = add(1, 2);\nexpect(one).toEqual(two);",
        "expect(Cart.current()).toBe(Cart.current());",
        "expect(new Cart(1)).toEqual(new Cart(1));",
        "const seen = [];\nadd(1, (n) => seen.push(n));\nexpect(seen).toEqual([3]);",
        "const seen = { count: 0 };\nadd(1, seen);\nexpect(seen).toEqual({ count: 1 });",
        "let count = 0;\nadd(1, () => { count += 1; });\nexpect(count).toBe(1);",
        "await expect(add(1, 2)).resolves.toBe(3);",
        "await add(1, 2).then((got) => { expect(got).toBe(3); });",
        "return add(1, 2).then((got) => { expect(got).toBe(3); });",
        "expect(() => add(1, null)).toThrow(TypeError);",
        "try {\n  add(1, null);\n  assert.fail('no error');\n} catch (error) {\n  expect(error.message).toBe('no number');\n}",
        "add(1, () => assert.fail('called'));\nexpect(add(1, 2)).toBe(3);",
        "for (const [a, b] of [[1, 2], [2, 1]]) {\n  expect(add(a, b)).toBe(3);\n}",
    ],
)
def test_honest_assertions_are_not_found(body: str) -> None:
    assert faults(body) == []


def test_a_callback_ends_its_test_itself() -> None:
    assert faults("setTimeout(() => { expect(add(1, 2)).toBe(3); done(); }, 1);", done="done") == []


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ('vi.mock("../src/cart.js");', "expect(add(1, 2)).toBe(3);"),
        ('vi.mock("../src/cart", () => ({ add: () => 3 }));', "expect(add(1, 2)).toBe(3);"),
        (
            'vi.mock("../src/cart.js", async (original) => ({ ...(await original()), add: vi.fn(() => 3) }));',
            "expect(add(1, 2)).toBe(3);",
        ),
        ('vi.mock("../src/mail.js");', "expect(mail.send(1)).toBe(3);"),
        ("", 'vi.spyOn(mail, "send").mockReturnValue(3);\nexpect(mail.send(1)).toBe(3);'),
        (
            "",
            'vi.spyOn(Cart.prototype, "sum").mockReturnValue(3);\nconst cart = new Cart();\nexpect(cart.sum()).toBe(3);',
        ),
        (
            "",
            'const cart = new Cart();\nvi.spyOn(cart, "sum").mockImplementation(() => 3);\nexpect(cart.sum()).toBe(3);',
        ),
    ],
)
def test_a_test_that_replaces_its_subject_is_found(head: str, body: str) -> None:
    found = mocked_subjects(body, head)
    assert found is not None
    assert len(found) == 1


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (
            'vi.mock("../src/api.js");',
            "vi.mocked(fetchUser).mockResolvedValue({ id: 1 });\nexpect(await add(1, 2)).toBe(3);",
        ),
        (
            'vi.mock("../src/cart.js", async (original) => ({ ...(await original()), save: vi.fn() }));',
            "expect(add(1, 2)).toBe(3);",
        ),
        ('vi.mock("axios");', "expect(add(1, 2)).toBe(3);"),
        (
            "",
            'const log = vi.spyOn(console, "log").mockImplementation(() => {});\nexpect(add(1, 2)).toBe(3);\nconsole.log(1);',
        ),
        (
            "",
            'const spy = vi.spyOn(mail, "send");\nexpect(mail.send(1)).toBe(3);\nexpect(spy).toHaveBeenCalled();',
        ),
        ("", 'vi.spyOn(mail, "send").mockReturnValue(3);\nexpect(add(1, 2)).toBe(3);'),
    ],
)
def test_replacing_what_the_subject_uses_is_honest(head: str, body: str) -> None:
    assert mocked_subjects(body, head) == ()
