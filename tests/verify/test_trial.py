"""Runs end, whatever the script does, and what became of them is told."""

import os
import pathlib
import socket
import sys
import textwrap
import time
from dataclasses import replace

import pytest

from npu_migrate.launch.job import ending_together
from npu_migrate.launch.script import Program
from npu_migrate.verify import trial, workspace
from npu_migrate.verify.experiment import Request, run_experiment
from npu_migrate.verify.outcome import FailureKind
from npu_migrate.verify.recorder.settings import Settings
from npu_migrate.verify.trial import RunningTrial, Trial

HERE = pathlib.Path(__file__).parent
PATH = os.pathsep.join([str(HERE), str(HERE.parents[1])])

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are ended as POSIX has it")


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    monkeypatch.setattr(trial, "_RECORDER", "fake_recorder")
    monkeypatch.setenv("PYTHONPATH", PATH)


def write(folder, script, name="train.py"):
    path = folder / name
    imports = "import os, sys, time\nfrom fake_recorder import journal, step\n"
    path.write_text(imports + textwrap.dedent(script))
    return str(path)


@pytest.fixture
def run(tmp_path):
    """Runs a script in a trial, and returns the outcome."""

    def run(script, timeout=30.0, arguments=(), loss=None):
        settings = Settings(str(tmp_path), is_original=True, loss=loss)
        program = Program(write(tmp_path, script), tuple(map(str, arguments)))
        one = Trial("original", program, str(tmp_path), settings, 1, timeout, None, {})
        with ending_together() as start:
            running = RunningTrial(one, start)
            while not running.poll():
                time.sleep(0.05)
            return running.end()

    return run


def is_running(process):
    """Whether a process lives; one that is over but was not waited for does not."""
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def test_a_script_that_ends_by_itself(run):
    outcome = run("step(2.0); step(1.0); print('done')")
    assert outcome.failure is None
    (recording,) = outcome.recordings
    assert [step.loss for step in recording.steps] == [2.0, 1.0]
    assert recording.end == "finished"
    assert outcome.tails == (("done",),)


def test_a_crash_is_told_with_its_exception(run):
    outcome = run("step()\nstep()\nraise KeyError('no such layer')")
    assert outcome.failure.kind is FailureKind.CRASHED
    assert outcome.failure.message == (
        "original: it failed after 2 steps, with exit code 1: KeyError: 'no such layer'"
    )
    assert len(outcome.recordings[0].steps) == 2


@pytest.mark.parametrize(
    "ending", ["sys.exit(3)", "os._exit(3)", "sys.stdout.flush(); os._exit(3)"]
)
def test_an_exit_code_is_told(run, ending):
    assert "with exit code 3" in run(f"step()\n{ending}").failure.message


DEPRECATED = "WARNING:tensorflow:From train.py:9: tf.Session is deprecated."
NOISE = [
    "dtypes.py:516: FutureWarning: Passing (type, 1) is deprecated; in a future version",
    "  np_resource = np.dtype([('resource', np.ubyte, 1)])",
    "WARNING:tensorflow:",
    "The TensorFlow contrib module will not be included in TensorFlow 2.0.",
    "For more information, please see:",
    "  * https://github.com/tensorflow/addons",
    "If you depend on functionality not listed there, please file an issue.",
    "",
    DEPRECATED,
    "Instructions for updating:",
    "Use the other one.",
    "2026-01-01 12:00:00.123456: W tensorflow/core/framework/op.cc:1: slow",
    "W0101 12:00:00.123456 140 deprecation.py:323] From train.py:9: where is deprecated",
]


def test_what_tensorflow_always_says_hides_nothing(run):
    outcome = run(
        f"""
        print("starting", file=sys.stderr)
        for line in {NOISE}:
            print(line, file=sys.stderr)
        print("no such file", file=sys.stderr)
        for line in {NOISE}:
            print(line, file=sys.stderr)
        sys.exit(1)
        """
    )
    assert outcome.tails == (("starting", "no such file"),)


def test_what_a_script_says_as_it_exits_is_told(run):
    failure = run(f"step()\nprint('{DEPRECATED}', file=sys.stderr)\nsys.exit('the data ran out')")
    assert failure.failure.message == (
        "original: it failed after one step, with exit code 1: the data ran out"
    )


def test_what_is_printed_while_python_ends_is_no_reason(run):
    failure = run(
        """
        import atexit
        atexit.register(print, "AttributeError: NoneType", file=sys.stderr)
        raise KeyError("no such layer")
        """
    )
    assert failure.failure.message.endswith("KeyError: 'no such layer'")


def test_a_good_exit_is_the_end(run):
    assert run("step()\nsys.exit(0)").failure is None


def test_a_killed_script_is_told(run):
    outcome = run("step()\nimport signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert outcome.failure.message == "original: it failed after one step, ended by SIGKILL"


def test_a_hang_is_ended(run):
    outcome = run("step()\nprint(os.getpid(), flush=True)\nwhile True: time.sleep(1)", timeout=2.0)
    assert outcome.failure.kind is FailureKind.HUNG
    assert "no step for 2 seconds" in outcome.failure.message
    assert not is_running(outcome.tails[0][0])


def test_whoever_ignores_signals_is_ended(run):
    outcome = run(
        """
        import signal
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        print(os.getpid(), flush=True)
        step()
        journal.end("stopped")
        time.sleep(600)
        """
    )
    assert outcome.failure is None
    assert outcome.recordings[0].end == "stopped"
    assert not is_running(outcome.tails[0][0])


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="needs /proc")
def test_processes_that_the_script_spawned_are_ended(run):
    outcome = run(
        """
        import subprocess
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        print(child.pid, flush=True)
        step()
        """
    )
    assert outcome.failure is None
    assert not is_running(outcome.tails[0][0])


def test_megabytes_are_read_and_only_the_last_lines_kept(run):
    outcome = run(
        """
        for number in range(100000):
            print("a line of which there are many, number", number)
        print("x" * 5000000)
        step()
        """
    )
    assert outcome.failure is None
    (tail,) = outcome.tails
    assert len(tail) == 40
    assert tail[-2].endswith("number 99999")
    assert len(tail[-1]) == 500


def test_a_script_that_does_not_train(run):
    failure = run("print('evaluated')").failure
    assert failure.kind is FailureKind.NO_STEPS


def test_a_loss_that_is_not_found(run):
    failure = run("journal.fact('no_loss', 'it is in a branch')\nstep(None)").failure
    assert failure.kind is FailureKind.NO_LOSS
    assert "it is in a branch" in failure.message and "--loss" in failure.message


def test_a_loss_that_is_named_and_not_found(run):
    script = "journal.fact('no_loss', 'there is no tensor los in the graph.')\nstep(None)"
    failure = run(script, loss="los").failure
    assert failure.kind is FailureKind.NO_LOSS
    assert "there is no tensor los" in failure.message and "was found" not in failure.message


def test_a_fault_of_the_recorder_is_not_told_as_the_scripts(run):
    failure = run("journal.fact('recorder_error', 'Traceback ...')\nsys.exit(1)").failure
    assert failure.kind is FailureKind.RECORDER
    assert "npu-verify itself" in failure.message and failure.lines == ("Traceback ...",)


def test_forked_processes_write_no_steps(run):
    outcome = run("step()\nif os.fork() == 0:\n    step()\n    os._exit(0)\nos.wait()\nstep()")
    assert len(outcome.recordings[0].steps) == 2


@pytest.fixture
def request_for(tmp_path, monkeypatch):
    """A function that makes the request to run a script, as the original and as migrated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def request_for(script, *arguments):
        program = Program(write(tmp_path, script), tuple(map(str, arguments)))
        return Request(program, program, timeout=30.0)

    return request_for


def test_a_migrated_script_that_goes_on_for_ever_is_ended(request_for, tmp_path):
    endless = write(tmp_path, "while True:\n    step()\n    time.sleep(0.01)", "endless.py")
    request = replace(request_for("step()\nstep()"), migrated=Program(endless))
    done = run_experiment(request)
    assert [one.failure for one in (done.original, done.repeated, done.migrated)] == [None] * 3
    (recording,) = done.migrated.recordings
    assert len(recording.steps) > 2 and recording.end == "stopped"


def test_each_run_has_its_own_copy_of_what_is_there(request_for, tmp_path):
    (tmp_path / "notes").write_text("mine")
    done = run_experiment(
        request_for(
            """
            print(open("notes").read(), os.path.exists("model"))
            os.mkdir("model")
            open("notes", "w").write("theirs")
            step()
            """
        )
    )
    for outcome in (done.original, done.repeated, done.migrated):
        assert outcome.failure is None
        assert outcome.tails == (("mine False",),)
    assert sorted(os.listdir(tmp_path)) == ["notes", "train.py"]
    assert (tmp_path / "notes").read_text() == "mine"


def test_how_far_runs_are_is_told(request_for):
    told = []
    run_experiment(
        request_for("step()\nstep()\njournal.fact('a', 'b')\ntime.sleep(4)"), tell=told.append
    )
    for name in ("original", "repeated", "migrated"):
        assert max(running.get(name, 0) for running in told) == 2


def test_scripts_that_need_the_same_port_run_one_after_the_other(request_for):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    done = run_experiment(
        request_for(
            """
            import socket
            with socket.socket() as server:
                server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                server.bind(("127.0.0.1", int(sys.argv[1])))
                time.sleep(1.0)
            step()
            """,
            port,
        )
    )
    assert [one.failure for one in (done.original, done.repeated, done.migrated)] == [None] * 3


def test_runs_that_all_fail_are_compared_until_then(request_for):
    done = run_experiment(request_for("step(2.0)\nstep(1.0)\nraise ValueError('NaN loss')"))
    outcomes = done.original, done.repeated, done.migrated
    assert {one.failure.kind for one in outcomes} == {FailureKind.CRASHED}
    assert [len(one.recordings[0].steps) for one in outcomes] == [2, 2, 2]


def test_runs_that_fail_before_any_step_are_not_repeated(request_for):
    done = run_experiment(request_for("raise ValueError('no data')"))
    assert done.original.failure.kind is FailureKind.CRASHED
    assert done.migrated.recordings == ()


def test_a_port_that_others_hold_is_told(request_for):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        script = "import socket\nsocket.socket().bind(('127.0.0.1', int(sys.argv[1])))"
        done = run_experiment(request_for(script, server.getsockname()[1]))
    failures = [one.failure for one in (done.original, done.repeated) if one.failure]
    assert "Address already in use" in failures[0].message


def test_checkpoints_that_all_runs_share_are_told(request_for, tmp_path_factory, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    place = tmp_path_factory.mktemp("shared") / "step"
    done = run_experiment(
        request_for(
            f"""
            place = {str(place)!r}
            first = int(open(place).read()) if os.path.exists(place) else 0
            step(global_step=first + 1)
            open(place, "w").write(str(first + 1))
            """
        )
    )
    assert done.repeated.failure.kind is FailureKind.SHARED_OUTPUT
    assert "what another run of this comparison had left" in done.repeated.failure.message


@pytest.mark.parametrize(
    "flag, remedy", [("--dir", "Say --output {}"), (None, "from an argument, such as --model_dir")]
)
def test_checkpoint_that_a_run_reads_of_another_is_told(
    request_for, tmp_path_factory, monkeypatch, flag, remedy
):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    place = tmp_path_factory.mktemp("shared")
    script = f"""
        place = {str(place)!r}
        file = os.path.join(place, "model")
        if os.path.exists(file):
            journal.checkpoint("read", file + " 1 " + open(file).read())
        journal.checkpoint("wrote", file + " 1 " + str(os.getpid()))
        step()
        open(file, "w").write(str(os.getpid()))
        """
    done = run_experiment(request_for(script, *([flag, place] if flag else [])))
    failure = done.repeated.failure
    assert failure.kind is FailureKind.SHARED_OUTPUT
    assert f"left in {place}," in failure.message and remedy.format(place) in failure.message


def test_checkpoint_that_a_run_has_written_itself_is_its_own(request_for):
    script = """
        journal.checkpoint("wrote", f"/there/model 1 {os.getpid()}")
        step()
        journal.checkpoint("read", f"/there/model 1 {os.getpid()}")
        """
    assert run_experiment(request_for(script)).repeated.failure is None


def test_too_much_to_copy_is_told(request_for, monkeypatch):
    monkeypatch.setattr(workspace, "_MOST_FILES", 0)
    done = run_experiment(request_for("step()"))
    assert done.original.failure.kind is FailureKind.NOT_STARTED
    assert "start npu-verify in the folder of the scripts" in done.original.failure.message


@pytest.mark.skipif(sys.version_info[:2] != (3, 7), reason="needs Horovod")
def test_all_ranks_are_recorded_and_the_first_to_fail_is_named(tmp_path):
    pytest.importorskip("horovod")
    script = """
        rank = int(os.environ["HOROVOD_RANK"])
        step()
        if rank == 1:
            raise ValueError("bad batch")
        time.sleep(60)
        """
    settings = Settings(str(tmp_path), is_original=True)
    one = Trial(
        "migrated", Program(write(tmp_path, script)), str(tmp_path), settings, 2, 30.0, None, {}
    )
    with ending_together() as start:
        running = RunningTrial(one, start)
        while not running.poll():
            time.sleep(0.05)
        outcome = running.end()
    assert outcome.failure.rank == 1
    assert outcome.failure.message == (
        "migrated: rank 1 of it failed after one step, with exit code 1: ValueError: bad batch"
    )
    assert [recording.rank for recording in outcome.recordings] == [0, 1]
