"""A plain pytest plugin that writes down what pytest itself calls each report; nothing of faultless in it."""

import json
import os
from pathlib import Path
from typing import Any


class Recorder:
    def __init__(self, config: Any) -> None:
        self.config = config
        self.records: list[list[str]] = []
        self.warnings: list[list[str]] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        status = self.config.hook.pytest_report_teststatus(report=report, config=self.config)
        if status[0]:
            self.records.append([str(report.nodeid), status[0]])

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed or report.skipped:
            self.records.append([str(report.nodeid), "error" if report.failed else "skipped"])

    def pytest_warning_recorded(self, warning_message: Any, when: str) -> None:
        self.warnings.append([warning_message.category.__name__, str(warning_message.message), when])

    def pytest_unconfigure(self) -> None:
        Path(os.environ["PLAIN_RECORD"]).write_text(json.dumps([self.records, self.warnings]))


def pytest_configure(config: Any) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config))
