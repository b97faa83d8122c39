"""Writes the pages of docs/ that repeat what the product itself knows: its rules and its options.

doc_pages.py            write them
doc_pages.py --check    fail where one is not current
"""

import argparse
import pathlib
import re
import sys
from typing import Dict, Iterator, List, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import click  # noqa: E402

from npu_migrate import cli  # noqa: E402
from npu_migrate.findings import Status  # noqa: E402
from npu_migrate.launch import cli as launch_cli  # noqa: E402
from npu_migrate.reports.explain import in_words  # noqa: E402
from npu_migrate.rules import HUNDREDS, Example, Rule, load  # noqa: E402
from npu_migrate.verify import cli as verify_cli  # noqa: E402

DOCS = ROOT / "docs"

_ABOUT = {
    "suppressions": "Comments in your code that suppress findings, and do not do so.",
    "loss scaling": "Loss-scale optimizers, their managers, and mixed precision.",
    "distribution": "Horovod and its kin, strategies of `tf.distribute`, collectives, launchers.",
    "global step": "Which operation moves the global step, and whether it does so on overflow.",
    "session": "What makes sessions, Estimators and Keras run on the NPU.",
    "replacements": "Operations that the NPU has in a faster form. Off unless selected.",
    "devices": "Placement on GPUs, and what asks for them.",
    "known failures": "Code that builds and starts, and then fails or trains wrongly on the NPU.",
    "unsupported": "What the NPU does not support, and what cannot be decided from the source.",
}
_BECOMES = {
    Status.MIGRATED: "migrated",
    Status.MANUAL: "left to you",
    Status.UNSUPPORTED: "not supported",
    Status.NOTE: "a note",
}
_GENERATED = (
    "<!-- Written by scripts/doc_pages.py: change the {}, then run `make docs-pages`. -->\n"
)


def pages() -> Dict[str, str]:
    """The text of each page, by its path below docs/."""
    families = _families()
    texts = {f"rules/{_file(family)}": _family(family, families[family]) for family in families}
    texts["rules/index.md"] = _index(families)
    texts["command-line.md"] = _command_line()
    return texts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args().check
    stale = [name for name, text in pages().items() if _current(name) != text]
    for name in stale:
        if is_check:
            print(f"docs/{name} is not current: run `make docs-pages`")
        else:
            (DOCS / name).parent.mkdir(exist_ok=True)
            (DOCS / name).write_text(pages()[name], encoding="utf-8")
            print(f"wrote docs/{name}")
    return 1 if is_check and stale else 0


def _current(name: str) -> str:
    path = DOCS / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


# Rules


def _families() -> Dict[str, List[Rule]]:
    rules = sorted(load().by_code.values(), key=lambda rule: rule.code)
    return {
        family: [rule for rule in rules if rule.code.startswith(start)]
        for family, start in HUNDREDS.items()
    }


def _file(family: str) -> str:
    return family.replace(" ", "-") + ".md"


def _index(families: Dict[str, List[Rule]]) -> str:
    lines = [
        _GENERATED.format("rules"),
        "# All rules",
        "",
        "A rule has a code, such as `NPU101`, and a name, such as `fixed-loss-scale-manager`.",
        "The first digit of the code is its family. `--select`, `--ignore` and `--extend-select`",
        "take a code or the start of one. `npu-migrate --explain NPU101` prints what these pages",
        "say of a rule.",
        "",
        "| codes | family | rules | concerns |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {HUNDREDS[family]}xx | [{family}]({_file(family)}) | {len(rules)} | {_ABOUT[family]} |"
        for family, rules in families.items()
    ]
    lines += [
        "",
        "Codes that start with `NPU8`, or with letters of your own, belong to",
        "[rules of your own](../rules-of-your-own.md).",
        "",
        "What becomes of a finding is its status:",
        "",
        "- *migrated*: the tool rewrites the code.",
        "- *left to you* (`manual`): a person must decide; the finding says what to do.",
        "- *not supported* (`unsupported`): the NPU has no counterpart.",
        "- *a note* (`note`): nothing has to be done.",
        "",
        "The tables show the usual status of a rule. A single finding may have another: where a",
        "rule usually migrates but cannot see enough, its finding is left to you.",
    ]
    return "\n".join(lines) + "\n"


def _family(family: str, rules: List[Rule]) -> str:
    lines = [
        _GENERATED.format("rules"),
        f"# {family.capitalize()}: {HUNDREDS[family]}xx",
        "",
        _ABOUT[family],
        "",
        "| code | name | what is found | what becomes of it |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| [{r.code}](#{r.code.lower()}) | `{r.name}` | {_short(r)} | {_becomes(r)} |"
        for r in rules
    ]
    for rule in rules:
        lines += ["", *_rule(rule)]
    return "\n".join(lines) + "\n"


def _becomes(rule: Rule) -> str:
    becomes = _BECOMES[rule.status] + ("" if rule.default else "; off unless selected")
    return becomes + ("; seen by the first run only" if rule.once else "")


def _short(rule: Rule) -> str:
    """The first part of what a rule says."""
    return _prose(in_words(rule.message, rule).partition("; ")[0])


def _rule(rule: Rule) -> Iterator[str]:
    yield f"## {rule.code}: {rule.name} {{: #{rule.code.lower()} }}"
    yield ""
    yield f"*Usually {_becomes(rule)}.* {_sentence(_prose(in_words(rule.message, rule)))}"
    yield ""
    yield f"**Why.** {_sentence(_prose(rule.reason))}"
    if rule.remedy:
        yield ""
        yield f"**What to do.** {_sentence(_prose(in_words(rule.remedy, rule)))}"
    if rule.match:
        yield ""
        yield "**Applies to** " + ", ".join(f"`{name}`" for name in rule.match) + "."
    for example in rule.examples:
        yield from _example(example)
    if rule.documentation:
        yield ""
        yield f"[The vendor's documentation]({rule.documentation})"


def _example(example: Example) -> Iterator[str]:
    language = "python" if example.file.endswith(".py") else "text"
    option = f" (`--loss-scale {example.loss_scale}`)" if example.loss_scale else ""
    where = "" if example.file == "example.py" else f" in `{example.file}`"
    is_changed = example.before != example.after
    if is_changed:
        heads = [f"Before{where}:", f"After{option}:"]
    elif example.count:
        heads = [f"Found{where}{option}, and left as it is:"]
    else:
        heads = [f"Not found{where}{option}:"]
    for head, code in zip(heads, (example.before, example.after)):
        yield from ("", head, "", f"```{language}", *code.rstrip("\n").split("\n"), "```")
    if example.note:
        yield ""
        yield _sentence(_prose(example.note))


def _sentence(text: str) -> str:
    """With a capital, unless it starts with a name of code, and a full stop."""
    first = text.partition(" ")[0]
    if not re.search(r"[._()=]|\\", first):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", ":", "?")) else text + "."


def _prose(text: str) -> str:
    """Text of a rule, as Markdown shows it unchanged."""
    return re.sub(r"([\\`*_<>\[\]#|])", r"\\\1", " ".join(text.split()))


# Options


def _command_line() -> str:
    lines = [_GENERATED.format("options in cli.py"), "# Command line", "", *_npu_migrate(), ""]
    return "\n".join([*lines, *_npu_run(), "", *_npu_verify()]) + "\n"


def _npu_migrate() -> Iterator[str]:
    yield "## npu-migrate"
    yield ""
    yield "    npu-migrate [OPTIONS] PATH..."
    yield ""
    text = (cli.command.help or "").replace("\b\n", "")
    about, _, statuses = text.partition("Exit status:")
    yield " ".join(about.split())
    yield ""
    yield from _table("option", "meaning")
    for option in cli.command.params:
        if isinstance(option, click.Option):
            yield f"| {_names(option)} | {_cell(_meaning(option))} |"
    yield f"| {_code(['-h', '--help'], '')} | Show the options and end. |"
    yield ""
    yield from _table("exit status", "meaning")
    for number, meaning in re.findall(r"^\s+(\d)  (.+)$", statuses, re.MULTILINE):
        yield f"| {number} | {meaning} |"
    yield "| 130 | interrupted with Ctrl-C |"


def _names(option: click.Option) -> str:
    value = "" if option.is_flag else f" {option.metavar or _choices(option)}"
    return _code(option.opts, value)


def _code(names: Sequence[str], value: str) -> str:
    """Options in a cell of a table, where Markdown takes a bar for the end of the cell."""
    bar = "&#124;"
    return ", ".join(f"<code>{name}{value.replace('|', bar)}</code>" for name in names)


def _choices(option: click.Option) -> str:
    return "|".join(getattr(option.type, "choices", ["VALUE"]))


def _meaning(option: click.Option) -> str:
    text = option.help or ""
    if option.multiple:
        text += " May be given several times."
    if option.metavar == "MODE":
        text += " One of: " + ", ".join(getattr(option.type, "choices", ())) + "."
    if option.show_default:
        text += f" Default: {option.default}."
    return text


def _npu_run() -> Iterator[str]:
    yield from _parsed(launch_cli._parser(), "npu-run [OPTIONS] SCRIPT [ARGS]...")
    yield "Everything after `SCRIPT` belongs to the script."
    yield ""
    yield _ending(launch_cli._parser())


def _npu_verify() -> Iterator[str]:
    yield from _parsed(
        verify_cli._parser(),
        "npu-verify [OPTIONS] ORIGINAL MIGRATED [-- ARGS]",
        "npu-verify [OPTIONS] --migrate ORIGINAL [-- ARGS]",
    )
    yield "What follows `--` goes to both scripts."
    yield ""
    yield _ending(verify_cli._parser())


def _parsed(parser: argparse.ArgumentParser, *usages: str) -> Iterator[str]:
    yield f"## {parser.prog}"
    yield ""
    yield from (f"    {usage}" for usage in usages)
    yield ""
    yield " ".join((parser.description or "").split())
    yield ""
    yield from _table("option", "meaning")
    for action in parser._actions:
        if action.option_strings:
            value = action.metavar or "|".join(map(str, action.choices or ()))
            value = f" {value}" if value and action.nargs != 0 else ""
            names = _code(action.option_strings, value)
            yield f"| {names} | {_cell(action.help or '')} |"
    yield ""


def _ending(parser: argparse.ArgumentParser) -> str:
    return _sentence(" ".join((parser.epilog or "").split()))


def _table(*heads: str) -> Iterator[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)


def _cell(text: str) -> str:
    return _sentence(_prose(text)) if text else ""


if __name__ == "__main__":
    sys.exit(main())
