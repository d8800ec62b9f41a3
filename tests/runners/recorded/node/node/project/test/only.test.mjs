import { test } from "node:test"; test("hidden", () => {}); test.only("seen", () => {});
