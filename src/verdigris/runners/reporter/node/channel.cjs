"use strict";
// Writes the report: one JSON line a message, numbered, into the file that an environment variable names.
// Everything is captured when we are loaded, before code under test runs and may patch it.

const { openSync, writeSync } = require("node:fs");
const { from } = Buffer;
const { stringify } = JSON;

const VARIABLE = "VERDIGRIS_REPORT";
const MESSAGE = 8000;
const STACK = 20000;

exports.VARIABLE = VARIABLE;

exports.writeAll = function writeAll(fd, text) {
  const bytes = from(text);
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
};

exports.open = function open() {
  const fd = openSync(process.env[VARIABLE], "wx");
  delete process.env[VARIABLE]; // what is started from here on does not inherit it
  let count = 0;
  return (kind, facts) => exports.writeAll(fd, stringify({ n: count++, kind, ...facts }) + "\n");
};

exports.told = function told(error) {
  if (error === null || typeof error !== "object") return { message: String(error).slice(0, MESSAGE) };
  const text = (value, limit) => (typeof value === "string" ? value.slice(0, limit) : undefined);
  return {
    name: text(error.name, MESSAGE),
    message: text(error.message, MESSAGE) ?? "",
    code: text(error.code, MESSAGE),
    stack: text(error.stack, STACK),
  };
};
