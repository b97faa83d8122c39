"""The verification as one page that needs nothing else: no network, no other file.

What comes from scripts is text everywhere: names, messages, output and sources are escaped, and the
data of the page stands where no script can start.
"""

from pathlib import Path

from npu_migrate import __version__
from npu_migrate.reports.html import stylesheet
from npu_migrate.verify.reports import Verification
from npu_migrate.verify.reports.html.page import page_of

_HERE = Path(__file__).parent


def render(verification: Verification) -> str:
    """The page."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    template = environment.from_string((_HERE / "verdict.html.j2").read_text("utf-8"))
    return template.render(
        page=page_of(verification),
        version=__version__,
        style=Markup(stylesheet() + (_HERE / "verdict.css").read_text("utf-8")),
        script=Markup((_HERE / "verdict.js").read_text("utf-8")),
    )
