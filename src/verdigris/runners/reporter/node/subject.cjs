"use strict";
// Which project file defines the object that a test found something missing on: read from the test's own imports.

const { readFileSync, statSync } = require("node:fs");
const { dirname, resolve } = require("node:path");

const LACKING = /(?:^|[\s(.])([\w$]+)(?:\.[\w$]+)*\)? is not a (?:function|constructor)/;
const ENDINGS = ["", ".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];
const STEPS = 3;

exports.subject = function subject(error, file) {
  if (!error || error.name !== "TypeError" || typeof error.message !== "string") return undefined;
  const found = LACKING.exec(error.message.replace(/\(0\s*,\s*[\w$]+\.([\w$]+)\)/, "$1"));
  if (!found) return undefined;
  try {
    return follow(found[1], readFileSync(file, "utf8"), dirname(file));
  } catch {
    return undefined;
  }
};

function follow(first, text, folder) {
  for (let name = first, step = 0; name && step < STEPS; step += 1) {
    const specifier = imported(name, text);
    if (specifier !== undefined) return specifier.startsWith(".") ? located(resolve(folder, specifier)) : undefined;
    name = made(name, text) ?? owner(name, text);
  }
  return undefined;
}

function imported(name, text) {
  const forms = [
    /\bimport\s+([^"';]+?)\s+from\s*["']([^"']+)["']/g,
    /\b(?:const|let|var)\s+([\w$]+|\{[^}]*\})\s*=\s*(?:await\s+import|require)\(\s*["']([^"']+)["']\s*\)/g,
  ];
  const bound = new RegExp(`(?:^|[^\\w$])${name.replace(/\$/g, "\\$")}\\s*(?:[,}]|$)`);
  for (const form of forms) {
    for (const [, names, specifier] of text.matchAll(form)) if (bound.test(names.trim())) return specifier;
  }
  return undefined;
}

function made(name, text) {
  const assigned = new RegExp(`(?:^|[^\\w$.])${name.replace(/\$/g, "\\$")}\\s*=\\s*(?:await\\s+)?(?:new\\s+)?([\\w$]+)`);
  return assigned.exec(text)?.[1];
}

/** Of a name that vite took out of a namespace: to the error `calc.sub` is only `sub`. */
function owner(name, text) {
  return new RegExp(`([\\w$]+)\\.${name.replace(/\$/g, "\\$")}\\s*\\(`).exec(text)?.[1];
}

function located(path) {
  const plain = path.replace(/\.([cm]?)js(x?)$/, ".$1ts$2"); // TypeScript names the file that it will become
  const tries = [...ENDINGS.map((end) => path + end), plain, ...ENDINGS.slice(1).map((end) => `${path}/index${end}`)];
  return tries.find((each) => statSync(each, { throwIfNoEntry: false })?.isFile());
}
