// Ends a run of the resident before anything of it was executed, where it might come out otherwise than a cold one.

import { readFileSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

export const DOUBT = Symbol.for("verdigris.doubt");
export const CACHE = Symbol.for("verdigris.cache");

export default class Doubts {
  onInit(vitest) {
    const why = doubt(vitest);
    if (why === undefined) return;
    globalThis[DOUBT] = why;
    throw new Error(why);
  }
}

/** Only what runs in a process of its own runs in the room, and only what is loaded anew is as it is now. */
function doubt(vitest) {
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
  return server.configLoader === "native" ? "its configuration is not loaded anew" : linked(server.configFileDependencies);
}

/** A package of the worktree that the configuration imports is loaded once, and stays as it was then. */
function linked(files) {
  const texts = files.map((file) => readFileSync(file, "utf8"));
  for (const folder of texts.length ? upwards(process.cwd()) : [])
    for (const name of packages(join(folder, "node_modules")))
      if (texts.some((text) => text.includes(`"${name}`) || text.includes(`'${name}`)))
        return `its configuration imports ${name}, a package of the worktree`;
  return undefined;
}

function* upwards(folder) {
  yield folder;
  if (dirname(folder) !== folder) yield* upwards(dirname(folder));
}

function* packages(folder, scope = "") {
  let entries = [];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return;
  }
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name.startsWith("@")) yield* packages(path, `${entry.name}/`);
    else if (entry.isSymbolicLink() && !realpathSync(path).includes("/node_modules/")) yield scope + entry.name;
  }
}
