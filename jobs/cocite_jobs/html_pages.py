"""Pages that open without a network: a template with its figures inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def render_page(package: str, figures: Mapping[str, str], **values: Any) -> str:
    """Render ``page.html`` of a package.

    Args:
        package: name of the package that holds the template.
        figures: name -> SVG element, which is not escaped; everything else is.
        values: of the template's other names.

    Raises:
        jinja2.UndefinedError: the template uses a name that has no value.

    Example:
        >>> render_page("cocite_jobs.reproduction", {})
        Traceback (most recent call last):
        ...
        jinja2.exceptions.UndefinedError: 'contents' is undefined
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawn = {name: Markup(svg) for name, svg in figures.items()}
    return environment.get_template("page.html").render(figures=drawn, **values)
