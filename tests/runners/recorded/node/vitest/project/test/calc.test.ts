import { describe, it, expect, beforeEach, afterEach, beforeAll, afterAll, test } from "vitest";
import assert from "node:assert";
import { add, boom, later, parse, missing, type Thing } from "../src/calc";

interface Shift {
  x: number;
}

describe("sums", () => {
  it("adds", () => { expect(add(1, 2)).toBe(3); });
  it("adds more", () => { expect(add(1, 0)).toBe(1); });
  describe("nested", () => {
    it.each([[1, 2], [3, 4]])("pair %i and %i", (a, b) => { expect(a).toBeLessThan(4); expect(a).not.toBe(3); });
  });
  it.skip("skipped", () => {});
  it.todo("todo");
  it.fails("xfail", () => { expect(1).toBe(2); });
  it.fails("xpass", () => { expect(1).toBe(1); });
});
it("top", () => {});
it("snap", () => { expect({ a: 1 }).toMatchSnapshot(); });
it("inline snap", () => { expect({ a: 1 }).toMatchInlineSnapshot(); });
it("thrown in source", () => { boom(null); });
it("thrown in source async", async () => { await later(); });
it("json", () => { parse("{"); });
it("missing export", () => { expect((missing as any)(1)).toBe(1); });
it("missing name", () => { nothere(1); });
it("node assert", () => { assert.equal(1, 2); });
it("assert.throws", () => { assert.throws(() => {}); });
it("rejects", async () => { await expect(later()).resolves.toBe(1); });
it("no throw", () => { expect(() => 1).toThrow(); });
it("times out", async () => { await new Promise(() => {}); }, 50);
it("throws a string", () => { throw "a string"; });
it("plain error in test", () => { throw new Error("plain"); });
it("expect.assertions", () => { expect.assertions(2); expect(1).toBe(1); });
it("soft", () => { expect.soft(1).toBe(2); expect.soft(1).toBe(3); });
it("unreachable", () => { expect.unreachable("x"); });
it("dynamic import", async () => { await import("./nothere"); });
describe("bad setup", () => { beforeEach(() => { throw new Error("setup"); }); it("in bad setup", () => {}); });
describe("bad teardown", () => { afterEach(() => { throw new Error("teardown"); }); it("in bad teardown", () => {}); });
describe("bad setup all", () => { beforeAll(() => { throw new Error("setupall"); }); it("in bad setup all", () => {}); });
describe("bad teardown all", () => { afterAll(() => { throw new Error("teardownall"); }); it("in bad teardown all", () => {}); });
it("dup", () => {});
it("dup", () => { expect(1).toBe(2); });
it("retry", { retry: 2 }, () => { (globalThis as any).n = ((globalThis as any).n ?? 0) + 1; expect((globalThis as any).n).toBe(2); });
it("logs", () => { console.log("hello log"); });
