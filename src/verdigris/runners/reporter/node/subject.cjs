"use strict";
// Finds the project file that made the object on which a test missed something. It reads the text of the test at the
// line of the failure. Of a receiver such as `new Money(1).add(x).format()` or `rows[0].id` the first name leads there.

const { readFileSync, statSync } = require("node:fs");
const { dirname, resolve } = require("node:path");

const NOT_CALLED = /([\w$.[\]()'"… ]*?)([\w$]+)(?:\(\.\.\.\))*\)? is not a (?:function|constructor)/;
const NOT_READ = /^Cannot (?:read|set) propert(?:y|ies) of (?:undefined|null) \((?:reading|setting) '(.+)'\)/;
const NOT_TAKEN = /^Cannot destructure property '([\w$]+)' of /;
const NOT_WALKED = /^(?:.*[^\w$])?([\w$]+)(?:\(\.\.\.\)|\[\d+\])* is not (?:iterable|a function or its return value is not iterable)/;
const ENDINGS = ["", ".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];
const STEPS = 6;
const LINES = 12; // the most lines of a statement, from the line in the stack

exports.subject = function subject(error, file) {
  if (!error || error.name !== "TypeError" || typeof error.message !== "string") return undefined;
  try {
    const text = readFileSync(file, "utf8");
    for (const [name, at] of receivers(error, file, text)) {
      const found = follow(name, at, text, dirname(file));
      if (found) return found;
    }
  } catch {
    // A file that cannot be read says nothing.
  }
  return undefined;
};

/** First names of the objects that may have lacked it, the likeliest first, each with its place in the text. */
function* receivers(error, file, text) {
  const wanted = missingName(error.message);
  if (!wanted) return;
  const from = failureOffset(error.stack, file, text);
  const used = new RegExp(`(?:\\??\\.\\s*${escaped(wanted)}|\\[\\s*["'\`]${escaped(wanted)}["'\`]\\s*\\])(?![\\w$])`, "g");
  if (from !== undefined) {
    const near = text.slice(from).split("\n").slice(0, LINES).join("\n");
    for (const { index } of near.matchAll(used)) yield [firstNameBefore(text, from + index), from + index];
    const taken = new RegExp(`(?:^|[^\\w$.])${escaped(wanted)}\\s*[,}=:][^=;]*=\\s*|\\b(?:of|=)\\s+(?=[^;\\n]*${escaped(wanted)})`).exec(near);
    if (taken) yield [firstNameAfter(text, from + taken.index + taken[0].length), from];
  }
  const said = /([\w$]+)(?:\.[\w$]+)*\)? is not a (?:function|constructor)/.exec(plain(error.message));
  yield [said?.[1] ?? wanted, from ?? text.length];
  if (from === undefined) for (const { index } of text.matchAll(used)) yield [firstNameBefore(text, index), index];
}

/** Bundlers write `(0 , __vi_import_1__.sub)` for `sub`. */
const plain = (message) => message.replace(/\(0\s*,\s*[\w$]+\.([\w$]+)\)/, "$1");

function missingName(message) {
  const read = NOT_READ.exec(message) ?? NOT_TAKEN.exec(message) ?? NOT_WALKED.exec(message);
  return read ? read[1] : NOT_CALLED.exec(plain(message))?.[2];
}

/** The offset of the line at which the test failed: that of the innermost frame in its file. */
function failureOffset(stack, file, text) {
  if (typeof stack !== "string") return undefined;
  const frame = new RegExp(`${escaped(file)}(?:\\?[^:)\\s]*)?:(\\d+)(?::\\d+)?`).exec(stack);
  if (!frame) return undefined;
  let at = 0;
  for (let line = 1; line < Number(frame[1]); line += 1) at = text.indexOf("\n", at) + 1;
  return at;
}

/** The first name of the expression that ends before `end`: Money for `new Money(1).add(x)`. */
function firstNameBefore(text, end) {
  let at = end;
  let name;
  for (;;) {
    while (at > 0 && /[\s?!.]/.test(text[at - 1])) at -= 1;
    const before = text[at - 1];
    if (before === ")" || before === "]") {
      const open = openingBracket(text, at - 1);
      if (open < 0) return name;
      const called = /(?:[\w$)\]>]|\?\.)\s*$/.test(text.slice(0, open)) && !/\b(?:await|return|of|in)\s*$/.test(text.slice(0, open));
      if (!called) return firstNameAfter(text, open + 1); // `(await make()).x`, `[a, b].x`
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

/** The first name at or after a place, without keywords and brackets before it. */
function firstNameAfter(text, at) {
  const name = /^(?:[\s([{!]|\.\.\.|(?:await|new|typeof|void|yield|async)\b)*([A-Za-z_$][\w$]*)/.exec(text.slice(at));
  return name?.[1];
}

function openingBracket(text, close) {
  for (let at = close, depth = 0; at >= 0; at -= 1) {
    if (/[)\]}]/.test(text[at])) depth += 1;
    else if (/[([{]/.test(text[at]) && --depth === 0) return at;
  }
  return -1;
}

function closingBracket(text, open) {
  for (let at = open, depth = 0; at < text.length; at += 1) {
    if (/[([{]/.test(text[at])) depth += 1;
    else if (/[)\]}]/.test(text[at]) && --depth === 0) return at;
  }
  return text.length;
}

function follow(name, from, text, folder) {
  for (let step = 0, at = from; name && step < STEPS; step += 1) {
    const specifier = importSpecifier(name, text);
    if (specifier !== undefined) return specifier.startsWith(".") ? existingFile(resolve(folder, specifier)) : undefined;
    const origin = assignedName(name, at, text) ?? argumentName(name, at, text) ?? namespaceOf(name, text);
    [name, at] = origin ?? [];
  }
  return undefined;
}

function importSpecifier(name, text) {
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

/** The first name in the value that a variable last got before a place: `m = …`, `{ m } = …`, `const m of …`, a function. */
function assignedName(name, at, text) {
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
  return [firstNameAfter(text, value), value];
}

/** The first name in what the call around a function passes to a parameter: `rows.map((row) => …)`, `it.each([new Row()])(…)`. */
function argumentName(name, at, text) {
  const parameter = new RegExp(`(?:\\(([^()]*[^\\w$()])?${escaped(name)}\\b[^()]*\\)|(?:^|[^\\w$.])${escaped(name)})\\s*=>`, "g");
  const found = [...text.matchAll(parameter)].filter((each) => each.index < at).at(-1);
  if (!found) return undefined;
  const open = enclosingBracket(text, found.index);
  if (open < 0) return undefined;
  const caller = firstNameBefore(text, open);
  if (!/^(?:it|test|describe)$/.test(caller ?? "")) return [caller, open];
  const table = text.lastIndexOf("each(", open);
  if (table < 0) return undefined;
  const cells = text.slice(table + 4, closingBracket(text, table + 4));
  const known = [...cells.matchAll(/(?:^|[^\w$.])([A-Za-z_$][\w$]*)/g)].map((each) => each[1]);
  return [known.find((each) => importSpecifier(each, text)?.startsWith(".")), table];
}

/** The bracket of the call around a place. */
function enclosingBracket(text, place) {
  for (let at = place - 1, depth = 0; at >= 0; at -= 1) {
    if (/[)\]}]/.test(text[at])) depth += 1;
    else if (/[([{]/.test(text[at]) && depth-- === 0) return at;
  }
  return -1;
}

/** The namespace of a name that vite took out of it: the error says `sub` for `calc.sub`. */
function namespaceOf(name, text) {
  const found = new RegExp(`([\\w$]+)\\.${escaped(name)}\\s*\\(`).exec(text);
  return found ? [found[1], found.index] : undefined;
}

const escaped = (name) => name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

function existingFile(path) {
  const plain = path.replace(/\.([cm]?)js(x?)$/, ".$1ts$2"); // TypeScript code imports `x.js` where the file is `x.ts`
  const tries = [...ENDINGS.map((end) => path + end), plain, ...ENDINGS.slice(1).map((end) => `${path}/index${end}`)];
  return tries.find((each) => statSync(each, { throwIfNoEntry: false })?.isFile());
}
