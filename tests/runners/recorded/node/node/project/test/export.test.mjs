import { test } from "node:test"; import { nope } from "../src/calc.mjs"; test("x", () => {});
