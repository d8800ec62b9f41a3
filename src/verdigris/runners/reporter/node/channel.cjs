"use strict";
// Writes the report: a numbered JSON line for each message, into the file that an environment variable names.
// It keeps the functions that it needs when it is loaded, before code under test runs and may patch them.

const { openSync, writeSync } = require("node:fs");
const { from } = Buffer;
const { stringify } = JSON;
const { freeze, keys, setPrototypeOf } = Object;
const { isArray } = Array;

const VARIABLE = "VERDIGRIS_REPORT";
const MESSAGE = 8000;
const STACK = 20000;

exports.VARIABLE = VARIABLE;

exports.writeAll = function writeAll(fd, text) {
  const bytes = from(text);
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
};

const { writeAll } = exports;

/** Writes JSON that no `toJSON` or setter can change which code under test put into the prototypes. */
const toJson = (exports.toJson = function toJson(facts) {
  return stringify(plain(facts));
});

function plain(value) {
  if (value === null || typeof value !== "object") return value;
  const copy = setPrototypeOf(isArray(value) ? [] : {}, null);
  const names = keys(value);
  for (let at = 0; at < names.length; at += 1) copy[names[at]] = plain(value[names[at]]);
  return copy;
}

exports.open = function open() {
  const fd = openSync(process.env[VARIABLE], "wx");
  delete process.env[VARIABLE]; // processes that are started later do not inherit it
  let count = 0;
  return (kind, facts) => writeAll(fd, toJson({ n: count++, kind, ...facts }) + "\n");
};

exports.describe = function describe(error) {
  if (error === null || typeof error !== "object") return { message: String(error).slice(0, MESSAGE) };
  const text = (value, limit) => (typeof value === "string" ? value.slice(0, limit) : undefined);
  return {
    name: text(error.name, MESSAGE),
    message: text(error.message, MESSAGE) ?? "",
    code: text(error.code, MESSAGE),
    stack: text(error.stack, STACK),
  };
};

freeze(exports); // code that finds it among the loaded modules can replace nothing
