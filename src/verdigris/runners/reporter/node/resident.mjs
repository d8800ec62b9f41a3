// Keeps the code of vitest loaded. Each run gets a vitest object of its own, made by the same arguments as in a cold
// run. A program that joins the run's room starts its workers (`node_worker.py`).

import { mkdtempSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { CACHE, DOUBT } from "./resident_doubts.mjs";

const [entry, descriptor, worker] = process.argv.slice(2);
const WORKER = "VERDIGRIS_WORKER";
const DOUBTS = fileURLToPath(new URL("./resident_doubts.mjs", import.meta.url));
const OUTPUT = 1 << 20;
const RUNS = 200;

const { parseCLI, startVitest, version } = await import(pathToFileURL(entry).href);
const talk = new Socket({ fd: Number(descriptor) });
const say = (message) => talk.write(JSON.stringify(message) + "\n");
const own = { ...process.env };
let runs = 0;
let heard = "";

process.execPath = worker;
process.on("unhandledRejection", () => process.exit(1)); // a run that leaves a rejected promise is the last one of this process
talk.setEncoding("utf8");
talk.on("data", (data) => {
  heard += data;
  for (let end = heard.indexOf("\n"); end >= 0; end = heard.indexOf("\n")) {
    const message = JSON.parse(heard.slice(0, end));
    heard = heard.slice(end + 1);
    if (message.run) answer(message.run);
  }
});
talk.on("close", () => process.exit(0));
say({ ready: true });

async function answer(run) {
  const printed = capture();
  surround({ ...run.env, HOME: own.HOME, TMPDIR: run.tmp, [WORKER]: run.worker });
  process.chdir(run.cwd);
  process.exitCode = undefined;
  globalThis[DOUBT] = undefined;
  globalThis[CACHE] = mkdtempSync(join(tmpdir(), "modules-"));
  let vitest;
  try {
    const { filter, options } = parseCLI(["vitest", ...run.argv]);
    options.reporter = [DOUBTS, ...[options.reporter].flat()];
    // Where vitest 5 writes transformed modules for its workers: a folder of this run that both sides can reach.
    if (Number.parseInt(version) >= 5) options.fsModuleCachePath = globalThis[CACHE];
    vitest = await startVitest("test", filter, options);
  } catch (error) {
    globalThis[DOUBT] ??= String(error?.stack ?? error);
  }
  const output = printed.end();
  if (globalThis[DOUBT] !== undefined) say({ doubt: globalThis[DOUBT] });
  else say({ code: Number(process.exitCode ?? 0), output });
  try {
    await vitest?.close();
  } catch {
    process.exit(1);
  }
  rmSync(globalThis[CACHE], { recursive: true, force: true });
  if (++runs >= RUNS) process.exit(0);
  say({ free: true });
}

function surround(env) {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
}

/** Keeps what vitest prints, to explain a run that did not come to its end. */
function capture() {
  let text = "";
  const streams = [process.stdout, process.stderr];
  const before = streams.map((stream) => stream.write);
  for (const stream of streams)
    stream.write = (data, encoding, done) => {
      if (text.length < OUTPUT) text += typeof data === "string" ? data : Buffer.from(data).toString("utf8");
      (typeof encoding === "function" ? encoding : done)?.();
      return true;
    };
  return {
    end() {
      streams.forEach((stream, at) => (stream.write = before[at]));
      return text;
    },
  };
}
