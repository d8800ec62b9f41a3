"use strict";
// Which project file made the object that a test found something missing on: read from the test's own text, at the
// line of the failure. Whatever the receiver (`new Money(1).add(x).format()`, `rows[0].id`), its first name tells.

const { readFileSync, statSync } = require("node:fs");
const { dirname, resolve } = require("node:path");

const NOT_CALLED = /([\w$.[\]()'"… ]*?)([\w$]+)(?:\(\.\.\.\))*\)? is not a (?:function|constructor)/;
const NOT_READ = /^Cannot (?:read|set) propert(?:y|ies) of (?:undefined|null) \((?:reading|setting) '(.+)'\)/;
const NOT_TAKEN = /^Cannot destructure property '([\w$]+)' of /;
const NOT_WALKED = /^(?:.*[^\w$])?([\w$]+)(?:\(\.\.\.\)|\[\d+\])* is not (?:iterable|a function or its return value is not iterable)/;
const ENDINGS = ["", ".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];
const STEPS = 6;
const LINES = 12; // of one statement, from the line that the stack names

exports.subject = function subject(error, file) {
  if (!error || error.name !== "TypeError" || typeof error.message !== "string") return undefined;
  try {
    const text = readFileSync(file, "utf8");
    for (const [name, at] of receivers(error, file, text)) {
      const found = follow(name, at, text, dirname(file));
      if (found) return found;
    }
  } catch {
    // What cannot be read tells nothing.
  }
  return undefined;
};

/** First names of what could have lacked it, the likeliest first, each with its place in the text. */
function* receivers(error, file, text) {
  const wanted = lacking(error.message);
  if (!wanted) return;
  const from = failed(error.stack, file, text);
  const used = new RegExp(`(?:\\??\\.\\s*${escaped(wanted)}|\\[\\s*["'\`]${escaped(wanted)}["'\`]\\s*\\])(?![\\w$])`, "g");
  if (from !== undefined) {
    const near = text.slice(from).split("\n").slice(0, LINES).join("\n");
    for (const { index } of near.matchAll(used)) yield [root(text, from + index), from + index];
    const taken = new RegExp(`(?:^|[^\\w$.])${escaped(wanted)}\\s*[,}=:][^=;]*=\\s*|\\b(?:of|=)\\s+(?=[^;\\n]*${escaped(wanted)})`).exec(near);
    if (taken) yield [first(text, from + taken.index + taken[0].length), from];
  }
  const said = /([\w$]+)(?:\.[\w$]+)*\)? is not a (?:function|constructor)/.exec(plain(error.message));
  yield [said?.[1] ?? wanted, from ?? text.length];
  if (from === undefined) for (const { index } of text.matchAll(used)) yield [root(text, index), index];
}

/** Bundlers write `(0 , __vi_import_1__.sub)` for `sub`. */
const plain = (message) => message.replace(/\(0\s*,\s*[\w$]+\.([\w$]+)\)/, "$1");

function lacking(message) {
  const read = NOT_READ.exec(message) ?? NOT_TAKEN.exec(message) ?? NOT_WALKED.exec(message);
  return read ? read[1] : NOT_CALLED.exec(plain(message))?.[2];
}

/** Where in the text the line starts at which the test itself failed: the innermost frame in its file. */
function failed(stack, file, text) {
  if (typeof stack !== "string") return undefined;
  const frame = new RegExp(`${escaped(file)}(?:\\?[^:)\\s]*)?:(\\d+)(?::\\d+)?`).exec(stack);
  if (!frame) return undefined;
  let at = 0;
  for (let line = 1; line < Number(frame[1]); line += 1) at = text.indexOf("\n", at) + 1;
  return at;
}

/** The first name of the expression that ends before `end`: of `new Money(1).add(x)` it is Money. */
function root(text, end) {
  let at = end;
  let name;
  for (;;) {
    while (at > 0 && /[\s?!.]/.test(text[at - 1])) at -= 1;
    const before = text[at - 1];
    if (before === ")" || before === "]") {
      const open = opening(text, at - 1);
      if (open < 0) return name;
      const called = /(?:[\w$)\]>]|\?\.)\s*$/.test(text.slice(0, open)) && !/\b(?:await|return|of|in)\s*$/.test(text.slice(0, open));
      if (!called) return first(text, open + 1); // `(await make()).x`, `[a, b].x`
      at = open;
      continue;
    }
    const word = /[\w$]+$/.exec(text.slice(0, at))?.[0];
    if (word === undefined) return name;
    name = word;
    at -= word.length;
    if (!/\.\s*$/.test(text.slice(0, at))) return name;
  }
}

/** The first name at or after a place, past words and brackets that only lead to it. */
function first(text, at) {
  const name = /^(?:[\s([{!]|\.\.\.|(?:await|new|typeof|void|yield|async)\b)*([A-Za-z_$][\w$]*)/.exec(text.slice(at));
  return name?.[1];
}

function opening(text, close) {
  for (let at = close, depth = 0; at >= 0; at -= 1) {
    if (/[)\]}]/.test(text[at])) depth += 1;
    else if (/[([{]/.test(text[at]) && --depth === 0) return at;
  }
  return -1;
}

function closing(text, open) {
  for (let at = open, depth = 0; at < text.length; at += 1) {
    if (/[([{]/.test(text[at])) depth += 1;
    else if (/[)\]}]/.test(text[at]) && --depth === 0) return at;
  }
  return text.length;
}

function follow(name, from, text, folder) {
  for (let step = 0, at = from; name && step < STEPS; step += 1) {
    const specifier = imported(name, text);
    if (specifier !== undefined) return specifier.startsWith(".") ? located(resolve(folder, specifier)) : undefined;
    const origin = made(name, at, text) ?? given(name, at, text) ?? owner(name, text);
    [name, at] = origin ?? [];
  }
  return undefined;
}

function imported(name, text) {
  const forms = [
    /\bimport\s+([^"';]+?)\s+from\s*["']([^"']+)["']/g,
    /\b(?:const|let|var)\s+([\w$]+|\{[^}]*\})\s*=\s*(?:await\s+import|require)\(\s*["']([^"']+)["']\s*\)/g,
  ];
  const bound = new RegExp(`(?:^|[^\\w$])${escaped(name)}\\s*(?:[,}]|$)`);
  for (const form of forms) {
    for (const [, names, specifier] of text.matchAll(form)) if (bound.test(names.trim())) return specifier;
  }
  return undefined;
}

/** What a variable was last made of before that place: `m = …`, `{ m } = …`, `[m] = …`, `const m of …`; a function, too. */
function made(name, at, text) {
  const bound = escaped(name);
  const forms = new RegExp(
    `(?:^|[^\\w$.])${bound}\\s*(?::[^=;()]+)?=(?![=>])\\s*` +
      `|[{[][^{}[\\]=;]*\\b${bound}\\b[^{}[\\]=;]*[}\\]]\\s*(?::[^=;()]+)?=(?![=>])\\s*` +
      `|\\b(?:const|let|var)\\s+(?:[{[][^=;]*?\\b)?${bound}\\b[^=;()]*?\\s+of\\s+` +
      `|\\bfunction\\s+${bound}\\s*\\([^{]*\\{\\s*return\\s+`,
    "g",
  );
  const all = [...text.matchAll(forms)];
  const found = all.filter((each) => each.index < at).at(-1) ?? all[0];
  if (!found) return undefined;
  const start = found.index + found[0].length;
  const body = /^(?:async\s*)?(?:\([^()]*\)|[\w$]+)\s*(?::[^=]+)?=>\s*(?:\{\s*(?:return\s+)?)?/.exec(text.slice(start));
  const value = start + (body?.[0].length ?? 0);
  return [first(text, value), value];
}

/** What a function is given by the call that it stands in: `rows.map((row) => …)`, `it.each([new Row()])("…", (row) => …)`. */
function given(name, at, text) {
  const parameter = new RegExp(`(?:\\(([^()]*[^\\w$()])?${escaped(name)}\\b[^()]*\\)|(?:^|[^\\w$.])${escaped(name)})\\s*=>`, "g");
  const found = [...text.matchAll(parameter)].filter((each) => each.index < at).at(-1);
  if (!found) return undefined;
  const open = enclosing(text, found.index);
  if (open < 0) return undefined;
  const caller = root(text, open);
  if (!/^(?:it|test|describe)$/.test(caller ?? "")) return [caller, open];
  const table = text.lastIndexOf("each(", open);
  if (table < 0) return undefined;
  const cells = text.slice(table + 4, closing(text, table + 4));
  const known = [...cells.matchAll(/(?:^|[^\w$.])([A-Za-z_$][\w$]*)/g)].map((each) => each[1]);
  return [known.find((each) => imported(each, text)?.startsWith(".")), table];
}

/** The bracket of the call around a place. */
function enclosing(text, place) {
  for (let at = place - 1, depth = 0; at >= 0; at -= 1) {
    if (/[)\]}]/.test(text[at])) depth += 1;
    else if (/[([{]/.test(text[at]) && depth-- === 0) return at;
  }
  return -1;
}

/** Of a name that vite took out of a namespace: to the error `calc.sub` is only `sub`. */
function owner(name, text) {
  const found = new RegExp(`([\\w$]+)\\.${escaped(name)}\\s*\\(`).exec(text);
  return found ? [found[1], found.index] : undefined;
}

const escaped = (name) => name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

function located(path) {
  const plain = path.replace(/\.([cm]?)js(x?)$/, ".$1ts$2"); // TypeScript names the file that it will become
  const tries = [...ENDINGS.map((end) => path + end), plain, ...ENDINGS.slice(1).map((end) => `${path}/index${end}`)];
  return tries.find((each) => statSync(each, { throwIfNoEntry: false })?.isFile());
}
