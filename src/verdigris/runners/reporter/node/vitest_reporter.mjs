// Tells what vitest (2 and later) did with every test, from its tasks: they are the same in all its versions.

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
    for (const file of files ?? []) this.#collected(file);
  }

  onTestModuleCollected(module) {
    this.#collected(module.task);
  }

  onTestCaseReady(test) {
    this.#started(test.task);
  }

  onTestCaseResult(test) {
    this.#say("left", { file: test.task.file.filepath, names: namesOf(test.task) });
  }

  onTaskUpdate(packs) {
    for (const [id, result] of packs) {
      const task = result?.state === "run" && this.#vitest.state.idMap.get(id);
      if (task && task.type !== "suite") this.#started(task);
    }
  }

  onUserConsoleLog(log) {
    const before = this.#output.get(log.taskId) ?? "";
    if (before.length < CONSOLE) this.#output.set(log.taskId, (before + log.content).slice(0, CONSOLE));
  }

  onTestModuleEnd(module) {
    this.#finished(module.task);
  }

  onFinished(files, errors) {
    this.#end(files ?? [], errors ?? []);
  }

  onTestRunEnd(modules, errors) {
    this.#end(modules.map((module) => module.task), errors);
  }

  #collected(file) {
    if (this.#known.has(file)) return;
    this.#known.add(file);
    const tests = [...within(file, [])].map(({ names }) => names);
    this.#say("collected", { file: file.filepath, project: file.projectName ?? "", tests });
  }

  #started(task) {
    if (this.#told.has(task)) return;
    this.#told.add(task);
    this.#say("started", { file: task.file.filepath, names: namesOf(task) });
  }

  #finished(file) {
    if (this.#told.has(file)) return;
    this.#told.add(file);
    this.#collected(file);
    const path = file.filepath;
    const error = file.result?.errors?.length && !hookFault(file);
    if (error) this.#say("file-error", { file: path, errors: file.result.errors.map(channel.told) });
    for (const { task, names, fault } of within(file, [], hookFault(file))) {
      const { errors = [], ...facts } = judged(task, fault);
      this.#say("test", {
        file: path,
        names,
        ...facts,
        errors: errors.map((each) => ({ ...channel.told(each), subject: missing.subject(each, path) })),
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
    for (const file of files) this.#finished(file);
    for (const error of errors) {
      const told = { ...channel.told(error), type: error.type };
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

function* within(suite, names, fault) {
  for (const task of suite.tasks) {
    const path = [...names, task.name];
    if (task.type === "suite") yield* within(task, path, hookFault(task) ?? fault);
    else yield { task, names: path, fault };
  }
}

/** What a failed beforeAll or afterAll means for the tests below: vitest only says it of the suite. */
function hookFault(suite) {
  const { errors, hooks = {} } = suite.result ?? {};
  if (!errors?.length) return undefined;
  if (isAt(hooks.beforeAll)) return { phase: "setup", errors };
  return isAt(hooks.afterAll) ? { phase: "teardown", errors } : undefined;
}

const isAt = (hook) => hook !== undefined && hook !== "pass";

function judged(task, fault) {
  const { state, errors = [], hooks = {} } = task.result ?? {};
  if (fault?.phase === "setup" && state !== "fail") return { state: "fail", ...fault };
  if (fault?.phase === "teardown" && state === "pass") return { state: "fail", ...fault };
  if (state === "pass") return { state };
  if (state === "fail") {
    const teardown = isAt(hooks.afterEach) && errors.length === 1;
    return { state, errors, phase: isAt(hooks.beforeEach) ? "setup" : teardown ? "teardown" : "call" };
  }
  const left = task.mode === "skip" || task.mode === "todo";
  return { state: left ? task.mode : state === "skip" ? "skip" : "none", why: task.result?.note };
}
