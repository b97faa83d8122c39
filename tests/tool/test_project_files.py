"""What is said about shell scripts, requirements and images, and that nothing of them changes."""

import pytest

from npu_migrate.engine import migrate
from npu_migrate.options import Options
from npu_migrate.rules import load
from npu_migrate.sources import Source

RULES = load()


def examined(name, text):
    (result,) = migrate([Source(name, text.encode())], RULES, Options())
    assert result.error is None
    assert result.after == result.before
    return result.findings


def advice(text, name="train.sh"):
    """The line to write, of the only finding."""
    (finding,) = examined(name, text)
    start, _, line = finding.remedy.partition("write: ")
    assert start == ""
    return line


@pytest.mark.parametrize(
    "line, better",
    [
        ("horovodrun -np 8 -H localhost:8 python train.py --x", "npu-run -np 8 train.py --x"),
        ("horovodrun --num-proc=4 python3.7 train.py", "npu-run -np 4 train.py"),
        ("horovodrun -np 1 python train.py", "npu-run train.py"),
        ("horovodrun -np $N python train.py --b=${B}", "npu-run -np $N train.py --b=${B}"),
        ("mpirun -n 2 ./train.py 'a b' \"$c\"", "npu-run -np 2 ./train.py 'a b' \"$c\""),
        ("mpirun -H localhost:2,127.0.0.1:1 python t.py", "npu-run -np 3 t.py"),
        ("mpirun --oversubscribe -np 2 $PYTHON t.py", "npu-run -np 2 t.py"),
        ("mpirun ${BIND} -np 2 python t.py", "npu-run -np 2 t.py"),
        ("mpirun -np 2 nice -n 10 python t.py", "npu-run -np 2 t.py"),
        ("/usr/local/mpi/bin/mpirun -np 2 python t.py", "npu-run -np 2 t.py"),
        ("A=1 mpirun -np 2 python t.py", "A=1 npu-run -np 2 t.py"),
        ("mpirun -np 2 -x A=1 -x PATH -x NCCL_DEBUG=INFO python t.py", "A=1 npu-run -np 2 t.py"),
        ("mpiexec -genv A 4 -n 8 python t.py", "A=4 npu-run -np 8 t.py"),
        ("time mpirun -np 2 -x A=1 python t.py", "time env A=1 npu-run -np 2 t.py"),
        ("mpirun -np 2 python -u t.py", "PYTHONUNBUFFERED=1 npu-run -np 2 t.py"),
        ("mpirun -np 2 python t.py > log 2>&1 &", "npu-run -np 2 t.py > log 2>&1"),
        ("if true; then mpirun -np 2 python t.py | tee log; fi", "npu-run -np 2 t.py"),
        ("LOG=$(mpirun -np 2 python t.py | tail -1)", "npu-run -np 2 t.py"),
        ('echo "`mpirun -np 2 python t.py`"', "npu-run -np 2 t.py"),
        ("mpirun -np 4 \\\n  -bind-to none \\\n  python t.py \\\n  --x", "npu-run -np 4 t.py --x"),
        ("mpirun -np 2 bash run.sh", "npu-run -np 2 SCRIPT"),
        (
            "mpirun python t.py",
            "npu-run -np N t.py (N is the number of NPUs)",
        ),
        (
            "mpirun -np 4 -H a:2,b:2 python t.py",
            "npu-run --rank-table FILE t.py "
            "(on each machine (a, b), with the job's rank table as FILE)",
        ),
        (
            "mpirun -np 4 -hostfile hosts python t.py",
            "npu-run --rank-table FILE t.py "
            "(on each machine (hosts), with the job's rank table as FILE)",
        ),
        ("bpslaunch python3 t.py --x", "npu-run -np N t.py --x (N is the number of NPUs)"),
        ("srun -n 8 python t.py", "npu-run -np 8 t.py"),
        ("srun --mpi=pmix -p gpu -n4 --gres gpu:4 python t.py", "npu-run -np 4 t.py"),
        ("srun -n 1 mpirun -np 2 python t.py", "srun -n 1 npu-run -np 2 t.py"),
        ("#SBATCH --ntasks=8\nsrun python t.py", "npu-run -np 8 t.py"),
        (
            "srun -N 2 --ntasks-per-node=8 python t.py",
            "npu-run --rank-table FILE t.py "
            "(on each machine (2 nodes), with the job's rank table as FILE)",
        ),
        ("mpirun -np 4 python -m a.b --x", "npu-run -np 4 -m a.b --x"),
        ("horovodrun -np 2 python -u -m $M", "PYTHONUNBUFFERED=1 npu-run -np 2 -m $M"),
    ],
)
def test_the_line_that_takes_the_place_of_a_launcher(line, better):
    assert advice(line) == better


@pytest.mark.parametrize(
    "text",
    [
        "# mpirun -np 2 python t.py",
        "echo 'mpirun -np 2 python t.py'",
        'echo "horovodrun -np 2 python t.py"',
        "cat <<EOF\nmpirun -np 2 python t.py\nEOF\n",
        "cat <<-'EOF' > x\n\tmpirun -np 2 python t.py\n\tEOF\n",
        "which mpirun",
        "command -v horovodrun",
        "horovodrun --check-build",
        "mpirun --version",
        "mpirun -np $N ./all_reduce_perf -b 8",
        "mpirun -np 2 python -c 'import horovod'",
        "pip install mpirun_tools",
        "usage='mpirun -np 2 python t.py'",
        "x=$((1 + 2)); y=${x#mpirun}",
        "npu-run -np 2 train.py",
        "srun --gres=gpu:1 python t.py",
        "srun -n 1 python t.py",
        "srun -n 8 hostname",
        "torchrun --nproc_per_node 2 t.py",
        "TF_ENABLE_AUTO_MIXED_PRECISION=0 python t.py",
        "echo $TF_ENABLE_AUTO_MIXED_PRECISION",
        "unset TF_XLA_FLAGS",
        "CUDA_VISIBLE_DEVICES= python t.py",
        "CUDA_VISIBLE_DEVICES=-1 python t.py",
        "echo $CUDA_VISIBLE_DEVICES",
        "unset CUDA_VISIBLE_DEVICES",
        "ASCEND_DEVICE_ID=1 npu-run t.py",
        "echo 'it\"s' # \" unclosed",
        'echo "unclosed',
        "case $x in a) echo;; esac",
    ],
)
def test_what_starts_nothing_on_gpus(text):
    assert examined("train.sh", text + "\n") == ()


def test_the_new_line_switches_nothing_on_for_gpus():
    line = "TF_ENABLE_AUTO_MIXED_PRECISION=1 mpirun -np 2 -x TF_XLA_FLAGS=$X -x A=1 python t.py"
    found = {f.code: f.remedy for f in examined("train.sh", line)}
    assert sorted(found) == ["NPU281", "NPU481", "NPU482"]
    assert found["NPU281"] == "write: A=1 npu-run -np 2 t.py"


def test_a_launcher_in_a_variable():
    text = (
        'if [ $n -gt 1 ]; then\n    mpi="mpirun -np $n -H localhost:$n \\\n'
        '    --allow-run-as-root"\nelse\n    mpi=""\nfi\n$mpi python train.py --x\n'
    )
    (finding,) = examined("train.sh", text)
    assert (finding.line, finding.column) == (2, 5)
    assert 'mpi="npu-run -np $n"; in line 7 the script then follows $mpi' in finding.remedy


def test_a_whole_command_in_a_variable():
    assert advice('CMD="mpirun -np 2 python t.py"\n$CMD | tee log\n') == "npu-run -np 2 t.py"
    assert "line 2 the script" in advice('mpi="mpirun -np 2"\nCMD="$mpi python t.py"\n$CMD\n')


@pytest.mark.parametrize(
    "line, remedy",
    [
        ("CUDA_VISIBLE_DEVICES=3 python t.py --x", "write: ASCEND_DEVICE_ID=3 npu-run t.py --x"),
        ("export CUDA_VISIBLE_DEVICES=0", "write: export ASCEND_DEVICE_ID=0"),
        (
            "export CUDA_VISIBLE_DEVICES=$1",
            "write: export ASCEND_DEVICE_ID=$1 (where $1 is one number)",
        ),
        (
            "CUDA_VISIBLE_DEVICES=0,1 python t.py",
            "write: npu-run -np 2 t.py (one process drives one NPU; on a single one: npu-run t.py)",
        ),
        ("CUDA_VISIBLE_DEVICES=1 ./eval.sh", "write: ASCEND_DEVICE_ID=1 ./eval.sh"),
    ],
)
def test_the_devices_of_a_line(line, remedy):
    (finding,) = examined("train.sh", line)
    assert (finding.code, finding.remedy) == ("NPU681", remedy)


@pytest.mark.parametrize(
    "name, text",
    [
        ("t.sh", "export {}=1"),
        ("t.sh", "{}=1 python t.py"),
        ("t.sh", "export {}=$AMP"),
        ("t.sh", "docker run -e {}=1 image"),
        ("Dockerfile", "FROM scratch\nENV {}=1"),
        ("Dockerfile", "FROM scratch\nENV {} 1"),
        ("Dockerfile", "FROM scratch\nENV A=1 \\\n    {}=1"),
        ("Makefile", "train:\n\t{}=1 python t.py"),
        ("Makefile", "export {} := 1"),
    ],
)
@pytest.mark.parametrize(
    "variable, code, remedy",
    [
        (
            "TF_ENABLE_AUTO_MIXED_PRECISION",
            "NPU481",
            "npu-migrate --precision-mode mixed_float16 --loss-scale dynamic",
        ),
        ("TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE", "NPU481", "--precision-mode"),
        ("TF_ENABLE_AUTO_MIXED_PRECISION_LOSS_SCALING", "NPU481", "by npu-migrate --loss-scale"),
        ("TF_XLA_FLAGS", "NPU482", "leave TF_XLA_FLAGS out"),
    ],
)
def test_what_variables_switch_on(name, text, variable, code, remedy):
    (finding,) = [f for f in examined(name, text.format(variable) + "\n") if f.code == code]
    assert (finding.symbol, finding.status.value) == (variable, "manual")
    assert remedy in finding.remedy


def test_a_launcher_with_devices():
    found = examined("train.sh", "CUDA_VISIBLE_DEVICES=0,1 horovodrun -np 2 python t.py")
    assert [f.code for f in found] == ["NPU681", "NPU281"]
    assert found[0].remedy.startswith("leave it out")
    assert found[1].remedy == "write: npu-run -np 2 t.py"


PACKAGES = {
    "requirements.txt": (
        "# tensorflow-gpu\ntensorflow==1.15\nTensorFlow_GPU>=1.11  # x\n"
        "  horovod[tensorflow]==0.19\ngit+https://github.com/NVIDIA/dllogger#egg=dllogger\n"
        "git+https://x/y#egg=horovod\n-r a.txt\npynvml\n",
        [(3, "NPU981"), (4, "NPU982"), (6, "NPU982"), (8, "NPU983")],
    ),
    "environment.yml": (
        "name: horovod\nchannels:\n  - nvidia\ndependencies:\n  - python=3.7\n"
        '  - conda-forge::cudatoolkit=10.0\n  - pip:\n    - "tensorflow-gpu==1.15"\n',
        [(6, "NPU983"), (8, "NPU981")],
    ),
    "pyproject.toml": (
        '[project]\nname = "horovod"\nkeywords = ["horovod"]\ndependencies = [\n'
        '    "horovod>=0.19",\n    "numpy",\n]\n[project.optional-dependencies]\n'
        'gpu = ["tensorflow-gpu==1.15"]\n[tool.poetry.dependencies]\ncupy = "^8"\n',
        [(5, "NPU982"), (9, "NPU981"), (11, "NPU983")],
    ),
    "setup.cfg": (
        "[metadata]\nname = horovod\nkeywords = horovod\n[options]\ninstall_requires =\n"
        "    numpy\n    tensorflow-gpu==1.15\n[options.extras_require]\nall = horovod\n",
        [(7, "NPU981"), (9, "NPU982")],
    ),
    "Dockerfile": (
        "ARG IMAGE=nvcr.io/nvidia/tensorflow:20.06-tf1-py3\nARG OTHER=nvidia/cuda:10\n"
        "FROM ${IMAGE}\nENV CUDA_VISIBLE_DEVICES 1\nRUN apt-get update && \\\n"
        "    pip install --no-cache horovod==0.19\nCOPY mpirun -np 2 /x.py\n"
        "CMD horovodrun -np 2 python t.py\n",
        [(1, "NPU984"), (4, "NPU681"), (6, "NPU982"), (8, "NPU281")],
    ),
}


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_and_images(name):
    text, expected = PACKAGES[name]
    assert [(f.line, f.code) for f in examined(name, text)] == expected


def test_recipes_of_a_makefile():
    text = (
        "N := 8\nLAUNCH = mpirun -np 2 python t.py\ntrain: data \\\n  more\n"
        "\t@mpirun -np $(N) \\\n\t  python t.py --x $@\n\tnpu-run t.py\n"
    )
    (finding,) = examined("Makefile", text)
    assert (finding.line, finding.column) == (5, 3)
    assert finding.remedy == "write: npu-run -np $(N) t.py --x $@"


def test_columns_point_at_the_package():
    (finding,) = examined("environment.yml", "dependencies:\n  - tensorflow-gpu\n")
    assert (finding.line, finding.column) == (2, 5)
    (finding,) = examined("install.sh", "cd x && pip3 install -U 'tensorflow-gpu==1.15'\n")
    assert (finding.line, finding.column, finding.symbol) == (1, 25, "tensorflow-gpu")


def test_they_are_found_in_folders_and_left_alone_beside_a_script(folder, run):
    (folder / "train.py").write_text("x = 1\n")
    for name in ("run.sh", "requirements.txt", "notes.txt", "requirements-dev.txt"):
        (folder / name).write_text("horovod\n" if name.endswith("txt") else "mpirun -np 2 ./t.py\n")
    assert run("--check", "train.py").status == 0
    outcome = run("--check", ".")
    assert outcome.status == 1
    for place in ("run.sh:1:1 NPU281", "requirements.txt:1:1 NPU982", "requirements-dev.txt:1:1"):
        assert place in outcome.out
    assert "notes" not in outcome.out
    assert run("--check", "--ignore", "NPU2,NPU9", ".").status == 0
    assert run("run.sh").status == 1
    (folder / "run.sh").write_text("npu-run -np 2 ./t.py\n")
    assert run("run.sh").status == 0


def test_the_output_has_them_as_they_are(folder, run):
    (folder / "proj").mkdir()
    (folder / "proj" / "run.sh").write_text("mpirun -np 2 python t.py\n")
    run("-o", "out", "proj")
    assert (folder / "out" / "run.sh").read_text() == "mpirun -np 2 python t.py\n"


SETUP = """\
from setuptools import find_packages, setup

EXTRAS = {"gpu": ["tensorflow-gpu==1.15"]}
common = ("numpy", "horovod>=0.19")

setup(
    name="horovod",
    keywords=["tensorflow-gpu"],
    install_requires=common,
    tests_require=["pynvml"],
    extras_require=EXTRAS,
)
"""


def test_what_a_setup_script_requires():
    found = examined("setup.py", SETUP)
    assert [(f.line, f.code) for f in found] == [(3, "NPU981"), (4, "NPU982"), (10, "NPU983")]


def test_another_function_called_setup():
    assert examined("x.py", "from own import setup\nsetup(install_requires=['horovod'])\n") == ()
