import { it } from "vitest";
it("x", () => { });
throw new Error("at top");
