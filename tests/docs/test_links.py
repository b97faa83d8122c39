"""Links lead somewhere: to a page, to a heading of it, or out by https."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(ROOT.glob("docs/**/*.md")) + [ROOT / "README.md", ROOT / "CHANGELOG.md"]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

_FENCED = re.compile(r"^(?:<!--.*?-->\n)?```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_ADDRESS = re.compile(r"https?://[^\s)>\"'`|]+")
_HEADING = re.compile(r"^#+ (.*?)(?: \{: #([\w-]+) \})?$", re.MULTILINE)


def prose(name):
    return _FENCED.sub("", (ROOT / name).read_text(encoding="utf-8"))


def anchors(name):
    return {anchor or _slug(title) for title, anchor in _HEADING.findall(prose(name))}


def _slug(title):
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())


@pytest.mark.parametrize("name", NAMES)
def test_internal_links(name):
    for link in _LINK.findall(prose(name)):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = ((ROOT / name).parent / path).resolve() if path else ROOT / name
        assert target.exists(), f"{name}: {link} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{name}: {link}: no such heading"


@pytest.mark.parametrize("name", NAMES)
def test_external_links(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for address in _ADDRESS.findall(text):
        assert address.startswith("https://"), f"{name}: {address} is not encrypted"
        assert not re.search(r"//[^/]*(mirror|proxy|artifactory|localhost|\d+\.\d+)", address)


@pytest.mark.parametrize("name", NAMES)
def test_no_path_of_a_machine(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(home|root|tmp|work|Users|workspace)/", text)


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in ROOT.glob("docs/**/*.md"):
        assert f": {page.relative_to(ROOT / 'docs').as_posix()}\n" in navigation
