from npu_migrate.plan import Finding, Status
from npu_migrate.reports import Run
from npu_migrate.reports.github import render
from npu_migrate.results import FileResult
from npu_migrate.sources import SourceError


def finding(status, **more):
    details = {"path": "a.py", "message": "what", **more}
    return Finding(
        "NPU101",
        "a-name",
        details.pop("path"),
        3,
        5,
        "s",
        status,
        details.pop("message"),
        **details,
    )


def rendered(*findings, **more):
    return render(Run((FileResult("a.py", b"", b"", findings),), **more))


def test_what_is_left_is_an_error_with_its_remedy():
    assert rendered(finding(Status.MANUAL, remedy="do this")) == (
        "::error file=a.py,line=3,col=5,title=NPU101 a-name::what (do this)\n"
    )


def test_what_was_migrated_is_a_notice_but_fails_a_check():
    assert rendered(finding(Status.MIGRATED)).startswith("::notice ")
    assert rendered(finding(Status.MIGRATED), written=False).startswith("::error ")
    assert rendered(finding(Status.NOTE), written=False).startswith("::notice ")


def test_a_check_says_how_it_is_migrated():
    line = rendered(finding(Status.MIGRATED), written=False)
    assert line.endswith("::to migrate (run npu-migrate): what\n")
    assert rendered(finding(Status.MIGRATED)).endswith("::what\n")


def test_no_text_breaks_out_of_its_command():
    line = rendered(finding(Status.MANUAL, path="a,b:c%\n.py", message="x\n::error::y"))
    assert line.count("\n") == 1
    assert "file=a%2Cb%3Ac%25%0A.py," in line
    assert line.endswith("::x%0A::error::y\n")


def test_a_file_that_could_not_be_read():
    error = SourceError("a.py", "not UTF-8", "save it", 3)
    expected = "::error file=a.py,line=3,title=npu-migrate::not UTF-8; save it\n"
    assert render(Run((), (error,))) == expected


def test_nothing_found_is_nothing_printed():
    assert rendered() == ""
