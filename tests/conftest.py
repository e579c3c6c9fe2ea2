"""What holds for every test session: nothing is skipped, a run that claims to be complete leaves nothing out, no provider is asked."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# What hypothesis draws is the same on every machine and every day, and however slow a machine is, no example is too slow.
# `--hypothesis-profile explore` draws anew.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", _UNTIMED, derandomize=True)
settings.register_profile("explore", _UNTIMED, derandomize=False)
settings.load_profile("steady")

collect_ignore = ["benchmarks"]  # they measure, and need packages that the project does not


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--complete", action="store_true", help="fail when a test was deselected: the run claims to have run them all")


KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY")


def pytest_configure(config: pytest.Config) -> None:
    for key in KEYS:  # a lesson that finds one would ask a real model, and have somebody pay for it
        os.environ.pop(key, None)
    # Registered by hand, because a conftest's own report hooks are only called for tests below its folder, and lessons lie elsewhere.
    config.pluginmanager.register(NothingLeftOut(complete=config.getoption("--complete")), "nothing-left-out")


class NothingLeftOut:
    """Turns a session with a skipped or xfailed test (with ``--complete`` also a deselected one) into a failed session."""

    def __init__(self, *, complete: bool) -> None:
        self._complete = complete
        self._left_out: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._left_out.append(f"skipped at collection: {report.nodeid}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "wasxfail"):
            self._left_out.append(f"xfail: {report.nodeid}")
        elif report.skipped:
            self._left_out.append(f"skipped: {report.nodeid}")

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        if self._complete:
            self._left_out += [f"deselected: {item.nodeid}" for item in items]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._left_out and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._left_out:
            terminalreporter.section("left out, which counts as a failure", red=True)
            for line in self._left_out:
                terminalreporter.write_line(line)
