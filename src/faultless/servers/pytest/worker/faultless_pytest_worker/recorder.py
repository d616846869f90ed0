"""The plugin: what pytest says through its hooks, passed on. PYTEST_DONT_REWRITE"""

from __future__ import annotations

import os
import platform
import time
import warnings
from typing import Any, Callable, Generator

import pytest

from .channel import Channel, Reporter, Stacks, choose_stack_signal
from .describing import (
    bound,
    describe_error,
    describe_items,
    describe_report,
    explain_skip,
    guess_error,
    name_node,
    relate,
)

_CHUNK = 500
_WARNINGS_AT_MOST = 200
_BEGINNINGS = {
    "_pytest": ("_session_start", "_sessionstarttime", "suite_start", "suite_start_time"),  # by its age
    "pytest_html": ("_suite_start_time",),
    "pytest_jsonreport": ("_start_time",),
}
"""Where plugins of these packages keep when the session began."""


def _make_renamer(rootdir: str, cwd: str) -> Callable[[str], str]:
    """Node ids are relative to pytest's rootdir; callers need them relative to where pytest was started."""
    join, relate_path = os.path.join, os.path.relpath
    known: dict[str, str] = {"": ""}

    def rename(nodeid: object) -> str:
        path, colons, names = str(nodeid).partition("::")
        if path not in known:
            known[path] = relate_path(join(rootdir, path), cwd)
        return known[path] + colons + names

    return rename


class Recorder:
    """One instance per session."""

    def __init__(self, settings: dict[str, Any], watch: Any, can_be_held: bool) -> None:
        self._settings = settings
        self._watch = watch
        self._reporter = Reporter(Channel(settings["report"], settings["report_path"]))
        self._stacks = Stacks(Channel(settings["stacks"], settings["stacks_path"]))
        self._clock, self._started = time.perf_counter, time.perf_counter()
        self._now, self._began = time.time, time.time()
        self._root = os.getcwd()
        self._rename: Callable[[str], str] = str
        self._warnings = 0
        self._is_planned = False
        self._show_capture = "all"
        self._open: set[str] = set()
        self._held: dict[tuple[str, str | None], list[tuple[str, float]]] = {}
        self._exceptions: dict[str, tuple[BaseException, str]] = {}
        self._stacks.arm()
        self._reporter.send(
            "hello",
            signal=int(choose_stack_signal()),
            python=platform.python_version(),
            pytest=pytest.__version__,
            can_be_held=can_be_held,
        )

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self) -> Generator[None, Any, None]:
        outcome = yield
        failure: Any = outcome.excinfo[1] if outcome.excinfo else None
        if type(failure).__name__ == "ConftestImportFailure":
            cause = getattr(failure, "cause", None) or failure.excinfo[1]
            self._reporter.send("collection_error", **describe_error(cause, str(failure.path), self._root))

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        config = session.config
        self._started, self._began = self._clock(), self._now()
        self._show_capture = config.getoption("showcapture", "all")
        if self._settings["text"] == "tail" and config.option.tbstyle == "auto":  # no wish of the project's
            config.option.tbstyle = "short"
        if str(config.rootpath) != self._root:
            self._rename = _make_renamer(str(config.rootpath), self._root)

    # ---- collection

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._reporter.send("deselected", count=len(items))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        outcome = yield
        if outcome.excinfo:
            return
        call = getattr(outcome.get_result(), "call", None)
        if call is not None and call.excinfo is not None:
            self._exceptions[str(collector.nodeid)] = call.excinfo.value, str(getattr(collector, "path", ""))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        exception, path = self._exceptions.pop(str(report.nodeid), (None, ""))
        if report.failed:
            error = (
                describe_error(exception, path, self._root)
                if exception is not None
                else guess_error(report.longreprtext, self._rename(report.nodeid))
            )
            self._reporter.send("collection_error", **error)
        elif report.skipped:
            reason = explain_skip(report.longrepr)
            self._reporter.send("collection_skip", test=self._rename(report.nodeid), reason=reason)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection_finish(self, session: pytest.Session) -> Generator[None, Any, None]:
        if self._settings["last_failed"]:
            _keep_last_failed(session)
        yield
        if self._settings["mode"] == "discover":
            self._send_in_chunks(describe_items(session.items, self._rename, self._root))
        else:
            self._send_in_chunks([self._rename(item.nodeid) for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        each = node.config.getoption("dist", "no") == "each"
        if each or not self._is_planned:
            self._is_planned = True
            self._send_in_chunks([self._rename(name) for name in ids])

    def _send_in_chunks(self, tests: list[Any]) -> None:
        for start in range(0, len(tests), _CHUNK):
            self._reporter.send("planned", tests=tests[start : start + _CHUNK])
        self._reporter.send("planned", tests=[], complete=True)

    # ---- a run that began before it was asked

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        if self._watch is None or not config.pluginmanager.has_plugin("timeout"):
            return
        try:
            given = config.getoption("session_timeout", None) or config.getini("session_timeout")
        except (KeyError, ValueError):  # a plugin that does not know it
            return
        if given:  # pytest-timeout would count the wait
            self._watch.pause("a clock for the whole session is started")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        if self._watch is not None:
            self._watch.pause("the first test")

    def _count_held(self, since: float) -> float:
        """Seconds that the run was held, as far as that was after this moment."""
        watch = self._watch
        return 0.0 if watch is None or watch.held_at < since else float(watch.held_seconds)

    def _leave_out_wait(self, config: pytest.Config) -> None:
        """So that pytest's last line, its JUnit file and plugins' reports tell the time of the run alone."""
        for plugin in config.pluginmanager.get_plugins():
            for name in _BEGINNINGS.get(type(plugin).__module__.partition(".")[0], ()):
                begun: Any = getattr(plugin, name, None)
                if isinstance(begun, float):
                    setattr(plugin, name, begun + self._count_held(begun))
                elif hasattr(begun, "perf_count"):
                    held = self._count_held(begun.time)
                    shifted = type(begun)()  # frozen, and made of the clock only
                    vars(shifted).update(time=begun.time + held, perf_count=begun.perf_count + held)
                    setattr(plugin, name, shifted)

    # ---- running

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._stacks.arm()
        name = self._rename(nodeid)
        self._open.add(name)
        self._reporter.send_started(name)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Most tests pass in all phases; they are told in one event, when they are over."""
        name, node = self._rename(report.nodeid), name_node(report)
        fields = vars(report)
        is_plain = report.outcome == "passed" and "wasxfail" not in fields and "context" not in fields
        is_last = report.when == "teardown" and "context" not in fields
        held = self._held.setdefault((name, node), [])
        if is_plain and not is_last:
            held.append((report.when, report.duration))
            return
        del self._held[name, node]
        if is_last:
            self._open.discard(name)
        if is_plain and [when for when, _ in held] == ["setup", "call"]:
            self._reporter.defer_passed(name, node, [held[0][1], held[1][1], report.duration])
            return
        self._release(name, node, held)
        details = {} if is_plain else describe_report(report, self._root, self._show_capture)
        self._send_phase(name, node, report.when, report.outcome, report.duration, **details)

    def _release(self, name: str, node: str | None, held: list[tuple[str, float]]) -> None:
        for when, duration in held:
            self._send_phase(name, node, when, "passed", duration)

    def _send_phase(
        self, name: str, node: str | None, when: str, outcome: str, duration: float, **details: Any
    ) -> None:
        fields = {
            "test": name,
            "node": node,
            "phase": when,
            "outcome": outcome,
            "duration": round(duration, 6),
        }
        self._reporter.send("phase", **fields, **details)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        name = self._rename(nodeid)
        if name in self._open:  # a plugin that reports no teardown
            self._open.discard(name)
            self._release_all()
            self._reporter.send("finished", test=name)

    def _release_all(self) -> None:
        for (name, node), held in self._held.items():
            self._release(name, node, held)
        self._held.clear()

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str
    ) -> None:
        self._warnings += 1
        if self._warnings <= _WARNINGS_AT_MOST:
            self._reporter.defer(
                "warning",
                category=warning_message.category.__name__,
                message=str(warning_message.message),
                file=relate(warning_message.filename, self._root),
                line=warning_message.lineno,
                when=when,
                test=self._rename(nodeid),
            )

    # ---- the end

    def pytest_internalerror(self, excrepr: object) -> None:
        self._release_all()
        self._reporter.send("internal_error", text=bound(str(excrepr)))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._release_all()
        self._reporter.send("interrupted", reason="{}: {}".format(excinfo.typename, excinfo.value))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, None]:
        """Marks where the run ends and the summary begins, and keeps out what the rows say already."""
        option = terminalreporter.config.option
        style, characters = option.tbstyle, terminalreporter.reportchars
        if self._settings["text"] != "whole":
            told = "w" if self._settings["text"] == "lean" and "w" in characters else ""
            option.tbstyle, terminalreporter.reportchars = "no", told
            terminalreporter.ensure_newline()
            terminalreporter.write_line(self._settings["mark"])
        yield
        option.tbstyle, terminalreporter.reportchars = style, characters

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, None]:
        if self._watch is not None:
            self._watch.pause("the end of a session without tests")
            self._leave_out_wait(session.config)
        yield
        distributed = session.config.pluginmanager.get_plugin("dsession")
        stop = session.shouldfail or getattr(distributed, "shouldstop", False) or session.shouldstop
        self._reporter.send(
            "finish",
            stop=str(stop) if stop else None,
            # A project may stop the clock, but not the time for which the run was held.
            duration=max(0.0, self._clock() - self._started - self._count_held(self._began)),
        )


def _keep_last_failed(session: pytest.Session) -> None:
    """Only what failed last; pytest itself runs the whole selection when none of that is in it."""
    plugin = session.config.pluginmanager.get_plugin("lfplugin")
    known = {str(nodeid) for nodeid in getattr(plugin, "lastfailed", ())}
    dropped = [item for item in session.items if str(item.nodeid) not in known]
    if dropped:
        session.items[:] = [item for item in session.items if str(item.nodeid) in known]
        session.config.hook.pytest_deselected(items=dropped)
