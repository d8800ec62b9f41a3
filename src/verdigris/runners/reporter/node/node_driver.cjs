"use strict";
// Runs test files of node:test, each in a process of its own with our reporter, and writes the report.
// Arguments: `run`, or `collect` to list the files only; a JSON list of options for node; then a JSON object
// for each file or folder: {path, names?}. CommonJS: an ES module takes node a fifth longer to start.

const { spawn } = require("node:child_process");
const { randomBytes } = require("node:crypto");
const { readdirSync, statSync } = require("node:fs");
const os = require("node:os");
const { basename, join, resolve } = require("node:path");
const { createInterface } = require("node:readline");
const channel = require("./channel.cjs");

const REPORTER = join(__dirname, "node_reporter.mjs");
const MAJOR = Number.parseInt(process.versions.node, 10);
const FULL_NAMES = 22; // since this version of node a pattern is matched with the names of all ancestors together
const TAIL = 8000;
const CODE = process.features.typescript ? /\.[cm]?[jt]s$/ : /\.[cm]?js$/;
const NAMED = /^(?:test|test-.*|.*[._-]test)\.[^.]+$/;

const say = channel.open();
const [mode, ...given] = process.argv.slice(2);
const [options, ...asked] = given.map((text) => JSON.parse(text));

say("start", { tool: "node", version: process.versions.node, cwd: process.cwd() });
const jobs = asked.flatMap(jobsOf);
if (mode === "collect") for (const { file } of jobs.splice(0)) say("listed", { file });
const width = Math.max(1, (os.availableParallelism?.() ?? os.cpus().length) - 1);
Promise.all(Array.from({ length: width }, work)).then(() => say("end", {}));

async function work() {
  for (let job = jobs.shift(); job; job = jobs.shift()) await runFile(job);
}

function jobsOf({ path, names }) {
  const file = resolve(path);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) return [];
  if (!found.isDirectory()) return [{ file, names }];
  return [...testsIn(file, basename(file) === "test")].map((each) => ({ file: each }));
}

function* testsIn(folder, all) {
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== "node_modules" && !entry.name.startsWith(".")) yield* testsIn(path, all || entry.name === "test");
    } else if (CODE.test(entry.name) && (all || NAMED.test(entry.name))) yield path;
  }
}

async function runFile({ file, names }) {
  if (names && MAJOR >= FULL_NAMES) {
    const seen = await runOnce(file, names.map((each) => each.join(" ")));
    if (names.every((each) => seen.has(JSON.stringify(each)))) return;
    say("again", { file });
  }
  await runOnce(file, names?.flat()); // below a test that is no suite, every ancestor has to match by itself
}

function runOnce(file, patterns) {
  const filters = [...new Set(patterns)].map((name) => `--test-name-pattern=^${escaped(name)}$`);
  const reporting = [`--import=${REPORTER}`, `--test-reporter=${REPORTER}`];
  const child = spawn(process.execPath, [...options, ...reporting, ...filters, file], {
    env: { ...process.env, VERDIGRIS_FILE: file },
    stdio: ["pipe", "pipe", "pipe", "pipe"],
  });
  const nonce = randomBytes(16).toString("hex");
  child.stdin.on("error", () => {}).end(nonce);
  const heard = { seen: new Set(), whole: false, natural: false, stderr: "" };
  child.stdout.on("data", (data) => process.stdout.write(data));
  child.stderr.on("data", (data) => {
    process.stderr.write(data);
    heard.stderr = (heard.stderr + data).slice(-TAIL);
  });
  createInterface({ input: child.stdio[3] }).on("line", (line) => takeLine(line, nonce, file, heard));
  return new Promise((done) => {
    child.on("close", (code, signal) => {
      reportEnd(file, heard, code, signal);
      // Older versions run the hooks around tests that they leave out, and fail if those fail.
      if (code !== 0 && (patterns === undefined || MAJOR >= FULL_NAMES)) process.exitCode = 1;
      done(heard.seen);
    });
  });
}

function takeLine(line, nonce, file, heard) {
  if (!line.startsWith(`${nonce} `)) return say("stray", {});
  const { kind, ...facts } = JSON.parse(line.slice(nonce.length + 1));
  if (kind === "whole") heard.whole = true;
  else if (kind === "bye") heard.natural = facts.natural;
  else {
    if (kind === "test") heard.seen.add(JSON.stringify(facts.names));
    say(kind, { ...facts, file });
  }
}

/** At the end of a process. A file without tests loads no reporter; one that cannot be loaded says so on stderr. */
function reportEnd(file, heard, code, signal) {
  if (!heard.whole && code !== 0 && heard.seen.size === 0 && signal === null && !heard.natural) {
    say("file-error", { file, errors: [parseError(heard.stderr)] });
  } else say("file-end", { file, code, signal, whole: heard.whole || heard.natural });
}

function parseError(text) {
  const found = /^(?:Uncaught )?([A-Za-z_$][\w$]*)(?: \[(\w+)\])?: (.*)$/m.exec(text);
  return { name: found?.[1] ?? "Error", code: found?.[2], message: found?.[3] ?? "", text };
}

function escaped(name) {
  return name.replace(/[^A-Za-z0-9_]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
