"""Papers as RIS, which reference managers read: one tag a line, in Unicode."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import rispy

from cocite.corpus.arxiv import preprint_of
from cocite.corpus.bibtex import citation_keys, is_proceedings
from cocite.corpus.names import split_name
from cocite.corpus.records import PaperRecord

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def entries(papers: Sequence[PaperRecord], keys: Sequence[str] | None = None) -> str:
    """Several references, with their keys as their ``ID``, or else with those of BibTeX.

    A conference's paper is ``CPAPER``, one with another venue ``JOUR``, any other ``GEN``. RIS cannot tell an
    organisation from a person, so a comma in its name is left out.

    Example:
        >>> print(entries([PaperRecord("P03-1021", "Minimum Error Rate Training", authors=("Franz Och",))]))
        TY  - GEN
        ID  - ochminimum
        TI  - Minimum Error Rate Training
        AU  - Och, Franz
        ER  -
    """
    keys = citation_keys(papers) if keys is None else keys
    references = [_reference(paper, key) for paper, key in zip(papers, keys, strict=True)]
    return str(rispy.dumps(references, implementation=_Writer))


class _Writer(rispy.RisWriter):  # type: ignore[misc]
    """Without the number that rispy writes before each reference, which is no RIS."""

    def set_header(self, count: int) -> str:  # noqa: ARG002
        return ""


def _reference(paper: PaperRecord, key: str) -> dict[str, Any]:
    """A reference as rispy names its fields; what is empty is left out."""
    kind = "GEN"
    if paper.venue:
        kind = "CPAPER" if is_proceedings(paper.venue) else "JOUR"
    preprint = preprint_of(paper)
    fields: dict[str, Any] = {
        "type_of_reference": kind,
        "id": key,
        "title": _line(paper.title),
        "authors": [line for author in paper.authors if (line := _author(author))],
        "year": str(paper.year) if paper.year else "",
        "secondary_title": _line(paper.venue),
        "doi": _line(paper.doi),
        "urls": [preprint.url] if preprint else [],
        "keywords": [line for phrase in paper.keyphrases if (line := _line(phrase))],
    }
    return {name: value for name, value in fields.items() if value}


def _author(author: str) -> str:
    line = _line(author)
    name = split_name(line)
    return _line(line.replace(",", " ")) if name is None else name.last_first


def _line(text: str) -> str:
    """A text in one line: a line break would end the tag's value."""
    return " ".join(_CONTROL.sub(" ", text).split())
