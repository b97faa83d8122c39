import textwrap

import pytest

from npu_migrate.plan import Status
from npu_migrate.rules import RuleError, UnknownCode, load

HEAD = """\
family: loss scaling
documentation: https://example.org/loss-scaling
rules:
"""

RULE = """\
  - code: NPU150
    name: fixed-manager
    match: [tensorflow.contrib.Fixed]
    target: npu.Fixed
    arguments: {old: new, gone: null}
    positional: [old]
    message: "{name} becomes {target}"
    reason: because
    examples:
      - before: |
          a
        after: |
          b
"""


@pytest.fixture
def own(tmp_path):
    """Loads rule files of these texts as a user's folder."""

    def own(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        return load([str(tmp_path)])

    return own


def rule(code, *lines, match="", head=HEAD):
    """A file with one rule."""
    text = RULE.replace("NPU150", code).replace("contrib.Fixed", match or f"contrib.{code}")
    text = text.replace("fixed-manager", f"rule-{code.lower()}")
    return head + text + "".join(f"    {line}\n" for line in lines)


def test_a_rule(own):
    loaded = own(a=HEAD + RULE)
    found = loaded.by_code["NPU150"]
    assert loaded.by_match["tensorflow.contrib.Fixed"] is found
    assert (found.code, found.name, found.family) == ("NPU150", "fixed-manager", "loss scaling")
    assert found.target == "npu.Fixed"
    assert found.arguments == {"old": "new", "gone": None}
    assert found.positional == ("old",)
    assert found.status is Status.MIGRATED
    assert found.documentation == "https://example.org/loss-scaling"
    assert found.default is True
    (example,) = found.examples
    assert (example.before, example.after, example.count) == ("a\n", "b\n", 1)
    assert example.status is Status.MIGRATED


def test_a_rule_that_leaves_things(own):
    text = """\
      - code: NPU151
        name: left
        match: [a.b]
        status: manual
        message: left
        remedy: do it
        reason: because
        documentation: https://example.org/left
        default: false
        examples:
          - before: x
            note: as it was
          - before: y
            count: 0
    """
    found = own(a=HEAD + textwrap.indent(textwrap.dedent(text), "  ")).by_code["NPU151"]
    assert found.status is Status.MANUAL
    assert found.documentation == "https://example.org/left"
    assert found.default is False
    assert [(e.before, e.after, e.status, e.count, e.note) for e in found.examples] == [
        ("x", "x", Status.MANUAL, 1, "as it was"),
        ("y", "y", Status.MANUAL, 0, ""),
    ]


def test_names(own):
    names = "canonical: {tensorflow.compat.v1: tensorflow}\nexact: {a.b: c}\n"
    loaded = own(a=HEAD + RULE, names=names)
    assert loaded.canonical["tensorflow.compat.v1"] == "tensorflow"
    assert loaded.exact["a.b"] == "c"


def changed(old, new):
    assert old in HEAD + RULE
    return (HEAD + RULE).replace(old, new)


MALFORMED = {
    "unknown key": (
        changed("reason:", "reasno:"),
        11,
        "unknown key reasno (did you mean reason?)",
    ),
    "unknown key of an example": (
        changed("after:", "afer:"),
        15,
        "unknown key afer (did you mean after?)",
    ),
    "unknown key of a file": (changed("family:", "famly:"), 1, "unknown key famly"),
    "missing key": (changed("    reason: because\n", ""), 4, "the key reason is missing"),
    "missing after": (
        changed("        after: |\n          b\n", ""),
        13,
        "the key after is missing",
    ),
    "no text": (changed("reason: because", "reason: 8"), 11, "reason is text, not 8 (put it"),
    "no list": (changed("[old]", "old"), 9, "positional is a list, not text"),
    "no text in a list": (changed("[old]", "[1]"), 9, "text belongs here, not 1"),
    "no names": (changed("{old: new, gone: null}", "[old]"), 8, "names with names, not a list"),
    "no name": (changed("old: new", "old: 2"), 8, "old: 2 are no two names"),
    "no mapping": (HEAD + "  - text\n", 4, "keys with values belongs here, not text"),
    "no document": ("", 1, "keys with values belong here, not nothing"),
    "no code": (changed("NPU150", "NPU15"), 4, "NPU15 is no code"),
    "no kebab": (changed("fixed-manager", "FixedManager"), 5, "not in kebab-case"),
    "no dotted name": (changed("npu.Fixed", "npu.Fixed()"), 7, "no dotted name"),
    "foreign code": (
        changed("NPU150", "NPU250"),
        4,
        "NPU250 is not in the family 'loss scaling' (NPU1xx)",
    ),
    "unknown family": (
        changed("loss scaling\n", "los scaling\n"),
        4,
        "not of the family 'los scaling' (did you mean loss scaling?)",
    ),
    "unknown status": (
        changed("    target: npu.Fixed\n", "    status: manuel\n"),
        7,
        "unknown status manuel: migrated, manual, unsupported, note (did you mean manual?)",
    ),
    "no status": (changed("    target: npu.Fixed\n", ""), 4, "the key status is missing"),
    "no remedy": (
        changed("    target: npu.Fixed\n", "    status: manual\n"),
        7,
        "a rule of status manual needs a remedy",
    ),
    "no flag": (changed("reason: because", "reason: b\n    default: 1"), 12, "true or false"),
    "no number": (
        changed("        after:", "        count: x\n        after:"),
        15,
        "whole number",
    ),
    "open brace": (changed("{name}", "{name"), 10, "a brace that stands for itself is doubled"),
    "no placeholder": (changed("{name}", "{0}"), 10, "the placeholder {0} is no name"),
    "unknown placeholder": (
        changed("{target}", "{traget}"),
        10,
        "has no placeholder {traget} (did you mean {target}?)".replace("{target}", "target"),
    ),
    "unknown migration": (
        changed("    target: npu.Fixed\n", "    migration: loss_scale.los_scaling\n"),
        7,
        "there is no migration 'loss_scale.los_scaling' (did you mean loss_scale.loss_scaling?)",
    ),
    "key twice": (changed("reason:", "message: x\n    reason:"), 11, "message stands here twice"),
    "broken YAML": (changed("[old]", "[old"), 10, "expected ',' or ']'"),
    "tab": (changed("    reason", "\treason"), 11, "cannot start any token"),
    "nothing to match": (
        changed("    match: [tensorflow.contrib.Fixed]\n", ""),
        4,
        "a rule without a migration needs names to match",
    ),
    "code twice": (HEAD + RULE + RULE, 17, "another rule has NPU150 already"),
    "name twice": (
        HEAD + RULE + RULE.replace("NPU150", "NPU151"),
        18,
        "another rule has fixed-manager already",
    ),
    "match twice": (
        HEAD + RULE + RULE.replace("NPU150", "NPU151").replace("fixed-m", "m"),
        19,
        "another rule has tensorflow.contrib.Fixed already",
    ),
}


@pytest.mark.parametrize("text, line, message", MALFORMED.values(), ids=list(MALFORMED))
def test_a_malformed_rule_is_an_error_with_its_line(own, text, line, message):
    with pytest.raises(RuleError) as caught:
        own(a=text)
    assert message in caught.value.message
    assert caught.value.path.endswith("a.yaml")
    assert caught.value.line == line


def test_a_code_stands_in_one_file_only(own):
    with pytest.raises(RuleError, match="b.yaml:4: another rule has NPU150 already"):
        own(a=HEAD + RULE, b=rule("NPU150", match="contrib.Other"))


def test_a_folder_without_rules_is_an_error(tmp_path):
    with pytest.raises(RuleError, match="no rule files"):
        load([str(tmp_path)])
    with pytest.raises(RuleError, match="no such folder"):
        load([str(tmp_path / "gone")])


def test_an_unreadable_file_is_an_error(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"family: \xff\n")
    with pytest.raises(RuleError, match="a.yaml: cannot be read"):
        load([str(tmp_path)])


def test_a_users_rule_holds_before_a_shipped_one(own):
    shipped = next(iter(load().by_code.values()))
    text = rule(shipped.code, head=HEAD.replace("loss scaling", shipped.family))
    loaded = own(a=text)
    assert loaded.by_code[shipped.code].name == f"rule-{shipped.code.lower()}"
    loaded = own(
        a=rule("ACME100", head=HEAD.replace("loss scaling", "acme")).replace(
            "rule-acme100", shipped.name
        )
    )
    assert shipped.code not in loaded.by_code


def test_a_users_match_holds_before_a_shipped_one(own):
    shipped = next(found for found in load().by_code.values() if found.match)
    text = rule("ACME100", head=HEAD.replace("loss scaling", "acme"))
    text = text.replace("tensorflow.contrib.ACME100", shipped.match[0])
    loaded = own(a=text)
    assert loaded.by_match[shipped.match[0]].code == "ACME100"
    assert shipped.code in loaded.by_code


# Selecting


@pytest.fixture
def selected(own):
    loaded = own(
        a=rule("NPU180") + rule("NPU181", "default: false", head="") + rule("NPU182", head=""),
        b=rule("NPU280", head=HEAD.replace("loss scaling", "distribution")),
    )

    def selected(select=(), ignore=(), extend=()):
        chosen = loaded.select(select, ignore, extend)
        assert set(chosen.by_code) == {found.code for found in chosen.by_match.values()} | {
            code for code, found in chosen.by_code.items() if not found.match
        }
        return [code for code in sorted(chosen.by_code) if code[3:] in ("180", "181", "182", "280")]

    return selected


@pytest.mark.parametrize(
    "select, ignore, codes",
    [
        ((), (), ["NPU180", "NPU182", "NPU280"]),
        (("ALL",), (), ["NPU180", "NPU182", "NPU280"]),
        (("NPU",), (), ["NPU180", "NPU182", "NPU280"]),
        (("NPU1",), (), ["NPU180", "NPU181", "NPU182"]),
        (("npu1",), (), ["NPU180", "NPU181", "NPU182"]),
        (("NPU18",), ("NPU180",), ["NPU181", "NPU182"]),
        (("NPU180",), ("NPU1",), ["NPU180"]),
        (("NPU180",), ("NPU180",), []),
        (("NPU181",), (), ["NPU181"]),
        (("NPU181", "NPU2"), (), ["NPU181", "NPU280"]),
        ((), ("NPU2",), ["NPU180", "NPU182"]),
        ((), ("ALL",), []),
        (("NPU2",), ("ALL",), ["NPU280"]),
    ],
)
def test_selecting(selected, select, ignore, codes):
    assert selected(select, ignore) == codes


@pytest.mark.parametrize(
    "extend, ignore, codes",
    [
        (("NPU181",), (), ["NPU180", "NPU181", "NPU182", "NPU280"]),
        (("NPU1",), (), ["NPU180", "NPU181", "NPU182", "NPU280"]),
        (("ALL",), (), ["NPU180", "NPU182", "NPU280"]),
        (("NPU1",), ("NPU181", "NPU2"), ["NPU180", "NPU182"]),
        (("NPU181",), ("NPU1",), ["NPU181", "NPU280"]),
    ],
)
def test_extending_the_default_rules(selected, extend, ignore, codes):
    assert selected((), ignore, extend) == codes


def test_extending_a_selection(selected):
    assert selected(("NPU2",), (), ("NPU181",)) == ["NPU181", "NPU280"]


def test_an_unknown_code_is_an_error(selected):
    with pytest.raises(UnknownCode, match=r"starts with NPU18O \(did you mean NPU18.\?\)"):
        selected(["NPU18O"])
    with pytest.raises(UnknownCode, match="starts with X"):
        selected((), ["X"])
    with pytest.raises(UnknownCode, match="starts with X"):
        selected((), (), ["X"])


def test_finding_a_rule_by_code_or_name(own):
    loaded = own(a=rule("NPU180"))
    assert loaded.find("npu180").code == "NPU180"
    assert loaded.find("Rule-NPU180").code == "NPU180"
    with pytest.raises(UnknownCode, match=r"no rule rule-npu18 \(did you mean rule-npu180\?\)"):
        loaded.find("rule-npu18")
