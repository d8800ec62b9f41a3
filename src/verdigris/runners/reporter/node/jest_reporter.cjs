"use strict";
// Reports what jest (29 and later) did with every test.

const { readFileSync } = require("node:fs");
const channel = require("./channel.cjs");
const { subject } = require("./subject.cjs");

const STATES = { passed: "pass", failed: "fail", todo: "todo" };

module.exports = class VerdigrisReporter {
  constructor(config) {
    this.say = channel.open();
    this.say("start", { tool: "jest", cwd: process.cwd(), root: config.rootDir });
  }

  onTestCaseStart(test, started) {
    this.say("started", { file: test.path, names: [...started.ancestorTitles, started.title] });
  }

  onTestFileResult(test, result) {
    const file = result.testFilePath;
    const named = result.testResults.map((each) => ({ each, names: [...each.ancestorTitles, each.title] }));
    const project = test.context.config.id ?? "";
    this.say("collected", { file, project, tests: named.map(({ names }) => names) });
    const failed = result.testExecError || (result.failureMessage && !result.testResults.length);
    if (failed) this.say("file-error", { file, errors: [execution(result)] });
    for (const { each, names } of named) {
      this.say("test", {
        file,
        names,
        state: STATES[each.status] ?? "skip",
        phase: "call",
        errors: each.failureMessages.map((text, index) => failure(text, each.failureDetails?.[index], file)),
        ms: each.duration ?? 0,
        line: each.location?.line ?? 0,
        xfail: each.failing ?? isFailing(each, file),
        retries: (each.invocations ?? 1) - 1,
      });
    }
  }

  onRunComplete(contexts, results) {
    if (results.runExecError) this.say("unhandled", { file: "", errors: [channel.describe(results.runExecError)] });
    this.say("end", {});
  }
};

/** Whether a test is a `test.failing`: jest 29 says only where the test is, and what it prints when it passes. */
function isFailing(test, file) {
  if (test.failureMessages.some((text) => text.startsWith("Error: Failing test passed even though"))) return true;
  if (!test.location) return false;
  const line = readFileSync(file, "utf8").split("\n", test.location.line).at(-1);
  return line.slice(test.location.column - 1).startsWith("failing");
}

/** The failure of a whole file; if it has tests, only a hook after them can have failed. */
function execution(result) {
  const text = result.testResults.length ? undefined : result.failureMessage?.slice(0, 8000);
  return { ...channel.describe(result.testExecError ?? {}), text };
}

/** Describes a failure. Jest has its text, and of the error only what a message between processes can carry. */
function failure(text, details, file) {
  const name = /^([A-Za-z_$][\w$]*): /.exec(text)?.[1];
  const message = text.slice(name ? name.length + 2 : 0).split(/\n {4}at /, 1)[0];
  const matcher = Boolean(details?.matcherResult ?? details?.error?.matcherResult);
  const code = details?.code ?? details?.error?.code;
  const told = channel.describe({ name, message, code, stack: text });
  return { ...told, matcher, subject: subject({ name, message, stack: text }, file) };
}
