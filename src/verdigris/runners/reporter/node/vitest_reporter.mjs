// Reports what vitest (2 and later) did with every test. It reads the tasks, which are the same in all versions.

import channel from "./channel.cjs";
import missing from "./subject.cjs";

const CONSOLE = 20000;

export default class VerdigrisReporter {
  #say = channel.open();
  #known = new WeakSet();
  #told = new WeakSet();
  #output = new Map();
  #ended = false;
  #vitest;

  onInit(vitest) {
    this.#vitest = vitest;
    for (const { config } of [vitest, ...(vitest.projects ?? [])]) {
      config.includeTaskLocation = true;
      config.snapshotOptions.updateSnapshot = "none";
    }
    this.#say("start", { tool: "vitest", version: vitest.version, cwd: process.cwd() });
  }

  onCollected(files) {
    for (const file of files ?? []) this.#reportCollected(file);
  }

  onTestModuleCollected(module) {
    this.#reportCollected(module.task);
  }

  onTestCaseReady(test) {
    this.#reportStarted(test.task);
  }

  onTestCaseResult(test) {
    this.#say("left", { file: test.task.file.filepath, names: namesOf(test.task) });
  }

  onTaskUpdate(packs) {
    for (const [id, result] of packs) {
      const task = result?.state === "run" && this.#vitest.state.idMap.get(id);
      if (task && task.type !== "suite") this.#reportStarted(task);
    }
  }

  onUserConsoleLog(log) {
    const before = this.#output.get(log.taskId) ?? "";
    if (before.length < CONSOLE) this.#output.set(log.taskId, (before + log.content).slice(0, CONSOLE));
  }

  onTestModuleEnd(module) {
    this.#reportFile(module.task);
  }

  onFinished(files, errors) {
    this.#end(files ?? [], errors ?? []);
  }

  onTestRunEnd(modules, errors) {
    this.#end(modules.map((module) => module.task), errors);
  }

  #reportCollected(file) {
    if (this.#known.has(file)) return;
    this.#known.add(file);
    const tests = [...testsBelow(file, [])].map(({ names }) => names);
    this.#say("collected", { file: file.filepath, project: file.projectName ?? "", tests });
  }

  #reportStarted(task) {
    if (this.#told.has(task)) return;
    this.#told.add(task);
    this.#say("started", { file: task.file.filepath, names: namesOf(task) });
  }

  #reportFile(file) {
    if (this.#told.has(file)) return;
    this.#told.add(file);
    this.#reportCollected(file);
    const path = file.filepath;
    const error = file.result?.errors?.length && !hookFault(file);
    if (error) this.#say("file-error", { file: path, errors: file.result.errors.map(channel.describe) });
    for (const { task, names, fault } of testsBelow(file, [], hookFault(file))) {
      const { errors = [], ...facts } = outcomeOf(task, fault);
      this.#say("test", {
        file: path,
        names,
        ...facts,
        errors: errors.map((each) => ({ ...channel.describe(each), subject: missing.subject(each, path) })),
        ms: task.result?.duration ?? 0,
        line: task.location?.line ?? 0,
        xfail: Boolean(task.fails),
        retries: task.result?.retryCount ?? 0,
        output: this.#output.get(task.id),
      });
    }
  }

  #end(files, errors) {
    if (this.#ended) return;
    this.#ended = true;
    for (const file of files) this.#reportFile(file);
    for (const error of errors) {
      const told = { ...channel.describe(error), type: error.type };
      this.#say("unhandled", { file: error.VITEST_TEST_PATH ?? "", errors: [told] });
    }
    this.#say("end", {});
  }
}

function namesOf(task) {
  const names = [];
  for (let at = task; at && at !== at.file; at = at.suite) names.unshift(at.name);
  return names;
}

function* testsBelow(suite, names, fault) {
  for (const task of suite.tasks) {
    const path = [...names, task.name];
    if (task.type === "suite") yield* testsBelow(task, path, hookFault(task) ?? fault);
    else yield { task, names: path, fault };
  }
}

/** The failure of a beforeAll or afterAll, for the tests below: vitest reports it only for the suite. */
function hookFault(suite) {
  const { errors, hooks = {} } = suite.result ?? {};
  if (!errors?.length) return undefined;
  if (didNotPass(hooks.beforeAll)) return { phase: "setup", errors };
  return didNotPass(hooks.afterAll) ? { phase: "teardown", errors } : undefined;
}

const didNotPass = (hook) => hook !== undefined && hook !== "pass";

function outcomeOf(task, fault) {
  const { state, errors = [], hooks = {} } = task.result ?? {};
  if (fault?.phase === "setup" && state !== "fail") return { state: "fail", ...fault };
  if (fault?.phase === "teardown" && state === "pass") return { state: "fail", ...fault };
  if (state === "pass") return { state };
  if (state === "fail") {
    const teardown = didNotPass(hooks.afterEach) && errors.length === 1;
    return { state, errors, phase: didNotPass(hooks.beforeEach) ? "setup" : teardown ? "teardown" : "call" };
  }
  const left = task.mode === "skip" || task.mode === "todo";
  return { state: left ? task.mode : state === "skip" ? "skip" : "none", why: task.result?.note };
}
