// Ends a run of the resident before any test is executed, if a cold run might have another result.

import { readFileSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

export const DOUBT = Symbol.for("verdigris.doubt");
export const CACHE = Symbol.for("verdigris.cache");

export default class Doubts {
  onInit(vitest) {
    const why = findDoubt(vitest);
    if (why === undefined) return;
    globalThis[DOUBT] = why;
    throw new Error(why);
  }
}

/** Why a cold run might differ: only separate processes run in the room, and only modules loaded anew are current. */
function findDoubt(vitest) {
  const { config } = vitest;
  if (config.watch) return "it watches";
  for (const { config: each } of [vitest, ...(vitest.projects ?? [])]) {
    if (each.pool !== "forks") return `the pool is ${each.pool}`;
    if (each.poolMatchGlobs?.length) return "some tests have another pool";
    if (each.globalSetup?.length) return "there is a global set-up";
    if (each.browser?.enabled) return "it runs in a browser";
    if (each.typecheck?.enabled) return "types are checked";
    if (each.experimental?.fsModuleCache) return "modules are cached";
    if (each.fsModuleCache && each.fsModuleCachePath !== globalThis[CACHE]) return "modules are cached elsewhere";
  }
  const server = (vitest.vite ?? vitest.server).config;
  return server.configLoader === "native" ? "its configuration is not loaded anew" : findLinkedPackage(server.configFileDependencies);
}

/** The doubt about a package of the worktree that the configuration imports: node loads it once and never again. */
function findLinkedPackage(files) {
  const texts = files.map((file) => readFileSync(file, "utf8"));
  for (const folder of texts.length ? foldersAbove(process.cwd()) : [])
    for (const name of linkedPackages(join(folder, "node_modules")))
      if (texts.some((text) => text.includes(`"${name}`) || text.includes(`'${name}`)))
        return `its configuration imports ${name}, a package of the worktree`;
  return undefined;
}

function* foldersAbove(folder) {
  yield folder;
  if (dirname(folder) !== folder) yield* foldersAbove(dirname(folder));
}

function* linkedPackages(folder, scope = "") {
  let entries = [];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return;
  }
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name.startsWith("@")) yield* linkedPackages(path, `${entry.name}/`);
    else if (entry.isSymbolicLink() && !realpathSync(path).includes("/node_modules/")) yield scope + entry.name;
  }
}
