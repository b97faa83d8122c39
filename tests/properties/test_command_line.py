"""The promises on disk: what ``--diff`` shows is what is written, whatever the number of jobs."""

import shutil
import subprocess
from pathlib import Path
from typing import Dict, Optional

import pytest
from folders import current_folder
from hypothesis import HealthCheck, given, settings
from promises import run
from typeset import Setting
from writer import Script, projects, scripts

from npu_migrate import cli

FEW = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@FEW
@given(projects())
def test_several_jobs_do_what_one_does(files: Dict[str, Script]) -> None:
    data = {path: script.data for path, script in files.items()}
    assert run(data, jobs=2) == run(data, jobs=1)


@FEW
@given(files=projects())
def test_a_folder_is_migrated_as_its_files_are(
    files: Dict[str, Script],
) -> None:
    expected = run({path: script.data for path, script in sorted(files.items())})
    with current_folder():
        for path, script in files.items():
            Path(path).write_bytes(script.data)
        status = cli.main(["--quiet", "."])
        assert status == (1 if any(result.left for result in expected.values()) else 0)
        for path, result in expected.items():
            assert Path(path).read_bytes() == result.after


@FEW
@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@given(script=scripts())
def test_the_diff_makes_of_a_script_what_is_written_in_place(
    script: Script, capsysbinary: "pytest.CaptureFixture[bytes]"
) -> None:
    if script.setting.encoding in ("gbk", "latin-1"):  # shown decoded, so not for patch
        script = Script(script.code, Setting(**{**vars(script.setting), "encoding": "utf-8"}))
    with current_folder():
        before = script.data
        Path("train.py").write_bytes(before)
        capsysbinary.readouterr()
        cli.main(["--diff", "--quiet", "train.py"])
        diff = capsysbinary.readouterr().out
        assert Path("train.py").read_bytes() == before
        patched = _patched(diff)
        cli.main(["--quiet", "train.py"])
        after = Path("train.py").read_bytes()
        assert (patched or before) == after


def _patched(diff: bytes) -> Optional[bytes]:
    """What ``patch`` makes of ``train.py``; the file itself stays."""
    start = diff.find(b"--- a/train.py")
    if start < 0:
        return None
    command = ["patch", "--binary", "-p1", "--quiet", "-o", "patched.py", "train.py"]
    subprocess.run(command, input=diff[start:], check=True)
    return Path("patched.py").read_bytes()
