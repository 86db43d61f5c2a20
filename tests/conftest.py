"""Where continuous integration runs, everything that tests need is installed: there, a skipped test is a failed one."""

import os
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    golden = item.path.name.startswith("test_golden")
    if report.skipped and os.environ.get("CI") == "true" and not golden and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} may not be skipped where CI=true: {report.longrepr[-1]}"
    return report
