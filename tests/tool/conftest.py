import contextlib
import ctypes
import os
from collections import namedtuple

import pytest

from npu_migrate import cli, engine
from npu_migrate.plan import Finding, Status
from npu_migrate.results import FileResult
from npu_migrate.sources import SourceError, parse

Outcome = namedtuple("Outcome", "status out err")

CAPABILITIES_VERSION = 0x20080522  # of capset(2)
OVERRIDING = 1 << 1 | 1 << 2  # to write and to read what permissions forbid


@pytest.fixture
def run(capsys):
    """Runs the command line and returns its exit status and what it printed."""

    def run(*arguments):
        capsys.readouterr()
        status = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Outcome(status, out, err)

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def words(monkeypatch):
    """An engine that knows two words: GPU becomes NPU, CUDA is left for a person."""
    monkeypatch.setattr(engine, "migrate", _migrate_words)


def _migrate_words(sources, rules, options, advance, beside):
    return [_migrate_file(source) for source in sources]


def _migrate_file(source):
    try:
        data = source.read()
        parse(data, source.path)
    except SourceError as error:
        return FileResult(source.path, b"", b"", (), error)
    findings = tuple(_find_words(source.path, data))
    return FileResult(source.path, data, data.replace(b"GPU", b"NPU"), findings)


def _find_words(path, data):
    for number, line in enumerate(data.split(b"\n"), 1):
        if b"GPU" in line:
            column = line.index(b"GPU") + 1
            yield Finding(
                "NPU101", "word", path, number, column, "GPU", Status.MIGRATED, "GPU becomes NPU"
            )
        if b"CUDA" in line:
            column = line.index(b"CUDA") + 1
            yield Finding(
                "NPU901",
                "cuda",
                path,
                number,
                column,
                "CUDA",
                Status.MANUAL,
                "CUDA\nis left",
                assumed=True,
                remedy="write it anew",
            )


@pytest.fixture
def ordinary_user():
    """Has permissions count for root as well for a while, who may read and write everything else.

    Another user would not do: the checkout may lie in a folder that is closed to others.
    """
    return _ordinary_user


@contextlib.contextmanager
def _ordinary_user():
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0)
    kept, fewer = ((ctypes.c_uint32 * 6)() for _ in range(2))  # effective, permitted, inherited
    _called(libc.capget(header, kept))
    fewer[:] = kept
    fewer[0] &= ~OVERRIDING
    _called(libc.capset(header, fewer))
    try:
        yield
    finally:
        _called(libc.capset(header, kept))


def _called(result):
    if result:
        raise OSError(ctypes.get_errno(), "the capabilities of this process can't be changed")
