"""Every shipped rule does to its examples what it says."""

import pytest

from npu_migrate.engine import migrate
from npu_migrate.options import Options
from npu_migrate.rules import load
from npu_migrate.sources import Source

RULES = load()

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{number}")
    for rule in RULES.by_code.values()
    for number, example in enumerate(rule.examples, 1)
]


def run(rule, text, example):
    """The example with all default rules, and with its own where that is off by default."""
    select = () if rule.default else ("ALL", rule.code)
    source = Source(example.file, given=text.encode())
    (result,) = migrate([source], RULES, Options(select=select, loss_scale=example.loss_scale))
    assert result.error is None
    return result.after.decode(), result.findings


@pytest.mark.parametrize("rule, example", EXAMPLES)
def test_example(rule, example):
    after, findings = run(rule, example.before, example)
    own = [finding for finding in findings if finding.code == rule.code]
    assert after == example.after
    assert len(own) == example.count
    assert {finding.status for finding in own} <= {example.status}


@pytest.mark.parametrize("rule, example", EXAMPLES)
def test_example_is_stable(rule, example):
    assert run(rule, example.after, example)[0] == example.after


@pytest.mark.parametrize("rule", RULES.by_code.values(), ids=list(RULES.by_code))
def test_a_rule_has_what_explain_tells(rule):
    assert rule.examples
    if rule.family != "suppressions":  # of which only this tool knows
        assert rule.documentation.startswith("https://")
