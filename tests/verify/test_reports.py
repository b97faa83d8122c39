"""The verdict as text, as JSON, and as a page in a browser."""

import io
import json
import re

import pytest
from recordings import INF, NAN, experiment, outcome, recording

from npu_migrate.launch.script import Program
from npu_migrate.plan import Finding, Status
from npu_migrate.verify.experiment import Request
from npu_migrate.verify.judgement import judge
from npu_migrate.verify.migration import MigratedFile, Migration
from npu_migrate.verify.outcome import FailureKind, RunFailure
from npu_migrate.verify.overflows import parse_overflows
from npu_migrate.verify.reports import Verification, html, text
from npu_migrate.verify.reports import json as as_json
from npu_migrate.verify.workspace import Project

HOSTILE = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>"
BEFORE = b"import tensorflow as tf\nscale = old(2)\n"
OURS = b"import tensorflow as tf\nscale = new(2, 0.5)\n"
AFTER = b"import tensorflow as tf\nscale = new(2, 0.8)\n"
TEXTS = BEFORE, AFTER, OURS


def finding(path, message, status):
    return Finding("NPU102", "a-rule", path, 2, 1, "s", status, message)


def verification(
    runs=None,
    names=("train.py", "npu/train.py"),
    message="the scale",
    texts=TEXTS,
    status=Status.MIGRATED,
    **request,
):
    runs = runs or experiment()
    found = finding(path=names[0], message=message, status=status)
    file = MigratedFile(*names, *texts, (found,))
    migration = Migration((file,))
    scripts = Program(names[0], ("--flag",)), Program(names[1], ("--flag",))
    return Verification(Request(*scripts, **request), runs, migration, judge(runs, migration))


def different(**more):
    skipped = {"applied": False, "gradient_norm": INF, "global_step": 2}
    return verification(
        experiment(
            outcome(recording(at3=skipped)),
            outcome(recording(at3={**skipped, "loss_scale": 819.2})),
        ),
        overflows=parse_overflows("3"),
        **more,
    )


def shown(made):
    stream = io.StringIO()
    text.write(made, stream)
    return stream.getvalue()


# Text


def test_text_of_the_same():
    lines = shown(verification()).splitlines()
    assert lines[0] == "SAME" and lines[1].startswith("The migrated training is the same")
    assert re.search(r"loss scale\s+same\s+0\s+1.0e-06\s+exactly", "\n".join(lines))
    assert "first differs" not in "\n".join(lines)


@pytest.mark.parametrize(
    "texts, words, changes",
    [
        ((BEFORE, OURS, OURS), "npu-migrate made one change in one file.", 1),
        ((BEFORE, BEFORE, BEFORE), "npu-migrate changed nothing: the same", 0),
    ],
)
def test_how_much_npu_migrate_changed_is_told(texts, words, changes):
    status = Status.MIGRATED if changes else Status.MANUAL
    made = verification(texts=texts, status=status, own=Project())
    assert words in shown(made) and words in html.render(made)
    found = json.loads(as_json.render(made))["changes_by_npu_migrate"]
    assert found == {"changes": changes, "files": changes}


def test_changes_of_others_are_not_counted():
    assert "npu-migrate made" not in shown(verification())
    assert json.loads(as_json.render(verification()))["changes_by_npu_migrate"] is None


def test_text_of_a_difference_says_where_to_look():
    output = shown(different())
    assert output.startswith("DIFFERENT\n")
    assert re.search(r"loss scale\s+differs\s+step 3\s+1024\s+819.2\s+20 %", output)
    assert (
        "npu/train.py:2: scale = new(2, 0.8)  (npu-migrate: scale = new(2, 0.5))" in output
        and "train.py:2:1 NPU102 the scale\n" in output
    )


def test_what_there_was_to_migrate_is_told_though_nobody_did():
    made = different(texts=(BEFORE, BEFORE, OURS))
    assert "What there was to migrate, and concerns this:\n  train.py:2:1 NPU102" in shown(made)
    page = html.render(made)
    assert re.search(r"NPU102 a-rule</b> <span>\(not changed, line 2\): the scale", page)


def test_long_lines_are_cut_around_what_differs():
    call = b"scale = new(" + b", ".join(b"argument_%d=0.125" % n for n in range(40))
    lines = [b"x = 1\n" + call + b", decr=" + ratio + b")\n" for ratio in (b"0.8", b"0.5")]
    output = shown(different(texts=(BEFORE, *lines)))
    (line,) = [line for line in output.splitlines() if "(npu-migrate: " in line]
    theirs, ours = line.split("(npu-migrate: ")
    assert "decr=0.8" in theirs and "decr=0.5" in ours
    assert "... " in theirs and "argument_0=" not in line


def test_order_that_was_settled_is_no_matter_of_the_verdict():
    runs = outcome(recording(facts=("step_race",)))
    output = shown(verification(experiment(runs, runs)))
    assert output.startswith("SAME\n") and "the answer holds as it stands" in output


def test_text_of_a_failure_shows_what_it_printed_last():
    failure = RunFailure(FailureKind.CRASHED, "ended with exit code 1", 0)
    failed = outcome(tails=(("first", "ValueError: [red]broken[/red]"),), failure=failure)
    output = shown(verification(experiment(migrated=failed)))
    assert output.startswith("NO ANSWER\n")
    assert "  ValueError: [red]broken[/red]\n" in output


def test_text_of_a_launcher_that_failed_has_its_lines():
    failure = RunFailure(FailureKind.NOT_STARTED, "it failed", lines=("\tno slots", "ValueError"))
    output = shown(verification(experiment(outcome(failure=failure))))
    assert "        no slots\n  ValueError\n" in output and "U+" not in output


# JSON


def test_json():
    found = json.loads(as_json.render(different()))
    assert (found["answer"], found["exit_code"], found["injected_overflows"]) == (
        "different",
        1,
        "3",
    )
    first = found["first_difference"]
    assert (first["quantity"], first["step"], first["migrated"]) == ("loss_scale", 3, 819.2)
    assert found["recordings"]["migrated"][0]["steps"][2]["gradient_norm"] == "inf"
    assert found["departures"][0]["line"] == 2 and found["concerned"][0]["code"] == "NPU102"


def test_json_of_values_that_are_none():
    broken = outcome(recording(at3={"loss": NAN, "learning_rate": None}))
    assert json.loads(as_json.render(verification(experiment(migrated=broken))))


# The page


def test_page_needs_nothing_else():
    page = html.render(different())
    assert not re.search(r"<(link|script|img|iframe)[^>]*(src|href)=", page)
    assert "url(" not in page and "@import" not in page and page.endswith("</html>\n")


def test_page_shows_the_change_with_its_finding():
    page = html.render(different())
    change = page[page.index('class="change"') :]
    assert "NPU102" in change and "departure" in change and "0.8" in change
    assert "0.8" in page[page.index("Not what npu-migrate writes") :]


def test_page_marks_steps():
    page = html.render(different())
    for mark in ("skipped-original", "skipped-migrated", "injected", "first"):
        assert f'<path class="{mark}" d="M222.22' in page


def test_curves_end_where_there_is_no_number():
    broken = outcome(recording(at5={"loss": NAN}, at7={"loss": INF}))
    page = html.render(verification(experiment(broken, broken)))
    path = re.search(r'class="repaint" d="([^"]*)"', page).group(1)
    assert path.count("M") == 3


def test_many_steps_are_thinned():
    many = outcome(recording(steps=20000))
    page = html.render(verification(experiment(many, many)))
    assert len(re.search(r'class="original" d="([^"]*)"', page).group(1)) < 40_000


@pytest.mark.parametrize("steps", [0, 1])
def test_hardly_any_steps_are_still_a_page(steps):
    short = outcome(recording(steps=steps))
    assert html.render(verification(experiment(short, short))).endswith("</html>\n")


def values(browser):
    script = "return [...document.querySelectorAll('#values tbody tr')].map(row => row.innerText)"
    return dict(row.split("\t", 1) for row in browser.execute_script(script))


def test_values_are_read_at_the_first_difference_and_by_keys(opened):
    browser = opened(html.render(different()))
    assert values(browser)["loss scale"] == "1024\t819.2\t20 %"
    slider = browser.find_element("name", "step")
    slider.send_keys("\ue014")  # right
    assert browser.find_element("name", "shown").text == "4 of 10"
    assert values(browser)["loss scale"] == "1024\t1024\t0"


def test_ranks_are_chosen(opened):
    ranks = [recording(0, 2), recording(1, 2, at1={"loss": 5.5})]
    runs = experiment(outcome(*ranks), outcome(*ranks))
    browser = opened(html.render(verification(runs, processes=2)))
    assert values(browser)["loss"].startswith("6")
    browser.find_element("name", "rank").send_keys("1")
    assert values(browser)["loss"].startswith("5.5")
    assert [e.is_displayed() for e in browser.find_elements("class name", "rank")] == [False, True]


def test_hostile_names_and_output_are_text(opened):
    failure = RunFailure(FailureKind.CRASHED, HOSTILE, 0)
    failed = outcome(recording(steps=2), tails=((HOSTILE, "\x1b[31mred\u202e"),), failure=failure)
    names = (f"{HOSTILE}.py", f"npu/{HOSTILE}.py")
    made = verification(experiment(migrated=failed), names=names, message=HOSTILE)
    browser = opened(html.render(made))
    assert browser.execute_script("return window.hurt") is None
    tail = browser.find_element("class name", "tail").text
    assert tail == f"{HOSTILE}\nred\u27e8U+202E\u27e9"


@pytest.mark.parametrize("width", [1300, 420])
def test_page_fits_its_window(opened, width):
    names = f"{'long' * 30}/train.py", f"{'long' * 30}/npu/train.py"
    browser = opened(html.render(different(names=names)))
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_text_of_ranks_fits_a_line():
    changed = {"loss_scale": 4294967296.0, "applied": False, "loss": 6.88061, "global_step": 1}
    ranks = [recording(0, 2), recording(1, 2)]
    drifted = [recording(0, 2), recording(1, 2, at3=changed)]
    output = shown(verification(experiment(outcome(*ranks), outcome(*drifted)), processes=2))
    assert re.search(r"loss scale +differs +step 3@1 +1024 +4.29497e\+09 +100 %", output)
    assert "…" not in output
