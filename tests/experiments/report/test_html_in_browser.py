"""The HTML report in headless Chromium: nothing fails, everything is seen, tables sort.

Skipped where Chromium or its driver is not installed. Screenshots are kept in build/test-artifacts.
"""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ssdgym.experiments.report.files import write_html_report
from tests.experiments.report.test_html import real_grid

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

WIDE, NARROW = 1200, 390

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("Chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # A proxy from the environment would stand between selenium and the driver on this machine.
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(
            "NO_PROXY", ",".join(filter(None, (os.environ.get("NO_PROXY"), "localhost,127.0.0.1")))
        )
        found = webdriver.Chrome(options=options, service=Service(driver))
        yield found
        found.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    return write_html_report(real_grid(), folder / "report.html", folder)


def show(browser: Chrome, report: Path, width: int = WIDE, theme: str = "light") -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    )
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == NARROW}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(report.as_uri())


def column(browser: Chrome, table: int, heading: str) -> list[str]:
    """The first line of every cell under a heading, from top to bottom."""
    return browser.execute_script(
        """const table = document.querySelectorAll("table")[arguments[0]];
        const index = [...table.tHead.rows[0].cells].findIndex(cell => cell.textContent === arguments[1]);
        return [...table.tBodies[0].rows].map(row => row.cells[index].textContent.split(" [")[0]);""",
        table,
        heading,
    )


def sort_state(browser: Chrome, table: int) -> dict[str, str]:
    return browser.execute_script(
        """return Object.fromEntries([...document.querySelectorAll("table")[arguments[0]].tHead.rows[0].cells]
        .map(cell => [cell.textContent, cell.getAttribute("aria-sort")]));""",
        table,
    )


def button(browser: Chrome, table: int, heading: str) -> object:
    buttons = browser.find_elements("css selector", "table")[table].find_elements("css selector", "th button")
    (found,) = [one for one in buttons if one.text == heading]
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_page__shows_every_figure_without_an_error_and_fits_its_width(
    browser: Chrome, report: Path, width: int, theme: str, request: pytest.FixtureRequest
) -> None:
    show(browser, report, width, theme)
    figures = browser.find_elements("css selector", "figure svg")
    assert len(figures) == 2
    for figure in figures:
        assert figure.is_displayed() and figure.size["width"] > 300 and figure.size["height"] > 100
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in background.removeprefix("rgb(").rstrip(")").split(",")) / 3
    assert (brightness > 200) if theme == "light" else (brightness < 60)
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []
    _keep_screenshot(
        browser, request.config.rootpath / "build" / "test-artifacts", f"report-{width}-{theme}.png"
    )


def _keep_screenshot(browser: Chrome, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
    (folder / name).write_bytes(base64.b64decode(shot["data"]))


def test_table__sorts_numbers_by_value_on_click_and_back_on_the_next(browser: Chrome, report: Path) -> None:
    show(browser, report)
    button(browser, 1, "write p99.9 (µs)").click()  # type: ignore[attr-defined]
    rising = [float(text.replace(",", "")) for text in column(browser, 1, "write p99.9 (µs)")]
    assert len(rising) == 3 and rising == sorted(rising)
    assert sort_state(browser, 1)["write p99.9 (µs)"] == "ascending"
    button(browser, 1, "write p99.9 (µs)").click()  # type: ignore[attr-defined]
    falling = [float(text.replace(",", "")) for text in column(browser, 1, "write p99.9 (µs)")]
    assert falling == rising[::-1]
    assert sort_state(browser, 1)["write p99.9 (µs)"] == "descending"
    assert sort_state(browser, 1)["policy"] == "none"
    assert browser.get_log("browser") == []


def test_table__sorts_words_by_alphabet_with_the_keyboard(browser: Chrome, report: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    show(browser, report)
    before = column(browser, 0, "policy")
    assert before == ["greedy", "cost_benefit", "fifo"]  # by write amplification
    button(browser, 0, "policy").send_keys(Keys.ENTER)  # type: ignore[attr-defined]
    assert column(browser, 0, "policy") == ["cost_benefit", "fifo", "greedy"]
    assert browser.execute_script("return document.activeElement.textContent") == "policy"


def test_table__other_tables_keep_their_order(browser: Chrome, report: Path) -> None:
    show(browser, report)
    before = column(browser, 1, "policy")
    button(browser, 0, "policy").click()  # type: ignore[attr-defined]
    assert column(browser, 1, "policy") == before


def test_page__without_scripts_has_its_tables_and_figures(browser: Chrome, report: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(browser, report)
        tables = browser.find_elements("css selector", "table")
        assert len(tables) == 4 and all(table.is_displayed() for table in tables)
        assert "cost_benefit" in tables[0].text
        assert browser.find_elements("css selector", "th button") == []
        assert all(figure.is_displayed() for figure in browser.find_elements("css selector", "figure svg"))
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
