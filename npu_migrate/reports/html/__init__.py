"""The run as one page that needs nothing else: no network, no other file.

The page shows how far the migration is, what remains, lists all findings, and opens the changes of
a file side by side, with the rule and the reason beside each. What comes from scripts is text
everywhere: paths, messages and sources are escaped, and the data of the page stands where no script
can start.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Tuple

from npu_migrate import __version__
from npu_migrate.reports import Run
from npu_migrate.reports.html.page import page_of
from npu_migrate.reports.visible import visible_line
from npu_migrate.rules import Rules

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class About:
    """What a page says of the run itself: what was looked at, when, and with which settings."""

    title: str = "npu-migrate"
    when: str = ""
    paths: Tuple[str, ...] = ()
    settings: Tuple[str, ...] = ()


def stylesheet() -> str:
    """The look of all our pages."""
    return (_HERE / "common.css").read_text("utf-8")


def render(run: Run, rules: Rules, about: About = About()) -> str:
    """The page; ``about`` names what was migrated."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["visible"] = visible_line
    template = environment.from_string((_HERE / "report.html.j2").read_text("utf-8"))
    page = template.render(
        page=page_of(run, rules),
        about=about,
        version=__version__,
        style=Markup(stylesheet() + (_HERE / "report.css").read_text("utf-8")),
        script=Markup((_HERE / "report.js").read_text("utf-8")),
    )
    return f"{page}\n"
