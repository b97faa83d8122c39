"""The run as one page that needs nothing else: no network, no other file.

The page shows how far the migration is, lists all findings, and opens the changes of a file side by
side, with the rule and the reason beside each. What comes from scripts is text everywhere: paths,
messages and sources are escaped, and the data of the page stands where no script can start.
"""

from pathlib import Path

from npu_migrate import __version__
from npu_migrate.reports import Run
from npu_migrate.reports.html.page import page_of
from npu_migrate.rules import Rules

_HERE = Path(__file__).parent


def stylesheet() -> str:
    """The look of all our pages."""
    return (_HERE / "report.css").read_text("utf-8")


def render(run: Run, rules: Rules, title: str = "npu-migrate") -> str:
    """The page; ``title`` names what was migrated."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    template = environment.from_string((_HERE / "report.html.j2").read_text("utf-8"))
    return template.render(
        page=page_of(run, rules),
        title=title,
        version=__version__,
        style=Markup(stylesheet()),
        script=Markup((_HERE / "report.js").read_text("utf-8")),
    )
