"""The first steps of the String Calculator in TypeScript."""

from __future__ import annotations

from support.katas.script import Script

SOURCE = "src/adding.ts"


def script() -> Script:
    play = Script(test_file="test/adding.test.ts")
    play.test(
        "show that an empty string is zero",
        "The first rule, and the simplest input.",
        'import { expect, test } from "vitest";\n'
        'import { add } from "../src/adding";\n'
        '\ntest("an empty string is zero", () => {\n'
        '  expect(add("")).toBe(0);\n'
        "});\n",
        {SOURCE: "export function add(numbers: string): number {\n  return -1; // STUB:TDD\n}\n"},
    )
    play.implement(
        "give zero for an empty string",
        "One test asks for one value.",
        {SOURCE: "export function add(numbers: string): number {\n  return 0;\n}\n"},
    )
    play.nothing("There is one line.")
    play.test(
        "show that a single number is its own value",
        "The second rule; a constant cannot keep both.",
        '\ntest("a single number is its own value", () => {\n  expect(add("7")).toBe(7);\n});\n',
    )
    play.implement(
        "read a single number",
        "An empty string becomes zero by the same conversion.",
        {SOURCE: "export function add(numbers: string): number {\n  return Number(numbers);\n}\n"},
    )
    play.nothing("It is still one line.")
    play.test(
        "show that two numbers are summed",
        "The third rule; two numbers are the smallest sum.",
        '\ntest("numbers between commas are summed", () => {\n  expect(add("1,2")).toBe(3);\n});\n',
    )
    play.implement(
        "sum the numbers between commas",
        "Splitting serves any amount of numbers, as the rule says.",
        {
            SOURCE: "export function add(numbers: string): number {\n"
            '  const parts = numbers.split(",");\n'
            "  let sum = 0;\n"
            "  for (const part of parts) {\n"
            "    sum += Number(part);\n"
            "  }\n"
            "  return sum;\n"
            "}\n"
        },
    )
    play.refactor(
        "tell reading the numbers from adding them",
        "The further rules are about the form of the string; the sum is done.",
        {
            SOURCE: "export function add(numbers: string): number {\n"
            "  return numbersIn(numbers).reduce((sum, number) => sum + number, 0);\n"
            "}\n"
            "\n"
            "function numbersIn(text: string): number[] {\n"
            '  return text.split(",").map(Number);\n'
            "}\n"
        },
    )
    return play
