import { it } from "vitest";
it("leaks", () => { Promise.reject(new Error("unhandled one")); });
