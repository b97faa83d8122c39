"""Rules for people: the list of them, and one in full."""

import json
import string
import textwrap
from typing import Any, Dict, Iterator

from npu_migrate.reports.style import Paint, plain
from npu_migrate.rules import Example, Rule, Rules

_WIDTH = 88


def catalogue(rules: Rules, paint: Paint = plain) -> str:
    """One line a rule, in the order of their codes."""
    ordered = [rules.by_code[code] for code in sorted(rules.by_code)]
    width = max((len(rule.name) for rule in ordered), default=0)
    return "".join(
        f"{paint(rule.code, 'bold')}  {rule.name:{width}}  {rule.family}: {rule.status.value}"
        f"{'' if rule.default else ' (off unless selected)'}\n"
        for rule in ordered
    )


def catalogue_json(rules: Rules) -> str:
    ordered = [rules.by_code[code] for code in sorted(rules.by_code)]
    return json.dumps({"version": 1, "rules": [_entry(rule) for rule in ordered]}, indent=2)


def explain(rule: Rule, paint: Paint = plain) -> str:
    """What a rule does and why, with its link and its examples."""
    return "".join(f"{line}\n" for line in _lines(rule, paint))


def filled(text: str) -> str:
    """A message with ``<name>`` where a finding has the name itself."""
    parts = string.Formatter().parse(text)
    return "".join(literal + (f"<{name}>" if name else "") for literal, name, _, _ in parts)


def _entry(rule: Rule) -> Dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "family": rule.family,
        "status": rule.status.value,
        "match": list(rule.match),
        "message": rule.message,
        "reason": rule.reason,
        "documentation": rule.documentation,
        "default": rule.default,
    }


def _lines(rule: Rule, paint: Paint) -> Iterator[str]:
    default = "" if rule.default else ", off unless selected"
    title = paint(f"{rule.code} {rule.name}", "bold")
    yield f"{title} ({rule.family}, {rule.status.value}{default})"
    paragraphs = (
        ("", filled(rule.message)),
        ("Why: ", rule.reason),
        ("What to do: ", filled(rule.remedy)),
    )
    for head, text in paragraphs:
        if text:
            yield ""
            yield from textwrap.wrap(head + " ".join(text.split()), _WIDTH)
    if rule.match:
        yield ""
        yield "Applies to:"
        yield from (f"    {name}" for name in rule.match)
    if rule.documentation:
        yield ""
        yield f"See: {rule.documentation}"
    for example in rule.examples:
        yield from _example(example, paint)


def _example(example: Example, paint: Paint) -> Iterator[str]:
    yield ""
    if example.before == example.after:
        yield paint("Left as it is:", "bold")
        yield from _indented(example.before)
    else:
        yield paint("Before:", "bold")
        yield from _indented(example.before)
        yield paint("After:", "bold")
        yield from _indented(example.after)
    if example.note:
        yield from textwrap.wrap(" ".join(example.note.split()), _WIDTH)


def _indented(code: str) -> Iterator[str]:
    return (f"    {line}".rstrip() for line in code.rstrip("\n").split("\n"))
