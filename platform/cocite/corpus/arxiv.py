"""The number of a preprint on arXiv, wherever a record has it."""

from __future__ import annotations

import re
from typing import NamedTuple

from cocite.corpus.records import PaperRecord

_ARCHIVE = (
    r"astro-ph|cmp-lg|cond-mat|cs|gr-qc|hep-(?:ex|lat|ph|th)|math(?:-ph)?|nlin|nucl-(?:ex|th)|physics|q-bio"
    r"|quant-ph"
)
_ARXIV = re.compile(
    rf"(?:^|arxiv[:.] ?|\babs/)(\d{{4}}\.\d{{4,5}}|((?:{_ARCHIVE})(?:\.[a-z]{{2}})?)/\d{{7}})(?:v\d+)?(?![\w.-])"
    r"(?: ?\[([a-z.-]+)\])?",
    re.IGNORECASE | re.ASCII,
)
"""A preprint's number, and its class where it is given, in an id, a DOI, an address or a venue."""


class Preprint(NamedTuple):
    """A preprint on arXiv.

    Example:
        >>> Preprint("1706.03762").url
        'https://arxiv.org/abs/1706.03762'
    """

    number: str
    subject: str = ""
    """Its class, as ``cs.CL``; empty: unknown."""

    @property
    def url(self) -> str:
        """The address of its page."""
        return f"https://arxiv.org/abs/{self.number}"


def preprint_of(paper: PaperRecord) -> Preprint | None:
    """The preprint that a paper's DOI, id or venue names; None where none does.

    Example:
        >>> preprint_of(PaperRecord("x", "T", venue="arXiv preprint arXiv:1706.03762 [cs.CL]"))
        Preprint(number='1706.03762', subject='cs.CL')
    """
    match = next(filter(None, map(_ARXIV.search, (paper.doi, paper.id, paper.venue))), None)
    if match is None:
        return None
    number, archive, subject = match.groups()
    return Preprint(number, subject or archive or "")


def arxiv_number(text: str) -> str:
    """The number of a preprint that an id, a DOI or an address names, without its version; empty where it names none.

    Example:
        >>> arxiv_number("arXiv:1706.03762v5[cs.CL]"), arxiv_number("10.1000/182")
        ('1706.03762', '')
    """
    match = _ARXIV.search(text)
    return match[1] if match else ""
