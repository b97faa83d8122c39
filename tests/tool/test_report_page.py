"""The page of ``--report``: what it holds, and how it behaves in a browser."""

import json
import re
import shutil

import pytest

from npu_migrate import rules
from npu_migrate.plan import Finding, Status
from npu_migrate.reports import Run
from npu_migrate.reports.html import render
from npu_migrate.results import FileResult
from npu_migrate.sources import SourceError

RULES = rules.load()
HOSTILE = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>"
RIGHT_TO_LEFT = "\u202e"


def finding(line, code="NPU101", path="a.py", status=Status.MIGRATED, **more):
    return Finding(code, "name", path, line, 1, "s", status, more.pop("message", "what"), **more)


def page(*results, **more):
    return render(Run(results, **more), RULES)


def data(html, name):
    return json.loads(re.search(f'id="{name}">(.*?)</script>', html, re.DOTALL).group(1))


def lines(*changed):
    text = [f"line{number}" for number in range(1, 41)]
    for number in changed:
        text[number - 1] = "changed"
    return "\n".join(text).encode() + b"\n"


def test_each_hunk_carries_its_findings():
    result = FileResult("a.py", lines(), lines(5, 30), (finding(5), finding(30, "NPU103")))
    first, second = data(page(result), "diff-0")
    assert (first["findings"], second["findings"]) == ([0], [1])
    assert [row[0] for row in first["rows"]] == list(range(2, 9))
    assert first["rows"][3] == [5, "line5", 5, "changed"]
    assert first["rows"][0] == [2, "line2", 2]


def test_what_is_left_is_shown_with_its_line_though_nothing_changes():
    left = finding(20, status=Status.MANUAL, remedy="do this")
    (hunk,) = data(page(FileResult("a.py", lines(), lines(), (left,))), "diff-0")
    assert hunk["findings"] == [0]
    assert [20, "line20", 20] in hunk["rows"]


def test_a_line_that_is_added_or_goes_has_an_empty_other_side():
    (hunk,) = data(page(FileResult("a.py", b"a\nb\n", b"x\na\n")), "diff-0")
    assert hunk["rows"][:3] == [[0, "", 1, "x"], [1, "a", 2], [2, "b", 0, ""]]


def test_lines_count_as_python_counts_them():
    source = b"x = '\x0c'\r\ny = 1\r\n"
    result = FileResult("a.py", source, source.replace(b"1", b"2"), (finding(2),))
    (hunk,) = data(page(result), "diff-0")
    assert hunk["rows"][1][0] == 2 and hunk["findings"] == [0]


def test_nothing_found_is_still_a_page():
    html = page(FileResult("a.py", b"x\n", b"x\n"))
    assert "Nothing was found." in html and html.endswith("</html>\n")


def test_files_that_could_not_be_done_are_named():
    html = page(problems=(SourceError("b.py", "not UTF-8", "save it", 3),))
    assert "<code>b.py:3</code> not UTF-8; save it" in html


def test_the_page_needs_nothing_else():
    html = page(FileResult("a.py", lines(), lines(5), (finding(5),)))
    assert not re.search(r"<(link|script|img|iframe)[^>]*(src|href)=", html)
    assert "url(" not in html and "@import" not in html


@pytest.fixture(scope="module")
def browser():
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
    def opened(html):
        file = tmp_path / "report.html"
        file.write_text(html, "utf-8")
        browser.get(file.as_uri())
        return browser

    yield opened
    assert browser.get_log("browser") == []


def rows(browser, table):
    return browser.execute_script(
        f"return [...document.querySelectorAll('#{table} tbody tr')].map(row => row.innerText)"
    )


def run_script(browser, script):
    return browser.execute_script(script)


THREE = (
    FileResult(
        "b.py", lines(), lines(5), (finding(5, path="b.py"), finding(9, "NPU203", path="b.py"))
    ),
    FileResult("a.py", lines(), lines(), (finding(7, status=Status.MANUAL, remedy="do this"),)),
)


def test_the_findings_are_filtered(opened):
    browser = opened(page(*THREE))
    assert len(rows(browser, "finding-table")) == 3
    field = browser.find_element("name", "text")
    field.send_keys("a.py do")
    assert len(rows(browser, "finding-table")) == 1
    field.clear()
    field.send_keys(" ")
    browser.find_element("css selector", "[name=status][value='0']").click()
    (row,) = rows(browser, "finding-table")
    assert row.startswith("manual")
    browser.find_element("css selector", "[name=family]").send_keys("distribution")
    assert rows(browser, "finding-table") == []
    assert browser.find_element("tag name", "output").text == "0 of 3"


def test_the_files_are_sorted(opened):
    browser = opened(page(*THREE))
    assert rows(browser, "file-table")[0].startswith("b.py")
    head = browser.find_element("css selector", "#file-table [data-key=path]")
    head.click()
    assert rows(browser, "file-table")[0].startswith("a.py")
    head.click()
    assert rows(browser, "file-table")[0].startswith("b.py")


def test_the_keyboard_opens_and_leaves_a_file(opened):
    browser = opened(page(*THREE))
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    browser.find_element("css selector", "#file-table tbody button").send_keys(keys.ENTER)
    dialog = browser.find_element("id", "file")
    assert dialog.is_displayed()
    assert "NPU101 fixed-loss-scale-manager" in dialog.text and "changed" in dialog.text
    browser.find_element("id", "next").send_keys(keys.ENTER)
    assert "To do: do this" in dialog.text
    browser.switch_to.active_element.send_keys(keys.ESCAPE)
    assert not dialog.is_displayed()


def test_no_text_of_a_script_is_run(opened):
    path = f"{HOSTILE}{RIGHT_TO_LEFT}.py"
    source = f"x = {HOSTILE!r}  # {RIGHT_TO_LEFT}{HOSTILE}\n".encode()
    found = finding(1, path=path, message=HOSTILE, status=Status.MANUAL, remedy=HOSTILE)
    html = render(Run((FileResult(path, source, source * 2, (found,)),)), RULES, title=HOSTILE)
    browser = opened(html)
    browser.find_element("css selector", "#finding-table tbody button").click()
    assert HOSTILE in browser.find_element("id", "file-body").text
    assert RIGHT_TO_LEFT not in run_script(browser, "return document.body.textContent")
    assert run_script(browser, "return window.hurt") is None
    assert run_script(browser, "return document.images.length") == 0


def test_ten_thousand_findings_are_shown_as_they_are_asked_for(opened):
    found = [tuple(finding(5, path=f"f{n}.py") for _ in range(10)) for n in range(1000)]
    results = [FileResult(f"f{n}.py", lines(), lines(5), found[n]) for n in range(1000)]
    browser = opened(page(*results))
    assert len(rows(browser, "finding-table")) == 200
    browser.find_element("name", "text").send_keys("f999")
    assert len(rows(browser, "finding-table")) == 10
    browser.find_element("name", "text").clear()
    browser.find_element("css selector", "[name=text]").send_keys(" ")
    browser.find_element("css selector", "section:last-child .more").click()
    assert len(rows(browser, "finding-table")) == 10000
