import { it } from "vitest";
it("x", () => { let a = ; });
