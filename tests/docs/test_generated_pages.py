"""The pages that repeat rules and options are those of this checkout."""

import doc_pages
import pytest

PAGES = doc_pages.pages()


@pytest.mark.parametrize("name", PAGES)
def test_page_is_current(name):
    path = doc_pages.DOCS / name
    assert path.exists() and path.read_text(encoding="utf-8") == PAGES[name], (
        "run `make docs-pages`"
    )


def test_every_rule_has_a_section():
    text = "".join(PAGES.values())
    for code in doc_pages.load().by_code:
        assert f"{{: #{code.lower()} }}" in text


def test_every_option_is_there():
    text = PAGES["command-line.md"]
    for option in doc_pages.cli.command.params:
        assert all(f"<code>{name}" in text for name in option.opts if name.startswith("-"))
