import { test } from "node:test"; import x from "../src/nothere.mjs"; test("x", () => {});
