"""The site builds without a warning, and a browser needs no network to show it."""

import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("mkdocs", reason="the docs extra is not installed")

ROOT = pathlib.Path(__file__).resolve().parents[2]

_LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*\"")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    done = subprocess.run(command, cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()
    return folder


def test_pages_load_nothing_from_the_network(site):
    pages = list(site.glob("**/*.html"))
    assert len(pages) > 10
    for page in pages:
        found = _LOADED.findall(page.read_text(encoding="utf-8"))
        assert found == [], page.name


def test_every_rule_can_be_searched(site):
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "rules/loss-scaling.html#npu101" in index
