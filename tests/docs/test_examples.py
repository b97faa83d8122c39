"""What the pages show is what the tool, npu-run and the runtime print and write."""

import difflib

import doc_examples
import pytest

PAGES = doc_examples.written_pages()


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_shows(name):
    found = doc_examples.differences(PAGES[name], doc_examples.is_tensorflow_here())
    assert not found, "\n".join(_told(name, one) for one in found)


def _told(name, difference):
    lines = difflib.unified_diff(
        difference.shown.splitlines(),
        difference.actual.splitlines(),
        "shown",
        "actual",
        lineterm="",
    )
    line = PAGES[name].count("\n", 0, difference.start) + 1
    head = f"docs/{name}:{line} is not current (scripts/doc_examples.py writes it anew):"
    return "\n".join([head, *lines])


@pytest.mark.parametrize("name", PAGES)
def test_every_fence_is_understood(name):
    fences = PAGES[name].count("\n```")
    assert fences == 2 * len(doc_examples.blocks(PAGES[name]))


@pytest.mark.parametrize("name", PAGES)
def test_every_comment_says_something_of_the_block_below(name):
    marked = [block for block in doc_examples.blocks(PAGES[name]) if block.kind]
    assert PAGES[name].count("<!--") == len(marked)


# The checker itself

PAGE = """\
<!-- file: train.py -->
```python
import tensorflow as tf
sess = tf.Session()
```

```console
$ npu-migrate train.py
train.py:2:8 NPU401 ...
```

<!-- after: train.py -->
```python
sess = None
```
"""


def test_what_is_not_current_is_found():
    output, text = doc_examples.differences(PAGE, with_tensorflow=False)
    assert "NPU401 the session" in output.actual
    assert "npu_config_proto()" in text.actual


def test_what_is_not_current_is_written_anew(monkeypatch):
    monkeypatch.setattr(doc_examples, "is_tensorflow_here", lambda: False)
    page = doc_examples.corrected(PAGE)
    assert doc_examples.differences(page, with_tensorflow=False) == []
    assert page.startswith(PAGE[: PAGE.index("train.py:2")])


def test_dots_stand_for_any_lines():
    assert doc_examples.matches("a\n...\nd\n", "a\nb\nc\nd\n")
    assert doc_examples.matches("a\n...\nd\n", "a\nd\n")
    assert not doc_examples.matches("a\n...\nd\n", "a\nb\n")
    assert not doc_examples.matches("a\n", "a\nb\n")
