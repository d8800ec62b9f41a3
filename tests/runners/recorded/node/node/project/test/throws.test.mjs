import { test } from "node:test"; test("x", () => {}); throw new Error("at top");
