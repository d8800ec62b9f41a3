// Loaded into the process of each test file before anything else, and then used as node:test's reporter.
// Writes to the driver over a descriptor. Each line starts with a nonce that only this module knows.

import "node:assert";
import { readFileSync } from "node:fs";
import "node:test";
import { setFlagsFromString } from "node:v8";
import channel from "./channel.cjs";
import missing from "./subject.cjs";

// Not on the command line: from where it is set, node compiles what it loads of its own library anew. The modules above
// that nobody here uses are loaded before.
const FRAMES = 100;
setFlagsFromString(`--stack-trace-limit=${FRAMES}`); // in workers and other contexts
Error.stackTraceLimit = FRAMES;

const CHANNEL = 3;
const VARIABLE = "VERDIGRIS_FILE";
const LATE = /generated asynchronous activity after the test ended|unhandledRejection|uncaughtException/;

const file = process.env[VARIABLE];
delete process.env[VARIABLE]; // so that no worker or child of the tests can write as if it were we
const nonce = file === undefined ? "" : readFileSync(0, "latin1");
const say = (kind, facts) => {
  if (file !== undefined) channel.writeAll(CHANNEL, `${nonce} ${channel.toJson({ kind, ...facts })}\n`);
};

let natural = false;
let used = false;
process.on("beforeExit", () => {
  natural = true;
});
process.on("exit", () => say("bye", { natural }));

export default async function* verdigris(source) {
  if (used) say("unhandled", { errors: [{ name: "ReportedTwice", message: "the reporter was used twice" }] });
  used = true;
  const path = [];
  const running = [];
  let waiting = [];
  for await (const { type, data } of source) {
    switch (type) {
      case "test:dequeue":
        running.splice(data.nesting, Infinity, data.name);
        if (data.type !== "suite") say("started", { names: [...running] });
        break;
      case "test:start":
        path.splice(data.nesting, Infinity, data.name);
        break;
      case "test:pass":
      case "test:fail":
        waiting = addEnd([...path.slice(0, data.nesting), data.name], type === "test:pass", data, waiting);
        if (data.nesting === 0) {
          for (const test of waiting) say("test", test);
          waiting = [];
        }
        break;
      case "test:diagnostic":
        if (LATE.test(data.message)) say("unhandled", { errors: [{ name: "Unhandled", message: data.message }] });
    }
  }
  say("whole", {});
  yield "";
}

function addEnd(names, passed, data, waiting) {
  const { type, duration_ms: ms = 0, error } = data.details ?? {};
  const inside = (test) => names.every((name, index) => test.names[index] === name);
  if (type === "suite") return waiting.map((test) => (inside(test) ? applyHookFailure(test, error) : test));
  const child = error?.failureType === "subtestsFailed" && waiting.find((test) => inside(test) && test.state === "fail");
  const test = { names, ms, line: data.line ?? 0, defined: data.file, xfail: data.expectFailure !== undefined };
  if (data.skip !== undefined) return [...waiting, { ...test, state: "skip", why: said(data.skip) }];
  if (data.todo !== undefined) return [...waiting, { ...test, state: "todo", why: said(data.todo) }];
  if (passed) return [...waiting, { ...test, state: "pass" }];
  return [...waiting, { ...test, state: "fail", phase: phaseOf(error), errors: child ? child.errors : describeError(error) }];
}

/** The outcome of a test in a suite whose hook failed. */
function applyHookFailure(test, error) {
  if (error?.failureType !== "hookFailed") return test;
  const phase = phaseOf(error);
  const hit = test.state === (phase === "setup" ? "fail" : "pass");
  return hit ? { ...test, state: "fail", phase, errors: describeError(error) } : test;
}

const said = (why) => (typeof why === "string" ? why : "");

function phaseOf(error) {
  if (error?.failureType !== "hookFailed") return "call";
  return /before/.test(error.message) ? "setup" : "teardown";
}

function describeError(error) {
  const cause = error?.cause;
  const type = error?.failureType;
  if (cause === null || typeof cause !== "object") return [{ name: type, message: String(cause ?? error?.message), type }];
  return [{ ...channel.describe(cause), type, subject: missing.subject(cause, file) }];
}
