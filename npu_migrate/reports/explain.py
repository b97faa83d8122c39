"""Rules for people: the list of them, and one in full."""

import json
import string
import textwrap
from dataclasses import replace
from typing import Any, Dict, Iterator

from npu_migrate.reports.style import Paint, plain
from npu_migrate.rules import Example, Rule, Rules

_WIDTH = 88
AS_SHOWN = "what the finding says"
_CALLED = {"global step": "the optimizer's class"}
"""What a rule without names speaks of, by its family."""
_ADDED = ("also", "besides", "dropped", "notes", "note", "local")
"""Details that a finding adds to its sentence, or has none of."""
_WORDS = {
    "arguments": "an argument",
    "attribute": "an attribute",
    "callee": "scale",
    "change": "changes as the finding says",
    "check": "a check of finite values",
    "classes": "a class",
    "devices": "...",
    "fate": f"becomes {AS_SHOWN}",
    "hooks": "hooks",
    "keyword": "config",
    "launcher": "this launcher",
    "library": "Horovod",
    "line": "N",
    "lines": "M and N",
    "manager": "the manager",
    "obstacle": "the finding says what is in the way",
    "options": "--precision-mode mixed_float16 --loss-scale dynamic",
    "package": "the package",
    "path": "a private path of TensorFlow",
    "scale": "a loss scale",
    "size": "many",
    "step": "as an argument",
    "strategy": "the strategy",
    "subject": "what the finding names",
    "use": "this use",
    "value": "the value",
    "variable": "RANK_SIZE",
    "what": "what the finding names",
    "where": "another place",
}
"""What stands for the details of a finding where there is none."""


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


def explain_family(rules: Rules, start: str, paint: Paint = plain) -> str:
    """The list of the rules whose codes have a start."""
    family = {code: rule for code, rule in rules.by_code.items() if code.startswith(start)}
    return catalogue(replace(rules, by_code=family), paint)


def in_words(text: str, rule: Rule) -> str:
    """A message with words where a finding has names, and without what it may add."""
    names = dict.fromkeys(name.rpartition(".")[2] for name in rule.match)
    name = " or ".join(names) if 0 < len(names) < 5 else _CALLED.get(rule.family, "this")
    words = {**_WORDS, "name": name, "symbol": name}
    said = ""
    for literal, key, _, _ in string.Formatter().parse(text):
        said += literal
        is_added = key in _ADDED or (key == "change" and not literal.endswith(" "))
        if key and not is_added:
            said += words.get(key, f"<{key}>")
    return AS_SHOWN if text.strip() in ("{line}", "{remedy}") else " ".join(said.split())


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
    default += ", seen by the first run only" if rule.once else ""
    title = paint(f"{rule.code} {rule.name}", "bold")
    yield f"{title} ({rule.family}, {rule.status.value}{default})"
    paragraphs = (
        ("", in_words(rule.message, rule)),
        ("Why: ", rule.reason),
        ("What to do: ", in_words(rule.remedy, rule)),
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
