"""What all tests share."""

import shutil

import pytest


@pytest.fixture(autouse=True)
def _own_caches(tmp_path_factory, monkeypatch):
    """No test knows what another one, or the user, has checked before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium needs Python 3.10")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chromium = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield chromium
    chromium.quit()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page, and asserts that it has written nothing to the console."""

    def opened(page):
        file = tmp_path / "report.html"
        file.write_text(page, "utf-8")
        browser.get(file.as_uri())
        return browser

    yield opened
    assert browser.get_log("browser") == []
