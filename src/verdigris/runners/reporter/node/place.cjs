"use strict";
// Asks another node process, through its inspector, which line of JavaScript it runs, and in which test.
// Argument: the inspector's port on 127.0.0.1. Writes {frames, names} as JSON, each beginning at the outermost.
// The protocol is that of the Chrome DevTools, over a WebSocket, of which node has no client before version 22.
// A thread that works is paused; a thread that waits has no place.

const http = require("node:http");
const { SourceMap } = require("node:module");
const { randomBytes } = require("node:crypto");
const { fileURLToPath } = require("node:url");

const SECONDS = 5; // for the whole conversation
const MOST_FRAMES = 60;
const TOOLS = "/node_modules/";
const INLINE = "base64,";
// JavaScript that finds the names of the running test in a frame of the tool. In vitest's `runTest` and jest's
// `_callCircusTest` the test is the variable `test`; in node:test it is `this`.
const TEST = `(() => {
  const running = typeof test === "object" && test ? test : typeof this === "object" && this ? this : {};
  if (typeof running.name !== "string" || !("parent" in running || "suite" in running)) return null;
  const names = [];
  const isNamed = (at) => at && typeof at.name === "string" && !at.filepath;
  for (let at = running; isNamed(at); at = at.suite ?? at.parent) names.unshift(at.name);
  return JSON.stringify(names.filter((name) => name !== "<root>" && name !== "ROOT_DESCRIBE_BLOCK"));
})()`;

/** The row in the source file from which a script was made, counted from 0; the same row without a map. */
exports.originalRow = function originalRow(url, row, column) {
  if (!url?.includes(INLINE)) return row;
  try {
    const map = new SourceMap(JSON.parse(Buffer.from(url.split(INLINE)[1], "base64").toString()));
    const entries = [column, Infinity].map((at) => map.findEntry(row, at));
    return entries.find((at) => at.generatedLine === row && at.originalLine !== undefined)?.originalLine ?? row;
  } catch {
    return row;
  }
};

function main(port) {
  setTimeout(() => process.exit(), SECONDS * 1000);
  http.get({ port, path: "/json/list" }, async (response) => {
    const [target] = JSON.parse((await response.toArray()).join(""));
    const key = randomBytes(16).toString("base64");
    const words = { "Sec-WebSocket-Version": 13, "Sec-WebSocket-Key": key };
    const headers = { Connection: "Upgrade", Upgrade: "websocket", ...words };
    http.get({ port, path: `/${target.id}`, headers }).on("upgrade", (_, socket, head) => talk(socket, head));
  });
}

/** Pauses all threads, and writes down the place of the first one that runs code of a project. */
function talk(socket, head) {
  const scripts = new Map(); // by worker and number; the main thread's worker is an empty text
  const answers = new Map();
  let count = 0;

  function ask(worker, method, params = {}) {
    const id = ++count;
    const message = JSON.stringify({ id, method, params });
    if (worker) ask("", "NodeWorker.sendMessageToWorker", { sessionId: worker, message });
    else socket.write(frameOf(message));
    return new Promise((resolve) => answers.set(worker + id, resolve));
  }

  function pause(worker) {
    ask(worker, "Debugger.enable");
    ask(worker, "Debugger.pause");
  }

  function hear(worker, { id, result, method, params }) {
    if (id) answers.get(worker + id)?.(result);
    else if (method === "NodeWorker.attachedToWorker") pause(params.sessionId);
    else if (method === "NodeWorker.receivedMessageFromWorker") hear(params.sessionId, JSON.parse(params.message));
    else if (method === "Debugger.scriptParsed") scripts.set(worker + params.scriptId, params);
    else if (method === "Debugger.paused") describe(worker, params.callFrames.slice(0, MOST_FRAMES));
  }

  async function describe(worker, frames) {
    const places = frames.flatMap(({ location, url }) => {
      const script = scripts.get(worker + location.scriptId);
      const path = pathOf(script?.url || url || "");
      const row = exports.originalRow(script?.sourceMapURL, location.lineNumber, location.columnNumber ?? 0);
      return path.startsWith("/") ? [[path, row + 1]] : [];
    });
    if (places.every(([path]) => path.includes(TOOLS))) return;
    let names = null;
    for (let at = 0; at < frames.length && !names; at += 1) {
      const given = { callFrameId: frames[at].callFrameId, expression: TEST, returnByValue: true, silent: true };
      names = (await ask(worker, "Debugger.evaluateOnCallFrame", given))?.result?.value;
    }
    const place = { frames: places.reverse(), names: names ? JSON.parse(names) : null };
    process.stdout.write(JSON.stringify(place), () => process.exit());
  }

  eachMessage(socket, head, (text) => hear("", JSON.parse(text)));
  ask("", "NodeWorker.enable", { waitForDebuggerOnStart: false });
  pause("");
}

function pathOf(url) {
  const [plain] = url.split("?");
  return plain.startsWith("file://") ? fileURLToPath(plain) : plain;
}

/** A WebSocket frame with a text; a client has to mask it, here with zeros. */
function frameOf(text) {
  const data = Buffer.from(text);
  const length = data.length < 126 ? [0x80 | data.length] : [0xfe, data.length >> 8, data.length & 0xff];
  return Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), data]);
}

/** Calls `take` with each text message, which may come in several frames. */
function eachMessage(socket, head, take) {
  let rest = head;
  let parts = [];
  const read = (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const short = rest.length > 1 ? rest[1] & 0x7f : 0;
      const start = { 126: 4, 127: 10 }[short] ?? 2;
      if (rest.length < start) return;
      const length = short < 126 ? short : Number(`0x${rest.subarray(2, start).toString("hex")}`);
      if (rest.length < start + length) return;
      parts.push(rest.subarray(start, start + length));
      const isLast = rest[0] & 0x80;
      rest = rest.subarray(start + length);
      if (isLast) take(Buffer.concat(parts.splice(0)).toString());
    }
  };
  socket.on("data", read);
  read(Buffer.alloc(0));
}

if (require.main === module) main(Number(process.argv[2]));
