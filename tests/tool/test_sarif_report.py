import json
from urllib.parse import unquote

import pytest

from npu_migrate import rules
from npu_migrate.plan import Finding, Status
from npu_migrate.reports import Run
from npu_migrate.reports.sarif import render
from npu_migrate.results import FileResult
from npu_migrate.sources import SourceError

RULES = rules.load()
CASES = {
    "a line": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "lines more": (b"a\nb\n", b"x\na\nb\ny\n"),
    "lines fewer": (b"a\nb\nc\nd\n", b"b\nd\n"),
    "no newline": (b"a\nb", b"A\nb\nc"),
    "a newline at the end": (b"a\nb", b"a\nb\n"),
    "carriage returns": (b"a\r\nb\r\n", b"a\r\nB\r\n"),
    "to nothing": (b"a\n", b""),
    "utf-8": ("é\nx\n".encode(), "é\ny\n".encode()),
}


def finding(status=Status.MIGRATED, path="a.py", **more):
    return Finding("NPU101", "name", path, 1, 2, "s", status, "what", **more)


def log_of(*results, **more):
    return json.loads(render(Run(results, **more), RULES))


def applied(lines, replacements):
    """The text that an editor makes of the fix."""
    for one in reversed(replacements):
        region = one["deletedRegion"]
        starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
        first = starts[region["startLine"] - 1] + region["startColumn"] - 1
        last = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = "".join(lines)
        lines = (text[:first] + one["insertedContent"]["text"] + text[last:]).splitlines(True)
    return "".join(lines)


@pytest.mark.parametrize("before, after", CASES.values(), ids=list(CASES))
def test_the_fix_makes_what_is_written_in_place(before, after):
    log = log_of(FileResult("a.py", before, after, (finding(),)))
    (fix,) = log["runs"][0]["results"][0]["fixes"]
    (change,) = fix["artifactChanges"]
    lines = before.decode().splitlines(True)
    assert applied(lines, change["replacements"]) == after.decode()


@pytest.mark.parametrize("count, carrying", [(3, 3), (400, 1)])
def test_a_log_does_not_grow_with_the_square_of_the_findings(count, carrying):
    before, after = (b"".join(b"%c%d\n" % (c, n) for n in range(count)) for c in b"xy")
    findings = tuple(finding(remedy=str(n)) for n in range(count))
    results = log_of(FileResult("a.py", before, after, findings))["runs"][0]["results"]
    with_fix = [n for n, result in enumerate(results) if "fixes" in result]
    assert with_fix == list(range(carrying))


def test_what_is_left_is_an_error_with_its_remedy_and_without_a_fix():
    left = finding(Status.MANUAL, remedy="do this")
    (result,) = log_of(FileResult("a.py", b"x\n", b"y\n", (left,)))["runs"][0]["results"]
    assert result["level"] == "error"
    assert result["message"]["text"] == "what: do this"
    assert "fixes" not in result


def test_a_check_says_how_it_is_migrated():
    migrated = FileResult("a.py", b"x\n", b"y\n", (finding(),))
    for written, text in ((False, "to migrate (run npu-migrate): what"), (True, "what")):
        (result,) = log_of(migrated, written=written)["runs"][0]["results"]
        assert result["message"]["text"] == text


@pytest.mark.parametrize(
    "line, column, end",
    [
        ("x = tf.Session()", 5, 15),
        ("tf.device('/gpu:0')", 11, 19),
        ("pip install tensorflow-gpu==1.15", 13, 27),
        ("x = 注.a + 1", 5, 8),
    ],
)
def test_a_region_ends_with_the_word_that_is_found(line, column, end):
    found = Finding("NPU101", "name", "a.py", 2, column, "s", Status.MANUAL, "what")
    data = f"\n{line}\n".encode()
    (result,) = log_of(FileResult("a.py", data, data, (found,)))["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 2, "startColumn": column, "endLine": 2, "endColumn": end}


def test_each_rule_is_described_once_with_where_the_vendor_says_so():
    log = log_of(FileResult("a.py", b"x\n", b"y\n", (finding(), finding())))
    (rule,) = log["runs"][0]["tool"]["driver"]["rules"]
    assert rule["id"] == "NPU101"
    short = rule["shortDescription"]["text"]
    assert short.endswith(".") and "{" not in short and len(short.split()) > 5
    assert rule["helpUri"].startswith("https://")
    assert {result["ruleIndex"] for result in log["runs"][0]["results"]} == {0}


@pytest.mark.parametrize("path", ["sub/a b.py", "注.py", "a%20#?.py", "<a>.py"])
def test_any_path_is_a_uri(path):
    log = log_of(FileResult(path, b"x\n", b"x\n", (finding(path=path),)))
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    uri = place["artifactLocation"]["uri"]
    assert uri.isascii() and not set(' #<>"') & set(uri)
    assert unquote(uri) == path
    assert place["region"]["startLine"] == 1


def test_a_file_that_could_not_be_read_is_told_of():
    log = log_of(problems=(SourceError("a.py", "not UTF-8", "save it", 3),))
    (invocation,) = log["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "not UTF-8; save it"


def test_a_reader_of_sarif_takes_it():
    sarif = pytest.importorskip("sarif_pydantic", reason="needs Python 3.10")
    results = [
        FileResult("a.py", b"x\n", b"y\n", (finding(), finding(Status.NOTE))),
        FileResult("b.ipynb", b"x\n", b"y\n", (finding(path="b.ipynb", cell=2),)),
    ]
    log = sarif.Sarif.model_validate_json(render(Run(tuple(results)), RULES))
    assert [result.rule_id for result in log.runs[0].results] == 3 * ["NPU101"]
    assert sarif.Sarif.model_validate_json(render(Run(()), RULES)).runs[0].results == []
