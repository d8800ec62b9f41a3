import { it } from "vitest";
it("hidden", () => {});
it.only("seen", () => {});
