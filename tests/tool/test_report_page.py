"""The page of ``--report``: what it holds, and how it behaves in a browser."""

import json
import re

import pytest

from npu_migrate import engine, rules, sources
from npu_migrate.options import Options
from npu_migrate.plan import Finding, Status
from npu_migrate.reports import Run
from npu_migrate.reports.html import About, render
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


def migrated(folder, **files):
    """The page of real scripts, and the result of the first."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    found = sources.find([str(folder)])[0]
    results = engine.migrate(found, RULES, Options(for_page=True))
    return render(Run(tuple(results), written=False), RULES), results[0]


def test_what_changes_far_from_a_finding_says_whose_it_is(tmp_path):
    html, result = migrated(
        tmp_path,
        a="""import tensorflow as tf
import horovod.tensorflow as hvd
A = 1
B = 1
C = 1
D = 1
E = 1
F = 1
G = 1
hvd.init()
session = tf.Session(
    graph=tf.Graph(
    ),
    #
    #
    #
    #
    #
    #
    target="")
""",
    )
    codes = [found.code for found in result.findings]
    hunks = data(html, "diff-0")
    changed = [hunk for hunk in hunks if any(len(row) == 4 for row in hunk["rows"])]
    assert all(hunk["findings"] or hunk["others"] for hunk in changed)
    imports = hunks[0]["others"]
    assert [1, codes.index("NPU401")] in imports, "the import of npu_config_proto"
    assert [0, codes.index("NPU401")] in hunks[-1]["others"], "config= at the end of the call"


def test_a_notebook_is_compared_cell_by_cell(tmp_path):
    cells = [["import tensorflow as tf\n"], ["x = 1"], ["s = tf.Session()\n", "y = 2"]]
    notebook = {
        "cells": [{"cell_type": "code", "source": cell, "metadata": {}} for cell in cells],
        "metadata": {},
        "nbformat": 4,
    }
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    html, result = migrated(tmp_path)
    first, third = data(html, "diff-0")
    assert (first["cell"], third["cell"]) == (1, 3)
    assert third["findings"] == [0] and first["others"] == [[1, 0]]
    assert re.sub("<.*?>", "", third["rows"][0][3]) == "s = tf.Session(config=npu_config_proto())"


def test_a_line_stands_beside_the_line_that_it_becomes():
    before = b"a = 1\nsession = tf.Session(config=config)\nb = 2\n"
    after = (
        b"a = 1\nfrom npu import thing\nnew = thing(1)\n"
        b"session = tf.Session(config=new(config))\nb = 2\n"
    )
    (hunk,) = data(page(FileResult("a.py", before, after)), "diff-0")
    assert [(row[0], row[2]) for row in hunk["rows"]] == [
        (1, 1),
        (0, 2),
        (0, 3),
        (2, 4),
        (3, 5),
        (4, 6),
    ]


def test_what_a_baseline_and_comments_set_aside_is_counted_and_listed():
    result = FileResult(
        "a.py",
        lines(),
        lines(5),
        (),
        known=(finding(5), finding(7, status=Status.MANUAL, remedy="do this")),
        suppressed=(finding(9),),
    )
    html = page(result, written=False)
    states = [state["key"] for state in data(html, "states")]
    assert [states[found[5]] for found in data(html, "finding-data")] == [
        "known",
        "known",
        "suppressed",
    ]
    assert data(html, "file-data")[0]["counts"] == [0, 0, 0, 2, 1]
    assert "<b>50 %</b> once npu-migrate is run" in html
    task = " ".join(re.sub("<.*?>", " ", html[html.index('id="remains"') :]).split())
    assert "NPU101 fixed-loss-scale-manager loss scaling known do this 1 1" in task


def test_what_is_on_the_npu_already_counts_as_done(tmp_path):
    html, _ = migrated(
        tmp_path,
        a="""import tensorflow as tf
from npu_bridge.npu_init import *
from npu_migrate.runtime import ops_adapter as hvd

hvd.init()
with tf.Session(config=npu_config_proto()) as session:
    pass
""",
        b="import tensorflow as tf\n\nwith tf.Session() as session:\n    pass\n",
    )
    assert "<b>67 %</b> on the NPU" in html and "<b>100 %</b> once npu-migrate is run" in html
    first, second = data(html, "file-data")
    assert (first["counts"][0], first["done"]) == (2, 100)
    assert (second["counts"][0], second["done"]) == (0, 0)


def test_the_page_says_what_it_is_about():
    about = About("models", "1 May 2030", ("src",), ("--loss-scale dynamic",))
    result = FileResult("a.py", lines(), lines(5), (finding(5),))
    html = render(Run((result,), written=False), RULES, about)
    assert "<title>models: move to Ascend NPUs</title>" in html
    assert all(part in html for part in (about.when, "<code>src</code>", *about.settings))
    assert "which wrote nothing" in html
    assert "which wrote the changes" in render(Run((result,)), RULES, about)


def test_a_project_is_divided_into_its_folders():
    paths = ("models/bert/a.py", "models/bert/b/c.py", "models/ssd/a.py", "models/gnmt/a.py")
    html = page(*(FileResult(path, lines(), lines(5), (finding(5, path=path),)) for path in paths))
    rows = re.findall(r'data-folder="([^"]*)"', html[html.index('id="folders"') :])
    assert list(dict.fromkeys(rows)) == ["models/bert", "models/gnmt", "models/ssd"]
    assert 'id="folders"' not in page(*THREE)


def test_what_remains_says_who_does_what():
    left = [finding(n, "NPU912", status=Status.UNSUPPORTED, remedy="do that") for n in (3, 9)]
    manual = finding(5, status=Status.MANUAL, remedy="do this")
    html = page(FileResult("a.py", lines(), lines(12), (manual, *left, finding(12))), written=False)
    tasks = re.findall(r"<tr>.*?</tr>", html[html.index('id="remains"') :], re.DOTALL)[1:4]
    shown = [" ".join(re.sub("<.*?>", " ", task).split()) for task in tasks]
    assert shown[0].startswith("npu-migrate Run npu-migrate") and shown[0].endswith("1 1")
    assert shown[1] == ("owner of the design NPU912 random-generator unsupported do that 2 1")
    assert shown[2] == "an engineer NPU101 fixed-loss-scale-manager loss scaling do this 1 1"


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


def waiting(browser):
    from selenium.webdriver.support.wait import WebDriverWait

    return WebDriverWait(browser, 20)


def rows(browser, table):
    return browser.execute_script(
        f"return [...document.querySelectorAll('#{table} tbody tr')].map(row => row.innerText)"
    )


def run_script(browser, script):
    return browser.execute_script(script)


def find(browser, selector):
    return browser.find_element("css selector", selector)


def named(browser, text):
    return browser.find_element("link text", text)


THREE = (
    FileResult(
        "b.py", lines(), lines(5), (finding(5, path="b.py"), finding(9, "NPU203", path="b.py"))
    ),
    FileResult("a.py", lines(), lines(), (finding(7, status=Status.MANUAL, remedy="do this"),)),
)


def test_the_findings_are_filtered(opened):
    browser = opened(page(*THREE))
    assert len(rows(browser, "finding-table")) == 3
    field = find(browser, "#filter [name=text]")
    field.send_keys("a.py do")
    assert len(rows(browser, "finding-table")) == 1
    field.clear()
    field.send_keys(" ")
    browser.find_element("css selector", "[name=state][value='0']").click()
    (row,) = rows(browser, "finding-table")
    assert row.startswith("manual")
    browser.find_element("css selector", "[name=family]").send_keys("distribution")
    assert rows(browser, "finding-table") == []
    assert find(browser, "#filter output").text == "0 of 3"
    assert not find(browser, "#finding-table").is_displayed()
    none = find(browser, "section:last-child .none")
    assert none.text.startswith("No finding fits.")
    none.find_element("tag name", "button").click()
    assert len(rows(browser, "finding-table")) == 3 and not none.is_displayed()


def test_the_files_are_sorted(opened):
    browser = opened(page(*THREE))
    assert rows(browser, "file-table")[0].startswith("b.py")
    head = browser.find_element("css selector", "#file-table [data-key=path]")
    head.click()
    assert rows(browser, "file-table")[0].startswith("a.py")
    head.click()
    assert rows(browser, "file-table")[0].startswith("b.py")


def test_the_files_are_filtered(opened):
    browser = opened(page(*THREE))
    find(browser, "#file-filter [name=text]").send_keys("B.PY")
    (row,) = rows(browser, "file-table")
    assert row.startswith("b.py")


def test_numbers_are_sorted_from_the_largest_and_the_arrow_says_so(opened):
    results = [FileResult(f"{n}.py", lines(), lines(5), n * (finding(5),)) for n in (1, 3, 2)]
    browser = opened(page(*results))
    button = find(browser, "#file-table [data-key='0']")
    head = button.find_element("xpath", "..")
    for direction, order in (("descending", "321"), ("ascending", "123"), ("descending", "321")):
        button.click()
        assert head.get_attribute("aria-sort") == direction
        assert [row[0] for row in rows(browser, "file-table")] == list(order)
    assert browser.execute_script(
        "return getComputedStyle(document.querySelector('#file-table [data-key=path]'), '::after')"
        ".content"
    ), "the others show that they sort, too"


def test_families_states_and_tasks_lead_to_their_findings(opened):
    browser = opened(page(*THREE))
    find(browser, ".shares [data-family=distribution]").click()
    (row,) = rows(browser, "finding-table")
    assert "NPU203" in row
    browser.execute_script("scrollTo(0, 0)")
    find(browser, ".tile.migrated").click()
    assert [row.split()[0] for row in rows(browser, "finding-table")] == ["migrated", "migrated"]
    browser.execute_script("scrollTo(0, 0)")
    find(browser, ".tasks [data-code=NPU101]").click()
    (row,) = rows(browser, "finding-table")
    assert row.startswith("manual")


def test_the_keyboard_opens_and_leaves_a_file(opened):
    browser = opened(page(*THREE))
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    find(browser, "#file-table tbody a").send_keys(keys.ENTER)
    dialog = waiting(browser).until(lambda _: find(browser, "#file[open]"))
    assert "NPU101 fixed-loss-scale-manager" in dialog.text and "changed" in dialog.text
    browser.find_element("id", "next").send_keys(keys.ENTER)
    assert "To do: do this" in dialog.text
    browser.switch_to.active_element.send_keys(keys.ESCAPE)
    assert not dialog.is_displayed()


def test_a_finding_has_an_address_and_opens_at_its_line(opened):
    long = "\n".join(f"line{n}" for n in range(1, 2001)).encode()
    found = [finding(n, status=Status.MANUAL, remedy="do this") for n in range(10, 2000, 10)]
    browser = opened(page(FileResult("a b/c.py", long, long, tuple(found))))
    named(browser, "a b/c.py:1000:1").click()
    waiting(browser).until(lambda _: find(browser, "#file[open]"))
    address = browser.current_url
    assert address.endswith("#/a%20b/c.py:1000")
    for _ in ("as it was clicked", "as it is opened by its address"):
        line = find(browser, "tr.target")
        assert "line1000" in line.text
        top = browser.execute_script("return arguments[0].getBoundingClientRect().top", line)
        assert 0 < top < browser.execute_script("return innerHeight")
        assert find(browser, "#file-title").location["y"] >= 0
        browser.get("about:blank")
        browser.get(address)
    browser.find_element("id", "close").click()
    assert "#" not in browser.current_url
    named(browser, "a b/c.py:20:1").click()
    waiting(browser).until(lambda _: find(browser, "#file[open]"))
    browser.back()
    waiting(browser).until(lambda _: not find(browser, "#file").is_displayed())


def test_a_deep_line_stays_beside_its_number_and_is_copied_whole(opened):
    deep = b"if x:\n" + b" " * 60 + b"a_name_without_any_place_to_break_it\n"
    browser = opened(page(FileResult("a.py", deep, deep, (finding(2, status=Status.MANUAL),))))
    browser.set_window_size(700, 900)
    find(browser, "#finding-table tbody a").click()
    waiting(browser).until(lambda _: find(browser, "#file[open]"))
    number, text, copied = browser.execute_script(
        """
        const [number, text] = document.querySelector("tr.target").cells;
        const top = (node) => {
          const range = document.createRange();
          range.selectNodeContents(node);
          return range.getBoundingClientRect().top;
        };
        const selection = getSelection();
        selection.selectAllChildren(text);
        return [top(number), top(text.lastChild), selection.toString()];
        """
    )
    assert abs(number - text) < 4
    assert copied.rstrip("\n") == deep.decode().split("\n")[1]
    browser.set_window_size(1300, 900)


def test_a_code_explains_its_rule(opened):
    browser = opened(page(*THREE))
    find(browser, "#finding-table tbody button").click()
    text = find(browser, "#rule[open]").text
    assert text.startswith("NPU101 fixed-loss-scale-manager")
    assert "Why:" in text and "npu-migrate --explain NPU101" in text and "Before" in text


def test_a_narrow_page_names_only_numbers_that_there_are(opened):
    browser = opened(page(*THREE))
    browser.set_window_size(420, 900)
    shown = browser.execute_script(
        "return [...document.querySelectorAll('#file-table tbody td.number')]"
        ".filter(cell => cell.offsetWidth).map(cell => [cell.dataset.name, cell.innerText])"
    )
    assert shown and all(text for _, text in shown)
    width = browser.execute_script("return document.documentElement.scrollWidth")
    assert width <= browser.execute_script("return innerWidth")
    browser.set_window_size(1300, 900)


def test_no_text_of_a_script_is_run(opened):
    path = f"{HOSTILE}{RIGHT_TO_LEFT}.py"
    source = f"x = {HOSTILE!r}  # {RIGHT_TO_LEFT}{HOSTILE}\n".encode()
    found = finding(1, path=path, message=HOSTILE, status=Status.MANUAL, remedy=HOSTILE)
    html = render(
        Run((FileResult(path, source, source * 2, (found,)),)),
        RULES,
        About(HOSTILE, paths=(HOSTILE,), settings=(HOSTILE,)),
    )
    browser = opened(html)
    find(browser, "#finding-table tbody a").click()
    waiting(browser).until(lambda _: HOSTILE in find(browser, "#file-body").text)
    assert RIGHT_TO_LEFT not in run_script(browser, "return document.body.textContent")
    assert run_script(browser, "return window.hurt") is None
    assert run_script(browser, "return document.images.length") == 0


def test_ten_thousand_findings_are_shown_as_they_are_asked_for(opened):
    found = [tuple(finding(5, path=f"f{n}.py") for _ in range(10)) for n in range(1000)]
    results = [FileResult(f"f{n}.py", lines(), lines(5), found[n]) for n in range(1000)]
    browser = opened(page(*results))
    waiting(browser).until(lambda _: len(rows(browser, "finding-table")) == 100)
    field = find(browser, "#filter [name=text]")
    field.send_keys("f999")
    assert len(rows(browser, "finding-table")) == 10
    field.clear()
    field.send_keys(" ")
    find(browser, "section:last-child .more").click()
    assert len(rows(browser, "finding-table")) == 600
    at_once = browser.execute_script(
        """
        document.querySelector("section:last-child .all").click();
        return document.querySelectorAll("#finding-table tbody tr").length;
        """
    )
    assert at_once < 10000, "the page does not stand still meanwhile"
    waiting(browser).until(lambda _: len(rows(browser, "finding-table")) == 10000)
