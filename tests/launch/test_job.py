"""Processes that are started together are ended together."""

import os
import signal
import subprocess
import sys
import time

import pytest

from npu_migrate.launch.job import Failure, run_ranks

PROGRAM = """
import os, sys, time
rank = int(os.environ["RANK_ID"])
print("out of", rank)
print("error of", rank, file=sys.stderr)
{body}
"""


def run(body, ranks=2):
    command = [sys.executable, "-c", PROGRAM.format(body=body)]
    return run_ranks(command, {rank: {"RANK_ID": str(rank)} for rank in range(ranks)})


def test_lines_carry_their_rank(capfd):
    assert run("") is None
    output = capfd.readouterr()
    assert sorted(output.out.splitlines()) == ["[0] out of 0", "[1] out of 1"]
    assert sorted(output.err.splitlines()) == ["[0] error of 0", "[1] error of 1"]


def test_the_first_failure_ends_the_others(capfd):
    started = time.monotonic()
    failure = run("sys.exit(3) if rank == 1 else time.sleep(60)")
    assert failure == Failure(rank=1, exit_code=3)
    assert time.monotonic() - started < 20
    explanation = capfd.readouterr().err
    assert "rank 1 failed first, with exit code 3; the others were ended" in explanation
    assert "    out of 1" in explanation


def test_a_rank_that_is_killed(capfd):
    failure = run("os.kill(os.getpid(), 9) if rank == 0 else time.sleep(60)")
    assert failure == Failure(rank=0, exit_code=137)
    assert "(SIGKILL)" in capfd.readouterr().err


def test_a_rank_that_says_it_fails_is_blamed_for_what_follows():
    """Rank 0 fails for the loss of rank 1, and is gone sooner."""
    failure = run(
        "from npu_migrate.launch.script import FAILURE_MARK\n"
        "time.sleep(0.5 * (1 - rank))\n"
        "print(FAILURE_MARK + str(8 - rank), file=sys.stderr, flush=True)\n"
        "time.sleep(2 * rank); sys.exit(8 - rank)"
    )
    assert failure == Failure(rank=1, exit_code=7)


def test_a_rank_that_dies_is_blamed_for_what_follows():
    """Rank 0 fails for the loss of rank 1, and can say so first."""
    failure = run(
        "from npu_migrate.launch.script import FAILURE_MARK\n"
        "if rank == 1: time.sleep(0.5); os._exit(9)\n"
        "print(FAILURE_MARK + '1', file=sys.stderr, flush=True); time.sleep(2); sys.exit(1)"
    )
    assert failure == Failure(rank=1, exit_code=9)


def test_one_that_ignores_the_request_to_end_is_killed():
    started = time.monotonic()
    body = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    failure = run(body + "time.sleep(1); sys.exit(3) if rank == 1 else time.sleep(60)")
    assert failure == Failure(rank=1, exit_code=3)
    assert time.monotonic() - started < 25


def start_job(ignored=()):
    """A job of two, in a process of its own, which gets signals as from a terminal."""
    program = (
        "import sys\n"
        "from npu_migrate.launch.job import Interrupted, run_ranks\n"
        "sleep = 'import os, time; print(os.getpid(), flush=True); time.sleep(60)'\n"
        "try: run_ranks([sys.executable, '-c', sleep], {0: {}, 1: {}})\n"
        "except Interrupted: print('interrupted')\n"
    )

    def set_signals():
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored in background
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    job = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        universal_newlines=True,
        preexec_fn=set_signals,
    )
    return job, [int(job.stdout.readline().split()[1]) for _ in range(2)]


@pytest.mark.parametrize(
    "numbers",
    [[signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP], [signal.SIGHUP, signal.SIGHUP]],
)
def test_ctrl_c_and_a_closed_terminal_end_all(numbers):
    job, children = start_job()
    for number in numbers:
        job.send_signal(number)
    assert job.stdout.read() == "interrupted\n"
    assert job.wait(20) == 0
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def test_under_nohup_a_closed_terminal_ends_nothing():
    job, children = start_job(ignored=[signal.SIGHUP])
    job.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        job.wait(1)
    for child in children:
        os.kill(child, 0)
    job.send_signal(signal.SIGTERM)
    assert job.stdout.read() == "interrupted\n"
    assert job.wait(20) == 0
