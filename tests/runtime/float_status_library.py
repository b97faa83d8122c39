"""Builds the op library of the tests with this machine's compiler."""

import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).with_name("float_status_ops.cc")


def build(folder):
    """Compiles the library into a folder and returns its path."""
    import tensorflow as tf

    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++ to build an op library with a status register")
    library = folder / "float_status_ops.so"
    flags = tf.sysconfig.get_compile_flags() + tf.sysconfig.get_link_flags()
    command = [compiler, "-std=c++11", "-O1", "-shared", "-fPIC", "-w", str(SOURCE)]
    subprocess.run([*command, "-o", str(library), *flags], check=True)
    return library
