"""No process outlives a verification, wherever it went."""

import os
import subprocess
import sys
import time

import pytest

from npu_migrate.verify.processes import adopting_orphans

LEAVING = """
import subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
left = subprocess.Popen(sleep, env={}, start_new_session=True, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)
print(left.pid)
"""


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_processes_that_left_their_group_and_environment_are_ended():
    with adopting_orphans():
        done = subprocess.run([sys.executable, "-c", LEAVING], capture_output=True, check=True)
        left = int(done.stdout)
        assert is_running(left)
    time.sleep(0.1)
    assert not is_running(left)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_children_from_before_go_on():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        with adopting_orphans():
            pass
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()
