"""Reports what pytest does, message by message, where the channel is open. PYTEST_DONT_REWRITE"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import unittest
from typing import TYPE_CHECKING, Any

import pytest

from . import code_loading, tracing, uses  # noqa: TID252 - the package has another name when injected
from .channel import CHANNEL, OUTPUT, cap_text  # noqa: TID252 - same
from .code_loading import give_to_pytest  # noqa: TID252 - same
from .failures import Frame, describe, failure, frames_of, own_frames  # noqa: TID252 - same
from .files import OpenedFiles, module_files  # noqa: TID252 - same
from .limit import Limit  # noqa: TID252 - same
from .names import AskedTests, WorktreeNames, code_of, definition  # noqa: TID252 - same
from .preload import compare_environment, shorten_lists_of_names  # noqa: TID252 - same
from .properties import Watch, property_facts  # noqa: TID252 - same
from .tracing_windows import TracingWindows  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import CodeType


_ENVIRON: dict[str, str] = {}
"""The environment variables at the time when pytest loads this plugin."""

code_loading.distrust_rewritten(
    CHANNEL.settings.get("worktree", ""),
    sys.modules.get("_pytest.assertion.rewrite"),
    fresh=CHANNEL.settings.get("fresh", False),
)
give_to_pytest(sys.modules.get("_pytest.assertion.rewrite"), CHANNEL.settings)


def _skip_entry_point_search() -> None:
    """Keeps pytest from reading the entry points of all packages in search of a plugin of our name."""
    manager: Any = pytest.PytestPluginManager
    load = manager.load_setuptools_entrypoints

    def load_others(self: Any, group: str, name: str | None = None) -> Any:
        return 0 if name == __name__ else load(self, group, name=name)

    manager.load_setuptools_entrypoints = load_others


_skip_entry_point_search()


def pytest_addoption(parser: Any) -> None:
    """Declares `cache_dir` if no plugin does: we set it, and a strict project refuses unknown keys."""
    _ENVIRON.update(os.environ)
    shorten_lists_of_names()
    if "cache_dir" not in getattr(parser, "_inidict", {"cache_dir": ()}):
        parser.addini("cache_dir", "not used: there is no cache", default="")


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, None]:
    """Reports a conftest that cannot be imported: pytest ends then, before any other hook is called.

    Before Python 3.12 there is one tracer, and pytest-cov would take it: where we trace, it does not measure.
    """
    if CHANNEL.settings.get("trace"):
        early_config.known_args_namespace.no_cov = True
        early_config.pluginmanager.register(TracingWindows(CHANNEL.settings["worktree"]))
    outcome = yield
    error = outcome.excinfo[1] if outcome.excinfo else None
    if error is not None and type(error).__name__ == "ConftestImportFailure":
        names = WorktreeNames(CHANNEL.settings.get("worktree", ""), str(early_config.rootpath))
        cause = getattr(error, "cause", None) or error.excinfo[1]
        CHANNEL.send("collect-error", path=names.path(str(error.path)), **collect_error(cause))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if CHANNEL.settings.get("single"):
        config.option.dist = config.option.tbstyle = "no"
    told = getattr(config, "workerinput", {}).get("verdigris")
    if told is not None:
        config.pluginmanager.register(Reporter(config, json.loads(told), worker=True), "verdigris-reporter")
    elif CHANNEL.is_open:
        config.pluginmanager.register(Reporter(config, CHANNEL.settings, worker=False), "verdigris-reporter")


class Reporter:
    """The hooks of one process of pytest: of the only one, or of xdist's controller or one of its workers."""

    def __init__(self, config: pytest.Config, settings: dict[str, Any], *, worker: bool) -> None:
        self.config = config
        self.settings = settings
        self.names = WorktreeNames(settings["worktree"], str(config.rootpath))
        self.facts = ItemFacts(self.names)
        self.selection = AskedTests(settings.get("select") or [])
        self.limit = Limit(settings.get("limit"))
        self.worker = worker
        self.tracer = tracing.start(settings, windows=True) if worker else None
        self.ids: dict[str, str] = {}
        self.told = False
        self.said: list[dict[str, Any]] = []
        if worker:
            config.pluginmanager.register(TracingWindows(settings["worktree"]))
            OpenedFiles(settings["worktree"], self._keep_message).start()
        CHANNEL.send(
            "start",
            pytest=pytest.__version__,
            python=".".join(map(str, sys.version_info[:3])),
            rootdir=str(config.rootpath),
            collect_only=bool(config.option.collectonly),
        )

    def pytest_sessionstart(self) -> None:
        """Lets pytest's cache skip names that are not UTF-8: it cannot store them, and would end the run."""
        cache = getattr(self.config, "cache", None)
        if cache is None:
            return
        store = cache.set

        def store_if_possible(key: str, value: object) -> None:
            with contextlib.suppress(UnicodeEncodeError):
                store(key, value)

        cache.set = store_if_possible

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keeps the tests that were asked for.

        Not by pytest's arguments: a name may contain any character, and one missing id would stop the whole
        run.
        """
        if not self.selection.wanted:
            return
        kept: list[pytest.Item] = []
        others: list[pytest.Item] = []
        for item in items:
            (kept if self.selection.keeps(self.names.item(item)) else others).append(item)
        if others:
            self.config.hook.pytest_deselected(items=others)
            items[:] = kept
            CHANNEL.send_ids("others", [self.names.item(item) for item in others])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.ids = {item.nodeid: self.names.item(item) for item in session.items}
        CHANNEL.send_ids("collected", [self.names.item(item) for item in session.items])
        compare_environment(_ENVIRON)
        if uses.RECORDER is not None:
            uses.RECORDER.begin_tests(self.config)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        tracing.TRACER.renew(self._id(item.nodeid))
        if uses.RECORDER is None:
            yield
        else:
            example = type(item).__name__ == "DoctestItem"
            function = None if example else getattr(item, "obj", None)
            uses.RECORDER.begin_test(self._id(item.nodeid), function, example=example)
            yield
            uses.RECORDER.end_test()
            if tracing.TRACER.watch is not None:
                tracing.TRACER.watch.end_test()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, None]:
        if uses.RECORDER is None or fixturedef.scope == "function":
            yield
        else:
            path = (
                self.names.path(str(request.path)) if fixturedef.scope in {"class", "module"} else uses.SHARED
            )
            yield from uses.RECORDER.shared_window(path)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Passes the settings to a worker as JSON: xdist cannot send text that is not UTF-8."""
        node.workerinput["verdigris"] = json.dumps(self.settings)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        if not self.told:
            self.told = True
            CHANNEL.send_ids("collected", [self.names.nodeid(nodeid) for nodeid in ids])

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        call = getattr(report, "call", None)
        if report.failed and call is not None:
            path = getattr(collector, "path", None)
            told = {"path": self.names.path(str(path)) if path else "", **collect_error(call.excinfo.value)}
            report.verdigris = json.dumps(told)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            told = json.loads(getattr(report, "verdigris", "{}"))
            fallback = {
                "path": self.names.nodeid(report.nodeid),
                "error": "",
                "message": str(report.longrepr),
            }
            CHANNEL.send("collect-error", **(told or fallback))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        CHANNEL.send("started", id=self._id(nodeid))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, None]:
        with self.limit.watch():
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        watch = Watch(item, self.names)
        with self.limit.watch():
            yield
        watch.close()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, None]:
        with self.limit.watch():
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        if call.excinfo is not None and self.settings.get("single"):
            item.repr_failure = _empty_text  # type: ignore[method-assign] # nobody reads this text
        outcome = yield
        report = outcome.get_result()
        if call.when == "call" or not report.passed:
            facts = self.facts.of(item, call)
            report.verdigris = json.dumps(facts) if self.worker else facts

    def pytest_runtest_logreport(self, report: Any) -> None:
        facts = getattr(report, "verdigris", None) or {}
        if isinstance(facts, str):
            facts = json.loads(facts)
        if report.failed and not facts.get("failure"):
            facts["failure"] = {"error": "", "message": str(report.longrepr)[:OUTPUT]}
        message: dict[str, Any] = {
            "id": self._id(report.nodeid),
            "phase": report.when,
            "outcome": report.outcome,
            "ms": round(getattr(report, "duration", 0) * 1000, 1),
            **facts,
        }
        if hasattr(report, "wasxfail"):
            message["xfail"] = str(report.wasxfail)
        if not report.passed:
            message["output"] = cap_text("".join(text for _title, text in report.sections))
            if report.skipped and isinstance(report.longrepr, tuple):
                message["why"] = str(report.longrepr[2])[:500]
        CHANNEL.send("test", **message)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if self.settings.get("single") and not self.settings.get("trace"):
            CHANNEL.send("end", code=0)
        if self.worker and self.tracer is not None:
            tracing.report(self.tracer, self._keep_message)
            where = module_files(self.settings) if "sources" in self.settings else None
            told = {"loaded": where, "said": self.said}
            self.config.workeroutput["verdigris"] = json.dumps(told)  # type: ignore[attr-defined] # xdist's

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        told = json.loads(getattr(node, "workeroutput", {}).get("verdigris", "{}"))
        if told.get("loaded"):
            CHANNEL.send("loaded", **told["loaded"])
        for said in told.get("said", ()):
            CHANNEL.send(**said)

    def _keep_message(self, kind: str, **fields: Any) -> None:
        """Keeps a message in a worker, which has no channel; the controller sends it when the worker ends."""
        self.said.append({"kind": kind, **fields})

    def _id(self, nodeid: str) -> str:
        return self.ids.get(nodeid) or self.names.nodeid(nodeid)


def _empty_text(*_: object, **__: object) -> str:
    return ""


_UNITTEST_SETUP = {
    "setUp": "setup",
    "asyncSetUp": "setup",
    "tearDown": "teardown",
    "asyncTearDown": "teardown",
}


class ItemFacts:
    """Where a test is defined, how it was tried, and how it failed."""

    def __init__(self, names: WorktreeNames) -> None:
        self.names = names

    def of(self, item: pytest.Item, call: pytest.CallInfo[None]) -> dict[str, Any]:
        code = code_of(getattr(item, "obj", None))
        name = getattr(item, "originalname", None) or item.name
        facts = definition(self.names, str(item.path), (item.location[1] or 0) + 1, name, code)
        facts.update(property_facts(item))
        if call.excinfo is not None and not call.excinfo.errisinstance(
            (pytest.skip.Exception, unittest.SkipTest)
        ):
            frames = own_frames(frames_of(call.excinfo.tb), code)
            facts["failure"] = failure(call.excinfo.value, frames, self.names)
            facts.update(_unittest_phase(item, call, frames, code))
        return facts


def collect_error(error: BaseException) -> dict[str, Any]:
    """Describes an error of collection; if pytest wrapped an import's error, the wrapped one."""
    if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        error = error.__cause__
    told = describe(error)
    return {key: told[key] for key in ("error", "message")}


def _unittest_phase(
    item: pytest.Item, call: pytest.CallInfo[None], frames: list[Frame], code: CodeType | None
) -> dict[str, Any]:
    """Says in which phase a TestCase failed: under pytest its setUp and tearDown run inside the call."""
    if call.when != "call" or not issubclass(getattr(item, "cls", None) or object, unittest.TestCase):
        return {}
    if any(frame.frame.f_code is code for frame in frames):
        return {}
    names = (frame.frame.f_code.co_name for frame in frames)
    phase = next((_UNITTEST_SETUP[name] for name in names if name in _UNITTEST_SETUP), None)
    return {} if phase is None else {"phase": phase, "more": True}
