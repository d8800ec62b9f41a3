import { it } from "vitest";
import { x } from "../src/nothere";
it("x", () => { x(); });
