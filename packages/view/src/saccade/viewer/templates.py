"""Templates of pages that are files: the report, an export, one reward explained.

The pages of the server need none of them, and so no Jinja.
"""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from saccade.viewer.words import readable


@cache
def page_template(name: str) -> Template:
    """A page's template. Text of models, tasks and settings is escaped by it, markup is our own."""
    environment = Environment(
        loader=FileSystemLoader([Path(__file__).parent, Path(__file__).parent / "app"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["readable"] = readable
    return environment.get_template(name)
