"""A run that is killed in the middle leaves every file whole: as it was, or migrated.

``NPU_MIGRATE_KILLS=100`` kills that often.
"""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from many_scripts import contents, write_scripts

COUNT = 200
KILLS = int(os.environ.get("NPU_MIGRATE_KILLS", "6"))


def start(folder):
    return subprocess.Popen(
        [sys.executable, "-m", "npu_migrate", "--quiet", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def migrate(folder):
    """Migrates to the end; returns how long it took."""
    begin = time.monotonic()
    with start(folder) as job:
        assert job.wait() == 0, job.stderr.read()
    return time.monotonic() - begin


@pytest.fixture(scope="module")
def migrated(tmp_path_factory):
    """What the scripts become, and how long that takes."""
    folder = tmp_path_factory.mktemp("whole")
    write_scripts(folder, COUNT)
    seconds = migrate(folder)
    return contents(folder), seconds


def test_every_file_is_whole(tmp_path, migrated):
    after, seconds = migrated
    chance = random.Random(os.environ.get("NPU_MIGRATE_SEED"))
    in_the_middle = 0
    for number in range(KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        before = write_scripts(folder, COUNT)
        with start(folder) as job:
            wait_for_writing(job, folder, before, chance.random() < 0.8)
            time.sleep(chance.uniform(0, 0.05 * seconds))
            job.send_signal(signal.SIGKILL)
        left = {n: data for n, data in contents(folder).items() if n in before}
        assert left.keys() == before.keys()
        done = [name for name in before if left[name] == after[name]]
        assert all(left[name] in (before[name], after[name]) for name in before)
        in_the_middle += 0 < len(done) < COUNT
        migrate(folder)
        assert {n: d for n, d in contents(folder).items() if n in before} == after
    assert in_the_middle, "no kill hit a run while it wrote"
    print(f"{in_the_middle} of {KILLS} kills came between the first file and the last")


def wait_for_writing(job, folder, before, is_wanted):
    """Returns as the first file is written; or at once, for a kill while files are read."""
    first = folder / next(iter(before))
    while is_wanted and job.poll() is None and first.stat().st_size == len(before[first.name]):
        time.sleep(0.001)
